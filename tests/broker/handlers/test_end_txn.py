"""EndTxn by both protocols; DescribeTransactions and ListTransactions on the way."""

from typing import Any

import pytest

from kafkapy.broker.handlers import describe_transactions, end_txn, list_transactions
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.txn.events import AddPartitions, InitProducerId
from tests.broker.handlers.transaction_node import TransactionNode

E = ErrorCode


def ongoing() -> TransactionNode:
    node = TransactionNode()
    node.ask(InitProducerId("tx", 60_000))
    node.ask(AddPartitions("tx", 4000, 0, frozenset({TopicPartition("a", 0)})))
    return node


def end(node: TransactionNode, version: int, committed: bool = True, epoch: int = 0) -> Any:
    return node.request(
        end_txn,
        26,
        version,
        transactional_id="tx",
        producer_id=4000,
        producer_epoch=epoch,
        committed=committed,
    )


@pytest.mark.parametrize("version", range(5))
def test_v1_keeps_the_epoch_and_may_be_asked_again(version: int) -> None:
    node = ongoing()
    assert [end(node, version).error_code for _ in range(2)] == [E.NONE, E.NONE]
    (marker,) = node.markers.sent
    assert (marker.producer_epoch, marker.transaction_version) == (0, 0)


def test_v2_gives_the_epoch_of_the_next_transaction() -> None:
    node = ongoing()
    for _ in range(2):  # the answer may be lost
        answer = end(node, 5)
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 4000, 1)
    (marker,) = node.markers.sent
    assert (marker.producer_epoch, marker.transaction_version) == (1, 2)


@pytest.mark.parametrize(
    ("version", "error"),
    [(1, E.INVALID_PRODUCER_EPOCH), (2, E.PRODUCER_FENCED), (5, E.PRODUCER_FENCED)],
)
def test_a_fenced_producer_ends_nothing(version: int, error: ErrorCode) -> None:
    answer = end(ongoing(), version, epoch=7)
    assert answer.error_code == error
    if version == 5:
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


def test_who_does_not_coordinate_says_so() -> None:
    node = ongoing()
    node.coordinator.shards.resign(0)
    assert end(node, 5).error_code == E.NOT_COORDINATOR


def test_transactions_are_described_in_the_order_asked_and_twice_if_asked_twice() -> None:
    answer = ongoing().request(
        describe_transactions, 65, 0, transactional_ids=["tx", "", "nope", "tx"]
    )
    states = answer.transaction_states
    assert [(one.error_code, one.transactional_id, one.transaction_state) for one in states] == [
        (E.NONE, "tx", "Ongoing"),
        (E.INVALID_REQUEST, "", ""),
        (E.TRANSACTIONAL_ID_NOT_FOUND, "nope", ""),
        (E.NONE, "tx", "Ongoing"),
    ]
    assert (states[2].producer_id, states[2].producer_epoch) == (0, 0)  # as Kafka leaves them
    assert ongoing().request(describe_transactions, 65, 0).transaction_states == ()


def listed(version: int, **filters: Any) -> tuple[list[str], tuple[str, ...]]:
    node = ongoing()
    node.ask(InitProducerId("idle", 60_000))
    answer = node.request(list_transactions, 66, version, **filters)
    assert answer.error_code == E.NONE
    ids = [one.transactional_id for one in answer.transaction_states]
    return ids, answer.unknown_state_filters


@pytest.mark.parametrize("version", range(3))
def test_transactions_are_listed_by_state_and_producer(version: int) -> None:
    assert listed(version) == (["tx", "idle"], ())
    assert listed(version, state_filters=["Empty", "Bogus"]) == (["idle"], ("Bogus",))
    assert listed(version, state_filters=["Bogus"]) == ([], ("Bogus",))
    assert listed(version, producer_id_filters=[4000]) == (["tx"], ())


def test_transactions_are_listed_by_age_and_pattern() -> None:
    assert listed(1, duration_filter=0) == (["idle"], ())
    assert listed(2, transactional_id_pattern="t.") == (["tx"], ())
    assert listed(2, transactional_id_pattern="t") == ([], ())
    assert listed(2, transactional_id_pattern="") == (["tx", "idle"], ())


def test_a_bad_pattern_is_named_as_such() -> None:
    with pytest.raises(Refused) as refused:
        ongoing().request(list_transactions, 66, 2, transactional_id_pattern="(tx")
    assert refused.value.code is E.INVALID_REGULAR_EXPRESSION
