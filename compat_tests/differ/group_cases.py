"""Groups and transactions: what is asked without a whole client behind it."""

from typing import Any

from compat_tests.differ.cases import case
from compat_tests.differ.side import Side, batch_of
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

COMMIT, OFFSETS, JOIN = ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.JOIN_GROUP
INIT, ADD, END = ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN


@case("groups", ApiKey.FIND_COORDINATOR)
def find_coordinators(side: Side) -> None:
    ready_group(side)
    ready_transactions(side)
    for kind in (0, 1, 2, 9):
        for key in (side.name, ""):
            body = {"key": key, "key_type": kind, "coordinator_keys": [key]}
            side.ask(ApiKey.FIND_COORDINATOR, body)


@case("groups", COMMIT)
def commit_without_membership(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    side.ask(COMMIT, commit(side, group, topic, 5, "note"))
    side.ask(COMMIT, commit(side, group, topic, 5, "x" * 5000))
    side.ask(COMMIT, commit(side, group, topic, 5, None, partition=9))
    side.ask(COMMIT, commit(side, "", topic, 5, None))
    member = {"generation_id_or_member_epoch": 3, "member_id": "stranger"}
    side.ask(COMMIT, {**commit(side, group, topic, 5, None), **member})
    side.ask(OFFSETS, offsets(side, group, topic))


@case("groups", OFFSETS)
def fetch_offsets(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    side.call(COMMIT, commit(side, group, topic, 5, "note"))
    for name in (group, f"{group}-unknown", ""):
        side.ask(OFFSETS, offsets(side, name, topic))
    if side.version >= 2:
        everything = offsets(side, group, topic)
        everything["topics"] = None
        everything["groups"][0]["topics"] = None
        side.ask(OFFSETS, everything)


@case("groups", JOIN)
def join_with_bad_arguments(side: Side) -> None:
    group = ready_group(side)
    changes: list[dict[str, Any]] = [
        {"group_id": ""},
        {"session_timeout": 1},
        {"session_timeout": 999_999_999},
        {"member_id": "stranger"},
        {"protocols": []},
        {"protocol_type": ""},
    ]
    for change in changes:
        side.ask(JOIN, {**join(group), **change})


@case("groups", JOIN)
def the_life_of_a_member(side: Side) -> None:
    group = ready_group(side)
    answer = side.ask(JOIN, join(group))
    if answer is not None and answer.error_code.name == "MEMBER_ID_REQUIRED":
        answer = side.ask(JOIN, {**join(group), "member_id": answer.member_id})
    if answer is None or answer.error_code.value:
        return
    me = {
        "group_id": group,
        "generation_id": answer.generation_id,
        "member_id": answer.member_id,
    }
    kind = {"protocol_type": "consumer", "protocol_name": "range"}
    share = [{"member_id": answer.member_id, "assignment": b"mine"}]
    side.ask(ApiKey.SYNC_GROUP, {**me, **kind, "assignments": share})
    side.ask(ApiKey.HEARTBEAT, me)
    side.ask(ApiKey.HEARTBEAT, {**me, "generation_id": 99})
    side.ask(ApiKey.HEARTBEAT, {**me, "member_id": "stranger"})
    side.ask(ApiKey.SYNC_GROUP, {**me, **kind, "generation_id": 99, "assignments": []})
    side.ask(ApiKey.SYNC_GROUP, {**me, **kind, "protocol_name": "other", "assignments": []})
    side.ask(ApiKey.DESCRIBE_GROUPS, {"groups": [group], "include_authorized_operations": True})
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})
    side.ask(ApiKey.LEAVE_GROUP, {"group_id": group, "members": [{"member_id": "stranger"}]})
    leaving = [{"member_id": answer.member_id, "reason": "done"}]
    side.ask(ApiKey.LEAVE_GROUP, {"group_id": group, "members": leaving})
    side.ask(ApiKey.HEARTBEAT, me)
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})


@case("groups", ApiKey.HEARTBEAT)
def heartbeats_of_strangers(side: Side) -> None:
    group = ready_group(side)
    for group_id in (group, ""):
        body = {"group_id": group_id, "generation_id": 1, "member_id": "stranger"}
        side.ask(ApiKey.HEARTBEAT, body)


@case("groups", ApiKey.LEAVE_GROUP)
def strangers_leave(side: Side) -> None:
    group = ready_group(side)
    body = {"group_id": group, "member_id": "stranger", "members": [{"member_id": "stranger"}]}
    side.ask(ApiKey.LEAVE_GROUP, body)


@case("groups", ApiKey.SYNC_GROUP)
def strangers_sync(side: Side) -> None:
    group = ready_group(side)
    body = {"group_id": group, "generation_id": 1, "member_id": "stranger", "assignments": []}
    side.ask(ApiKey.SYNC_GROUP, {**body, "protocol_type": "consumer", "protocol_name": "range"})


