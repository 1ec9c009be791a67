"""Transactions in the state a test wants, and short words for events."""

from typing import Any, Final

from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.events import (
    AddPartitions,
    EndTransaction,
    Fact,
    InitProducerId,
    ProducerIdAndEpoch,
    Reply,
    TransactionLogged,
)
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import Transaction

ID: Final = "tx"
PID: Final = 4000
NOW: Final = Instant(1_000_000)
A0: Final = TopicPartition("a", 0)
B1: Final = TopicPartition("b", 1)
S = TransactionState

_WITH_PARTITIONS: Final = (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)


def transaction(state: TransactionState = S.EMPTY, epoch: int = 5, **changes: Any) -> Transaction:
    fields: dict[str, Any] = {
        "transactional_id": ID,
        "producer_id": PID,
        "producer_epoch": epoch,
        "timeout_ms": 60_000,
        "state": state,
        "partitions": frozenset({A0}) if state in _WITH_PARTITIONS else frozenset(),
        "started_ms": -1 if state is S.EMPTY else 900_000,
        "updated_ms": 900_000,
        "previous_producer_id": PID,
    }
    return Transaction(**{**fields, **changes})


def init(
    producer_id: int | None = None, epoch: int = -1, *, timeout_ms: int = 60_000, fresh: int = -1
) -> InitProducerId:
    expected = None if producer_id is None else ProducerIdAndEpoch(producer_id, epoch)
    return InitProducerId(ID, timeout_ms, expected, fresh)


def end(committed: bool, version: int, epoch: int = 5, producer_id: int = PID) -> EndTransaction:
    return EndTransaction(ID, producer_id, epoch, committed, version)


def add(*partitions: TopicPartition, epoch: int = 5, producer_id: int = PID) -> AddPartitions:
    return AddPartitions(ID, producer_id, epoch, frozenset(partitions))


def written(step: Step[Fact, Reply]) -> Transaction:
    """The one transaction that a step logs."""
    (record,) = step.records
    assert isinstance(record, TransactionLogged)
    return record.transaction
