"""Share groups (KIP-932): members, records that are shared out, what is asked about them.

A group's state is made a moment after its first heartbeat, so a member beats until it has its
partitions; and epochs depend on when that was, so what is said of them is not compared.
"""

from collections.abc import Sequence
from typing import Any

from compat_tests.differ.cases import case
from compat_tests.differ.side import Side
from compat_tests.waiting import wait_for
from kafkapy.kraft.uuids import ZERO_UUID, uuid_to_text
from kafkapy.protocol.api_keys import ApiKey

BEAT, DESCRIBE = ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE
FETCH, ACK = ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE
OFFSETS = ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS
ALTER, DELETE = ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS
MEMBER = "abcdefghijklmnopqrstuA"
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


@case("groups", BEAT)
def share_heartbeats_that_may_not_be(side: Side) -> None:
    group = ready_group(side)
    changes: list[dict[str, Any]] = [
        {"group_id": ""},
        {"member_id": ""},
        {"member_id": "x" * 37},
        {"rack_id": ""},
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": []},
        {"member_epoch": -2},
        {"member_epoch": -1},
        {"member_epoch": 3},
    ]
    for change in changes:
        side.ask(BEAT, {**beat(group, ["none"]), **change})


@case("groups", BEAT)
def share_members_at_wrong_epochs(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    epoch = member_of(side, group, topic)
    side.ask(BEAT, {**beat(group, None), "member_epoch": epoch + 70, "member_id": "stranger"})
    side.ask(BEAT, {**beat(group, None), "member_epoch": -1, "member_id": "stranger"})
    side.ask(BEAT, {**beat(group, None), "member_epoch": -1})
    side.ask(BEAT, {**beat(group, None), "member_epoch": -1})


@case("groups", DESCRIBE)
def describe_share_groups(side: Side) -> None:
    group = ready_group(side)
    for name in (f"{group}-unknown", ""):
        side.ask(DESCRIBE, {"group_ids": [name], "include_authorized_operations": True})
    commit = {"group_id": f"{group}-other", "generation_id_or_member_epoch": -1, "member_id": ""}
    side.call(ApiKey.OFFSET_COMMIT, {**commit, "topics": []})
    side.ask(DESCRIBE, {"group_ids": [f"{group}-other"], "include_authorized_operations": False})
    side.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, _consumer(group))