@case("groups", ApiKey.DESCRIBE_GROUPS)
def describe_groups_that_are_and_are_not(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    side.call(COMMIT, commit(side, group, topic, 5, None))
    for name in (group, f"{group}-unknown", ""):
        body = {"groups": [name], "include_authorized_operations": True}
        side.ask(ApiKey.DESCRIBE_GROUPS, body)


@case("groups", ApiKey.DELETE_GROUPS)
def delete_groups_that_are_and_are_not(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    side.call(COMMIT, commit(side, group, topic, 5, None))
    for name in (f"{group}-unknown", "", group, group):
        side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [name]})


@case("groups", ApiKey.OFFSET_DELETE)
def delete_offsets(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    side.call(COMMIT, commit(side, group, topic, 5, None))
    for name, partition in ((topic, 0), (topic, 0), (topic, 7), (f"{side.name}-unknown", 0)):
        row = {"name": name, "partitions": [{"partition_index": partition}]}
        side.ask(ApiKey.OFFSET_DELETE, {"group_id": group, "topics": [row]})
    side.ask(ApiKey.OFFSET_DELETE, {"group_id": f"{group}-unknown", "topics": []})


@case("groups", ApiKey.CONSUMER_GROUP_HEARTBEAT)
def the_life_of_a_consumer(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    me: Any = {
        "group_id": group,
        "member_id": "AAAAAAAAAAAAAAAAAAAAAQ",
        "rebalance_timeout": 30_000,
    }
    joining = {**me, "member_epoch": 0, "subscribed_topic_names": [topic], "topic_partitions": []}
    beat = ApiKey.CONSUMER_GROUP_HEARTBEAT
    side.ask(beat, {**joining, "server_assignor": "by-luck"})
    side.ask(beat, {**joining, "group_id": ""})
    side.ask(beat, {**joining, "rebalance_timeout": -1})
    side.ask(beat, {**me, "member_epoch": 5})
    answer = side.ask(beat, joining)
    if answer is None or answer.error_code.value:
        return
    me["member_id"] = answer.member_id or me["member_id"]
    side.ask(beat, {**me, "member_epoch": answer.member_epoch})
    side.ask(beat, {**me, "member_epoch": answer.member_epoch + 5})
    side.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, {"group_ids": [group]})
    side.ask(beat, {**me, "member_epoch": -1})
    side.ask(beat, {**me, "member_epoch": -1})
    side.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, {"group_ids": [group, f"{group}-unknown"]})


@case("transactions", INIT)
def producers_of_a_transactional_id(side: Side) -> None:
    ready_transactions(side)
    body = {"transactional_id": side.name, "transaction_timeout": 5000}
    fresh = {"producer_id": -1, "producer_epoch": -1}
    side.ask(INIT, {**body, **fresh})
    side.ask(INIT, {**body, **fresh})
    side.ask(INIT, {**body, **fresh, "transaction_timeout": 999_999_999})
    side.ask(INIT, {**body, **fresh, "transaction_timeout": 0})
    side.ask(INIT, {**body, "producer_id": 4711, "producer_epoch": 3})


@case("transactions", ADD)
def add_partitions_and_end(side: Side) -> None:
    producer, topic = ready_producer(side), side.topic()
    for change in (
        {},
        {"producer_epoch": 9},
        {"producer_id": 4711},
        {"transactional_id": "stranger"},
    ):
        side.ask(ADD, adding({**producer, **change}, topic))
    side.ask(ADD, adding(producer, f"{side.name}-unknown"))
    # Through the old way, which does not change the epoch.
    side.ask(END, {**producer, "committed": True}, 4)
    wait_for("the markers are written", lambda: state(side) == "CompleteCommit")
    side.ask(END, {**producer, "committed": True}, 4)
    side.ask(ApiKey.DESCRIBE_TRANSACTIONS, {"transactional_ids": [side.name]})


@case("transactions", ApiKey.PRODUCE)
def produce_in_a_transaction(side: Side) -> None:
    """Not begun, begun, of another id, epoch or producer, without an id."""
    producer, topic = ready_producer(side), side.topic()
    id_and_epoch = {name: producer[name] for name in ("producer_id", "producer_epoch")}

    def send(sequence: int, name: str | None = side.name, **change: Any) -> None:
        batch = batch_of(
            b"1", is_transactional=True, base_sequence=sequence, **{**id_and_epoch, **change}
        )
        side.ask(ApiKey.PRODUCE, {**side.produce(topic, batch), "transactional_id": name})

    send(0)
    side.call(ADD, adding(producer, topic), 3)
    send(0)
    send(0)
    send(5)
    send(1, producer_epoch=9)
    send(1, producer_id=4711)
    send(1, name="stranger")
    send(1, name=None)
    side.ask(END, {**producer, "committed": True}, 4)


@case("transactions", END)
def end_what_was_not_begun(side: Side) -> None:
    producer = ready_producer(side)
    if side.version >= 5:  # it may be ended then, with a new epoch
        side.ask(END, {**producer, "committed": True})
        return
    for change in (
        {"committed": True},
        {"committed": False},
        {"producer_epoch": 9},
        {"producer_id": 4711},
        {"transactional_id": "stranger"},
    ):
        side.ask(END, {**producer, "committed": True, **change})


