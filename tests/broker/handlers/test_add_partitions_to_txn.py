"""AddPartitionsToTxn from clients (0-3) and from brokers (4-5); AddOffsetsToTxn."""

from typing import Any

import pytest

from kafkapy.broker.handlers import add_offsets_to_txn, add_partitions_to_txn, describe_transactions
from kafkapy.core.errors import ErrorCode
from kafkapy.txn.events import InitProducerId
from tests.broker.handlers.transaction_node import TransactionNode

API = 24
E = ErrorCode


def started() -> TransactionNode:
    node = TransactionNode()
    node.ask(InitProducerId("tx", 60_000))
    return node


def add(
    node: TransactionNode, version: int, *topics: tuple[str, list[int]], epoch: int = 0
) -> dict[tuple[str, int], int]:
    answer = node.request(
        add_partitions_to_txn,
        API,
        version,
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=4000,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[{"name": name, "partitions": parts} for name, parts in topics],
    )
    return errors_of(answer.results_by_topic_v3_and_below)


def errors_of(topics: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, one.partition_index): one.partition_error_code
        for topic in topics
        for one in topic.results_by_partition
    }


def state_of(node: TransactionNode) -> Any:
    answer = node.request(describe_transactions, 65, 0, transactional_ids=["tx"])
    return answer.transaction_states[0]


@pytest.mark.parametrize("version", range(4))
def test_a_client_adds_partitions_of_several_topics(version: int) -> None:
    node = started()
    errors = add(node, version, ("b", [0]), ("a", [1, 0]))
    assert errors == {("a", 0): E.NONE, ("a", 1): E.NONE, ("b", 0): E.NONE}
    state = state_of(node)
    assert state.transaction_state == "Ongoing"
    assert [(topic.topic, topic.partitions) for topic in state.topics] == [
        ("a", (0, 1)),
        ("b", (0,)),
    ]


def test_one_partition_that_does_not_exist_holds_the_others_back() -> None:
    node = started()
    errors = add(node, 3, ("a", [0, 7]), ("nope", [0]))
    assert errors == {
        ("a", 0): E.OPERATION_NOT_ATTEMPTED,
        ("a", 7): E.UNKNOWN_TOPIC_OR_PARTITION,
        ("nope", 0): E.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert state_of(node).transaction_state == "Empty"


@pytest.mark.parametrize(
    ("version", "error"), [(1, E.INVALID_PRODUCER_EPOCH), (2, E.PRODUCER_FENCED)]
)
def test_older_clients_know_fencing_by_another_name(version: int, error: ErrorCode) -> None:
    assert add(started(), version, ("a", [0]), epoch=5) == {("a", 0): error}


def test_who_does_not_coordinate_says_so_for_every_partition() -> None:
    node = started()
    node.coordinator.shards.resign(0)
    assert add(node, 3, ("a", [0, 1])) == {
        ("a", 0): E.NOT_COORDINATOR,
        ("a", 1): E.NOT_COORDINATOR,
    }


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_ask_for_many_transactions_at_once(version: int) -> None:
    node = started()
    node.ask(InitProducerId("other", 60_000))

    def transaction(of: str, producer_id: int, verify_only: bool) -> dict[str, Any]:
        return {
            "transactional_id": of,
            "producer_id": producer_id,
            "producer_epoch": 0,
            "verify_only": verify_only,
            "topics": [{"name": "a", "partitions": [0]}],
        }

    answer = node.request(
        add_partitions_to_txn,
        API,
        version,
        transactions=[
            transaction("tx", 4000, verify_only=False),
            transaction("other", 4001, verify_only=True),
            transaction("unknown", 4002, verify_only=False),
        ],
    )
    assert answer.error_code == E.NONE
    assert {
        one.transactional_id: errors_of(one.topic_results)["a", 0]
        for one in answer.results_by_transaction
    } == {
        "tx": E.NONE,
        "other": E.TRANSACTION_ABORTABLE,
        "unknown": E.INVALID_PRODUCER_ID_MAPPING,
    }
    assert state_of(node).transaction_state == "Ongoing"


def test_asking_for_nothing_is_answered_with_nothing() -> None:
    answer = started().request(add_partitions_to_txn, API, 5, transactions=[])
    assert (answer.error_code, answer.results_by_transaction) == (0, ())


@pytest.mark.parametrize("version", range(5))
def test_a_groups_offsets_join_by_the_partition_they_are_in(version: int) -> None:
    """Also before the topic exists: clients look for the group's coordinator only then."""
    node = started()
    answer = node.request(
        add_offsets_to_txn,
        25,
        version,
        transactional_id="tx",
        producer_id=4000,
        producer_epoch=0,
        group_id="g",
    )
    assert answer.error_code == E.NONE
    (topic,) = state_of(node).topics
    assert (topic.topic, topic.partitions) == ("__consumer_offsets", (ord("g") % 50,))


@pytest.mark.parametrize(
    ("version", "error"), [(1, E.INVALID_PRODUCER_EPOCH), (2, E.PRODUCER_FENCED)]
)
def test_a_fenced_producer_adds_no_offsets(version: int, error: ErrorCode) -> None:
    answer = started().request(
        add_offsets_to_txn,
        25,
        version,
        transactional_id="tx",
        producer_id=4000,
        producer_epoch=9,
        group_id="g",
    )
    assert answer.error_code == error
