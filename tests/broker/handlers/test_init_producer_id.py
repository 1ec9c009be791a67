"""InitProducerId: with and without a transactional id, in every version."""

import pytest

from kafkapy.broker.handlers import add_partitions_to_txn, init_producer_id
from kafkapy.core.errors import ErrorCode, Refused
from tests.broker.handlers.transaction_node import TransactionNode

API = 22


@pytest.mark.parametrize("version", range(6))
def test_an_idempotent_producer_gets_an_id_of_its_own(version: int) -> None:
    node = TransactionNode()
    for expected in (4000, 4001):
        answer = node.request(
            init_producer_id, API, version, transactional_id=None, transaction_timeout=0
        )
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, expected, 0)


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_producer_gets_the_next_epoch(version: int) -> None:
    node = TransactionNode()
    for expected in (0, 1):
        answer = node.request(
            init_producer_id, API, version, transactional_id="tx", transaction_timeout=60_000
        )
        assert (answer.producer_id, answer.producer_epoch) == (4000, expected)


def test_without_ids_to_give_the_client_is_told_to_come_back() -> None:
    node = TransactionNode()
    node.ids.refusal = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    for transactional_id in (None, "tx"):
        answer = node.request(
            init_producer_id,
            API,
            4,
            transactional_id=transactional_id,
            transaction_timeout=60_000,
        )
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert answer.producer_id == -1


@pytest.mark.parametrize(("producer_id", "epoch"), [(4000, -1), (-1, 0)])
def test_half_an_identity_is_none(producer_id: int, epoch: int) -> None:
    answer = TransactionNode().request(
        init_producer_id,
        API,
        4,
        transactional_id="tx",
        transaction_timeout=60_000,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
def test_older_clients_know_fencing_by_another_name(version: int, error: ErrorCode) -> None:
    node = TransactionNode()
    node.request(init_producer_id, API, 4, transactional_id="tx", transaction_timeout=60_000)
    answer = node.request(
        init_producer_id,
        API,
        version,
        transactional_id="tx",
        transaction_timeout=60_000,
        producer_id=1,
        producer_epoch=0,
    )
    assert answer.error_code == error


def test_a_producer_of_an_open_transaction_is_fenced_and_the_next_comes_again() -> None:
    node = TransactionNode()
    node.request(init_producer_id, API, 4, transactional_id="tx", transaction_timeout=60_000)
    node.request(
        add_partitions_to_txn,
        24,
        3,
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=4000,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[{"name": "a", "partitions": [0]}],
    )
    errors = []
    for _ in range(2):
        answer = node.request(
            init_producer_id, API, 4, transactional_id="tx", transaction_timeout=60_000
        )
        errors.append(answer.error_code)
    assert errors == [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE]
    assert answer.producer_epoch == 2


@pytest.mark.parametrize("version", range(6))
def test_an_empty_id_is_invalid_even_before_there_are_coordinators(version: int) -> None:
    node = TransactionNode()
    node.coordinator.shards.partition_count = None
    for transactional_id, error in (
        ("", ErrorCode.INVALID_REQUEST),
        ("tx", ErrorCode.NOT_COORDINATOR),
    ):
        answer = node.request(
            init_producer_id,
            API,
            version,
            transactional_id=transactional_id,
            transaction_timeout=60_000,
        )
        assert (answer.error_code, answer.producer_id) == (error, -1)