@case("groups", FETCH)
def share_fetches_that_may_not_be(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    changes: list[dict[str, Any]] = [
        {"group_id": None},
        {"member_id": None},
        {"member_id": ""},
        {"member_id": "x" * 37},
        {"share_session_epoch": 4},
        {"share_session_epoch": -1},
        {"topics": _topics(side, topic, [(0, 0, [ACCEPT])])},
    ]
    for change in changes:
        side.ask(FETCH, {**fetch(side, group, topic), "max_wait": 0, **change})


@case("groups", FETCH)
def records_are_shared_out(side: Side) -> None:
    """Accepted, released, rejected; and come again or not."""
    group, topic = ready_group(side), side.topic()
    member_of(side, group, topic)
    side.write(topic, *(b"%d" % number for number in range(4)))
    side.write(topic, *(b"%d" % number for number in range(4, 6)))
    taken(side, group, topic)
    side.ask(FETCH, fetch(side, group, topic, [(0, 0, [ACCEPT]), (1, 1, [RELEASE])], 2))
    side.ask(
        FETCH,
        fetch(side, group, topic, [(1, 3, [ACCEPT, REJECT, GAP]), (4, 5, [RELEASE])], 3),
    )
    side.ask(FETCH, {**fetch(side, group, topic, [(4, 5, [ACCEPT])], 4), "max_wait": 0})
    side.ask(FETCH, {**fetch(side, group, topic, [(4, 5, [ACCEPT])], 5), "max_wait": 0})
    side.ask(FETCH, {**fetch(side, group, topic, [(40, 50, [ACCEPT])], 6), "max_wait": 0})
    side.ask(FETCH, {**fetch(side, group, topic, (), 3), "max_wait": 0})
    side.ask(FETCH, {**fetch(side, group, topic, (), -1), "max_wait": 0})
    side.ask(FETCH, {**fetch(side, group, topic, (), 7), "max_wait": 0})


@case("groups", ACK)
def acknowledgements(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    member_of(side, group, topic)
    side.write(topic, *(b"%d" % number for number in range(6)))
    taken(side, group, topic)
    side.ask(ACK, acknowledge(side, group, topic, [(0, 1, [ACCEPT])], 0))
    side.ask(ACK, acknowledge(side, group, topic, [(0, 1, [ACCEPT])], 9))
    rows: list[Sequence[Any]] = [
        [(0, 1, [ACCEPT])],
        [(0, 1, [ACCEPT])],
        [(2, 2, [RELEASE]), (3, 3, [REJECT])],
        [(2, 2, [ACCEPT])],
        [(3, 2, [ACCEPT])],
        [(4, 5, [ACCEPT, ACCEPT, ACCEPT])],
        [(4, 5, [])],
        [(5, 5, [ACCEPT]), (4, 4, [ACCEPT])],
        [(4, 5, [9])],
        [(4, 5, [-1])],
        [(4, 5, [RENEW])],
        [(4, 9, [ACCEPT])],
        [(90, 99, [ACCEPT])],
        [(4, 4, [ACCEPT]), (4, 4, [ACCEPT])],
        [(4, 5, [RELEASE]), (5, 5, [ACCEPT])],
        [(-1, 4, [ACCEPT])],
        [(-5, -1, [ACCEPT])],
        [(-(2**63), 2**63 - 1, [ACCEPT])],
        [(0, 2**62, [ACCEPT])],
        [(2**62, 2**62 + 1, [ACCEPT, ACCEPT])],
        [(4, 5, [GAP])],
    ]
    epoch = 2
    for batches in rows:
        side.ask(ACK, acknowledge(side, group, topic, batches, epoch))
        epoch += 1
    for topics in (_topics(side, topic, ()), _of_nobody([(0, 0, [ACCEPT])])):
        side.ask(ACK, {**acknowledge(side, group, topic, (), epoch), "topics": topics})
        epoch += 1
    side.ask(ACK, {**acknowledge(side, group, topic, (), -1), "topics": []})
    side.ask(ACK, {**acknowledge(side, group, topic, (), -1), "topics": []})


@case("groups", ACK, since=2)
def locks_are_renewed(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    member_of(side, group, topic)
    side.write(topic, b"0", b"1")
    taken(side, group, topic)
    renewing = {"is_renew_ack": True}
    side.ask(ACK, {**acknowledge(side, group, topic, [(0, 1, [RENEW])], 2), **renewing})
    side.ask(ACK, {**acknowledge(side, group, topic, [(0, 1, [RENEW, ACCEPT])], 3), **renewing})
    side.ask(ACK, {**acknowledge(side, group, topic, [(1, 1, [RENEW])], 4), **renewing})
    still = {**fetch(side, group, topic, [(0, 0, [RENEW])], 5), **renewing}
    side.ask(FETCH, still)


@case("groups", FETCH)
def share_fetches_of_nothing(side: Side) -> None:
    """No records, or no bytes: what there is stays for whoever wants it."""
    group, topic = ready_group(side), side.topic()
    member_of(side, group, topic)
    side.write(topic, *(b"%d" % number for number in range(3)))
    taken(side, group, topic)
    side.ask(FETCH, {**fetch(side, group, topic, [(0, 2, [RELEASE])], 2), "max_bytes": 0})
    for epoch, change in enumerate(({"max_records": 0}, {"max_records": -1}, {"max_bytes": 0}), 3):
        side.ask(FETCH, {**fetch(side, group, topic, (), epoch), "max_wait": 0, **change})
    side.ask(FETCH, fetch(side, group, topic, (), 6))


@case("groups", FETCH, since=2)
def no_more_than_were_asked_for(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    member_of(side, group, topic)
    side.write(topic, *(b"%d" % number for number in range(6)))
    limit = {"share_acquire_mode": 1, "max_records": 4}
    taken(side, group, topic, **limit)
    side.ask(FETCH, {**fetch(side, group, topic, (), 2), **limit})


@case("groups", OFFSETS)
def offsets_of_a_share_group(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    member_of(side, group, topic)
    side.write(topic, *(b"%d" % number for number in range(6)))
    taken(side, group, topic)
    side.ask(FETCH, fetch(side, group, topic, [(0, 2, [ACCEPT]), (4, 4, [ACCEPT])], 2))
    for name in (group, f"{group}-unknown", ""):
        side.ask(OFFSETS, {"groups": [{"group_id": name, "topics": None}]})
    listed = [
        {"topic_name": topic, "partitions": [0, 1]},
        {"topic_name": f"{topic}-unknown", "partitions": [0]},
    ]
    for one in listed:
        side.ask(OFFSETS, {"groups": [{"group_id": group, "topics": [one]}]})


@case("groups", ALTER)
def alter_offsets_of_a_share_group(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    side.ask(ALTER, alter(group, topic, 0, 3))
    member_of(side, group, topic)
    side.write(topic, *(b"%d" % number for number in range(6)))
    side.ask(ALTER, alter(group, topic, 0, 3))
    side.call(BEAT, {**beat(group, None), "member_epoch": -1})
    side.ask(ALTER, alter(group, topic, 0, 3))
    side.ask(ALTER, alter(group, topic, 7, 3))
    side.ask(ALTER, alter(group, f"{topic}-unknown", 0, 3))
    rows = [{"partition_index": one, "start_offset": 0} for one in (0, 9, 1)]
    side.ask(ALTER, {"group_id": group, "topics": [{"topic_name": topic, "partitions": rows}]})
    halves = [{"topic_name": topic, "partitions": [one]} for one in (rows[0], rows[2])]
    side.ask(ALTER, {"group_id": group, "topics": halves})
    side.ask(ALTER, alter("", topic, 0, 3))
    side.ask(OFFSETS, {"groups": [{"group_id": group, "topics": None}]})


@case("groups", DELETE)
def delete_offsets_of_a_share_group(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    never = side.topic()
    side.ask(DELETE, {"group_id": group, "topics": [{"topic_name": topic}]})
    member_of(side, group, topic)
    side.ask(DELETE, {"group_id": group, "topics": [{"topic_name": topic}]})
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})
    side.call(BEAT, {**beat(group, None), "member_epoch": -1})
    for name in (topic, topic, never, f"{topic}-unknown"):
        side.ask(DELETE, {"group_id": group, "topics": [{"topic_name": name}]})
    side.ask(DELETE, {"group_id": "", "topics": [{"topic_name": topic}]})
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})


@case("groups", ApiKey.INITIALIZE_SHARE_GROUP_STATE)
def the_life_of_a_share_state(side: Side) -> None:
    """What brokers say to a share coordinator."""
    group, topic = side.name, side.topic()
    topic_id = side.topic_id(topic)
    key = f"{group}:{uuid_to_text(topic_id)}:0"
    ready(side, key)

    def one(**fields: Any) -> dict[str, Any]:
        partitions = [{"partition": 0, **fields}]
        return {"group_id": group, "topics": [{"topic_id": topic_id, "partitions": partitions}]}

    read, write = ApiKey.READ_SHARE_GROUP_STATE, ApiKey.WRITE_SHARE_GROUP_STATE
    summary = ApiKey.READ_SHARE_GROUP_STATE_SUMMARY
    batch = {"first_offset": 3, "last_offset": 5, "delivery_state": 2, "delivery_count": 1}
    written = {"state_epoch": 4, "leader_epoch": 7, "start_offset": 3, "state_batches": [batch]}
    begun = ApiKey.INITIALIZE_SHARE_GROUP_STATE
    side.ask(read, one(leader_epoch=0))
    side.ask(summary, one(leader_epoch=0))
    side.ask(write, one(**written))
    side.ask(begun, one(state_epoch=4, start_offset=-1))
    side.ask(begun, one(state_epoch=4, start_offset=-1))
    side.ask(begun, one(state_epoch=3, start_offset=0))
    side.ask(begun, one(partition=9, state_epoch=4, start_offset=0))
    side.ask(begun, one(partition=-1, state_epoch=4, start_offset=0))
    side.ask(read, one(leader_epoch=7))
    side.ask(read, one(leader_epoch=6))
    side.ask(read, one(leader_epoch=-3))
    side.ask(write, one(**written))
    side.ask(write, one(**{**written, "leader_epoch": 6}))
    side.ask(write, one(**{**written, "state_epoch": 3}))
    side.ask(write, one(**{**written, "delivery_complete_count": 3}))
    side.ask(read, one(leader_epoch=7))
    side.ask(summary, one(leader_epoch=7))
    later = {"first_offset": 4, "last_offset": 8, "delivery_state": 0, "delivery_count": 2}
    side.ask(write, one(**{**written, "start_offset": 4, "state_batches": [later]}))
    side.ask(read, one(leader_epoch=8))
    side.ask(summary, one(leader_epoch=8))
    side.ask(begun, one(state_epoch=9, start_offset=100))
    side.ask(summary, one(leader_epoch=8))
    side.ask(ApiKey.DELETE_SHARE_GROUP_STATE, one())
    side.ask(ApiKey.DELETE_SHARE_GROUP_STATE, one())
    side.ask(ApiKey.DELETE_SHARE_GROUP_STATE, one(partition=9))
    side.ask(summary, one(leader_epoch=8))


# Bodies


def beat(group: str, topics: Sequence[str] | None) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": MEMBER,
        "member_epoch": 0,
        "rack_id": None,
        "subscribed_topic_names": topics,
    }


def fetch(
    side: Side, group: str, topic: str, batches: Sequence[Any] = (), epoch: int = 0
) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": MEMBER,
        "share_session_epoch": epoch,
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 1_000_000,
        "max_records": 500,
        "batch_size": 500,
        "topics": _topics(side, topic, batches),
        "forgotten_topics_data": [],
    }


def acknowledge(
    side: Side, group: str, topic: str, batches: Sequence[Any], epoch: int
) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": MEMBER,
        "share_session_epoch": epoch,
        "topics": _topics(side, topic, batches),
    }


