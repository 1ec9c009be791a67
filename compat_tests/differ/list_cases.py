"""Lists and descriptions of groups and transactions, and the markers brokers write."""

from collections.abc import Sequence
from typing import Any

from compat_tests.differ.cases import case
from compat_tests.differ.group_cases import (
    ADD,
    COMMIT,
    adding,
    commit,
    ready_group,
    ready_producer,
)
from compat_tests.differ.record_cases import list_offsets, new_producer_id
from compat_tests.differ.side import Side
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT


@case("groups", ApiKey.LIST_GROUPS)
def list_groups_by_state_and_type(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    side.call(COMMIT, commit(side, group, topic, 5, None))
    side.call(BEAT, joining(f"{group}-new", topic))
    for states, types in (
        ([], []),
        (["Empty"], []),
        (["empty", "STABLE"], []),
        (["nonsense"], []),
        ([], ["classic"]),
        ([], ["Consumer"]),
        ([], ["nonsense"]),
        (["Empty"], ["consumer"]),
    ):
        body = {"states_filter": states, "types_filter": types}
        ask_about_own(side, ApiKey.LIST_GROUPS, body, "groups", "group_id")


@case("groups", ApiKey.CONSUMER_GROUP_DESCRIBE)
def describe_consumer_groups(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    side.call(COMMIT, commit(side, f"{group}-old", topic, 5, None))
    pattern = {"subscribed_topic_names": None, "subscribed_topic_regex": f"{topic}.*"}
    me = {**joining(group, topic), **pattern}

    def is_assigned() -> bool:
        """Apache Kafka resolves a pattern beside the heartbeat; a later one tells."""
        answer = side.call(BEAT, me)
        me["member_epoch"] = answer.member_epoch
        return bool(answer.assignment is not None and answer.assignment.topic_partitions)

    wait_for("the pattern is resolved", is_assigned)
    owned = [{"topic_id": side.topic_id(topic), "partitions": [0, 1]}]
    side.call(BEAT, {**me, "topic_partitions": owned})
    side.call(BEAT, joining(f"{group}-named", topic))
    for groups in ([group], [f"{group}-named"], [f"{group}-old"], [f"{group}-unknown"], [""]):
        for asks in (False, True):
            body = {"group_ids": groups, "include_authorized_operations": asks}
            side.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, body)


@case("transactions", ApiKey.LIST_TRANSACTIONS)
def list_transactions_by_state_and_producer(side: Side) -> None:
    producer, topic = ready_producer(side), side.topic()

    def ask(**filters: Any) -> None:
        body = {"state_filters": [], "producer_id_filters": [], **filters}
        body = {"duration_filter": -1, "transactional_id_pattern": None, **body}
        rows, name = "transaction_states", "transactional_id"
        ask_about_own(side, ApiKey.LIST_TRANSACTIONS, body, rows, name)

    ask()
    side.call(ADD, adding(producer, topic), 3)
    ask()
    for states in (["Ongoing"], ["Empty"], ["nonsense", "Ongoing"]):
        ask(state_filters=states)
    for producers in ([producer["producer_id"]], [4711]):
        ask(producer_id_filters=producers)
    ask(duration_filter=3_600_000)
    for pattern in (f"{side.name}.*", "nobody", ""):
        ask(transactional_id_pattern=pattern)
    side.call(ApiKey.END_TXN, {**producer, "committed": False}, 4)


@case("transactions", ApiKey.WRITE_TXN_MARKERS)
def write_markers(side: Side) -> None:
    topic = side.topic()
    producer = new_producer_id(side)
    batch = {"producer_id": producer, "producer_epoch": 1, "base_sequence": 0}
    side.write(topic, b"1", **batch)
    for name, partition, epoch in (
        (topic, 0, 1),
        (topic, 7, 1),
        (f"{side.name}-unknown", 0, 1),
        (topic, 0, 0),
    ):
        row = {
            "producer_id": producer,
            "producer_epoch": epoch,
            "transaction_result": True,
            "topics": [{"name": name, "partition_indexes": [partition]}],
            "coordinator_epoch": 0,
        }
        side.ask(ApiKey.WRITE_TXN_MARKERS, {"markers": [row]})
    side.ask(ApiKey.WRITE_TXN_MARKERS, {"markers": []})
    side.ask(ApiKey.LIST_OFFSETS, list_offsets(topic, -1))


@case("admin", ApiKey.LIST_PARTITION_REASSIGNMENTS)
def list_reassignments(side: Side) -> None:
    topic = side.topic()
    for name, partitions in (
        (topic, [0]),
        (topic, [9]),
        (f"{side.name}-unknown", [0]),
        (topic, []),
    ):
        row = {"name": name, "partition_indexes": partitions}
        side.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, {"topics": [row], "timeout": 5000})
    side.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, {"topics": None, "timeout": 5000})


def joining(group: str, topic: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": "AAAAAAAAAAAAAAAAAAAAAQ",
        "member_epoch": 0,
        "rebalance_timeout": 30_000,
        "subscribed_topic_names": [topic],
        "topic_partitions": [],
    }


def ask_about_own(side: Side, api_key: ApiKey, body: Any, rows: str, name: str) -> None:
    """Ask for everybody's; only rows that this case made are compared."""
    answer = side.call(api_key, body, side.version)
    found: Sequence[Any] = getattr(answer, rows)
    own = sorted((row for row in found if side.name in getattr(row, name)), key=str)
    said = {"error_code": answer.error_code, rows: own}
    said["unknown_state_filters"] = getattr(answer, "unknown_state_filters", None)
    side.heard.append((f"{api_key.name} v{side.version}", said))