@case("transactions", ApiKey.ADD_OFFSETS_TO_TXN)
def add_offsets(side: Side) -> None:
    ready_group(side)
    producer = ready_producer(side)
    for change in ({}, {"producer_epoch": 9}, {"transactional_id": "stranger"}, {"group_id": ""}):
        side.ask(ApiKey.ADD_OFFSETS_TO_TXN, {**producer, "group_id": side.name, **change})


@case("transactions", ApiKey.TXN_OFFSET_COMMIT)
def commit_offsets_in_a_transaction(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    producer = ready_producer(side)
    side.call(ApiKey.ADD_OFFSETS_TO_TXN, {**producer, "group_id": group})
    row = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"}
    topics = [{"name": topic, "partitions": [row]}]
    body = {**producer, "group_id": group, "topics": topics}
    side.ask(ApiKey.TXN_OFFSET_COMMIT, body)
    side.ask(ApiKey.TXN_OFFSET_COMMIT, {**body, "producer_epoch": 9})
    if side.version >= 3:
        stranger = {"generation_id": 4, "member_id": "stranger"}
        side.ask(ApiKey.TXN_OFFSET_COMMIT, {**body, **stranger})
    side.ask(OFFSETS, {**offsets(side, group, topic), "require_stable": True})


@case("transactions", ApiKey.DESCRIBE_TRANSACTIONS)
def describe_transactions_that_are_and_are_not(side: Side) -> None:
    ready_producer(side)
    for name in (side.name, "stranger", ""):
        side.ask(ApiKey.DESCRIBE_TRANSACTIONS, {"transactional_ids": [name]})


def ready_group(side: Side) -> str:
    """A group id whose coordinator serves; the first use of any makes __consumer_offsets."""
    ready_coordinator(side, 0)
    return f"group-{side.name}"


def ready_transactions(side: Side) -> None:
    ready_coordinator(side, 1)


def ready_coordinator(side: Side, kind: int) -> None:
    def is_ready() -> bool:
        body = {"key_type": kind, "coordinator_keys": [f"group-{side.name}", side.name]}
        answer = side.call(ApiKey.FIND_COORDINATOR, body)
        return all(each.error_code.value == 0 for each in answer.coordinators)

    wait_for("the coordinator is found", is_ready)
    if kind == 1:
        wait_for("the coordinator has loaded", lambda: is_loaded(side))
    if kind == 0:
        loaded = offsets(side, f"group-{side.name}", "any")
        loaded["groups"][0]["topics"] = None
        wait_for(
            "the coordinator has loaded",
            lambda: side.call(OFFSETS, loaded).groups[0].error_code.value == 0,
        )


def is_loaded(side: Side) -> bool:
    body = {"transactional_ids": [f"not-{side.name}"]}
    (found,) = side.call(ApiKey.DESCRIBE_TRANSACTIONS, body).transaction_states
    return bool(found.error_code.name == "TRANSACTIONAL_ID_NOT_FOUND")


def ready_producer(side: Side) -> dict[str, Any]:
    ready_transactions(side)
    body = {"transactional_id": side.name, "transaction_timeout": 30_000}
    found: list[Any] = []

    def is_ready() -> bool:
        answer = side.call(INIT, {**body, "producer_id": -1, "producer_epoch": -1})
        found.append(answer)
        return bool(answer.error_code.value == 0)

    wait_for("the producer is initialised", is_ready)
    answer = found[-1]
    return {
        "transactional_id": side.name,
        "producer_id": answer.producer_id,
        "producer_epoch": answer.producer_epoch,
    }


def state(side: Side) -> str:
    answer = side.call(ApiKey.DESCRIBE_TRANSACTIONS, {"transactional_ids": [side.name]})
    return str(answer.transaction_states[0].transaction_state)


def adding(producer: dict[str, Any], topic: str) -> dict[str, Any]:
    topics = [{"name": topic, "partitions": [0]}]
    old = {f"v3_and_below_{name}": value for name, value in producer.items()}
    transactions = [{**producer, "verify_only": False, "topics": topics}]
    return {**old, "v3_and_below_topics": topics, "transactions": transactions}


def commit(
    side: Side, group: str, topic: str, offset: int, note: str | None, partition: int = 0
) -> dict[str, Any]:
    row = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": note,
    }
    topics = [{"name": topic, "topic_id": side.topic_id(topic), "partitions": [row]}]
    member = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    return {"group_id": group, **member, "retention_time": -1, "topics": topics}


def offsets(side: Side, group: str, topic: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": topic, "partition_indexes": [0, 1]}
    old = {"group_id": group, "topics": [row]}
    if topic != "any":
        row = {**row, "topic_id": side.topic_id(topic)}
    new = {"groups": [{"group_id": group, "member_epoch": -1, "topics": [row]}]}
    return {**old, **new, "require_stable": False}


def join(group: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout": 10_000,
        "rebalance_timeout": 10_000,
        "member_id": "",
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"\x00\x01"}],
        "reason": None,
    }