def alter(group: str, topic: str, partition: int, offset: int) -> dict[str, Any]:
    partitions = [{"partition_index": partition, "start_offset": offset}]
    return {"group_id": group, "topics": [{"topic_name": topic, "partitions": partitions}]}


def _topics(side: Side, topic: str, batches: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"topic_id": side.topic_id(topic), "partitions": [_asked(0, batches)]}]


def _of_nobody(batches: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"topic_id": ZERO_UUID, "partitions": [_asked(0, batches)]}]


def _asked(partition: int, batches: Sequence[Any] = ()) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "acknowledgement_batches": [
            {"first_offset": first, "last_offset": last, "acknowledge_types": kinds}
            for first, last, kinds in batches
        ],
    }


def _consumer(group: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": MEMBER,
        "member_epoch": 3,
        "topic_partitions": None,
        "rebalance_timeout": -1,
    }


# What is so before a case begins


def ready_group(side: Side) -> str:
    """A name for a group whose coordinator is there, and reads from the beginning."""
    body = {"key": side.name, "key_type": 0, "coordinator_keys": [side.name]}
    wait_for(
        "the coordinator is there",
        lambda: not int(side.call(ApiKey.FIND_COORDINATOR, body, 4).coordinators[0].error_code),
        every_s=0.05,
    )
    earliest = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}
    resource = {"resource_type": 32, "resource_name": side.name, "configs": [earliest]}
    side.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resource]})
    return side.name


def ready(side: Side, key: str) -> None:
    body = {"key_type": 2, "coordinator_keys": [key]}
    wait_for(
        "the share coordinator is there",
        lambda: not int(side.call(ApiKey.FIND_COORDINATOR, body).coordinators[0].error_code),
        every_s=0.05,
    )


def member_of(side: Side, group: str, topic: str) -> int:
    """A member that has partitions; its epoch."""
    epoch = 0

    def has_some() -> bool:
        nonlocal epoch
        names = [topic] if epoch == 0 else None
        answer = side.call(BEAT, {**beat(group, names), "member_epoch": epoch})
        if int(answer.error_code):
            return False  # the coordinator is loading
        epoch = answer.member_epoch
        return bool(answer.assignment and answer.assignment.topic_partitions)

    wait_for("the member has partitions", has_some, every_s=0.1)
    return epoch


def taken(side: Side, group: str, topic: str, **more: Any) -> None:
    """A session is open, and its first records are there: asked for until they are."""

    def opened() -> Any:
        body = {**fetch(side, group, topic), "max_records": 500, **more}
        answer = side.call(FETCH, body)
        rows = [row for one in answer.responses for row in one.partitions]
        return rows and rows[0].acquired_records and answer

    side.heard.append(("ShareFetch", wait_for("records are there", opened, every_s=0.1)))
    side.ask(FETCH, {**fetch(side, group, topic, (), 1), "max_wait": 0, **more})
