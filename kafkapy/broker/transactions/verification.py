"""What is asked of a transaction's coordinator before data is appended, and what the answer
means to the client (KIP-890, formats/producers 5).

What is asked depends on what the client can do:

    VERIFY            Produce <= 10, TxnOffsetCommit <= 3   is the partition in it?
    VERIFY_ABORTABLE  Produce 11, TxnOffsetCommit 4         the same, TRANSACTION_ABORTABLE allowed
    ADD               Produce >= 12, TxnOffsetCommit >= 5   put the partition into it

verifier.py asks.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, NamedTuple

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import NO_SEQUENCE, ProducerStates

Errors = Mapping[TopicPartition, ErrorCode]
# A guard to append with; None, no need to ask; Refused, what the client is told.
Verified = VerificationGuard | Refused | None


class Mode(Enum):
    VERIFY = auto()
    VERIFY_ABORTABLE = auto()
    ADD = auto()


def mode_of_produce(version: int) -> Mode:
    return _mode(version, first_abortable=11)


def mode_of_offset_commit(version: int) -> Mode:
    return _mode(version, first_abortable=4)


def _mode(version: int, first_abortable: int) -> Mode:
    if version < first_abortable:
        return Mode.VERIFY
    return Mode.VERIFY_ABORTABLE if version == first_abortable else Mode.ADD


class ToAppend(NamedTuple):
    """One transactional batch, and what its partition remembers of producers."""

    partition: TopicPartition
    producers: ProducerStates
    producer_id: int
    producer_epoch: int
    base_sequence: int = NO_SEQUENCE


@dataclass(frozen=True, slots=True)
class Question:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    mode: Mode


_TRY_LATER: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
SENTENCES: Final = {
    ErrorCode.NOT_ENOUGH_REPLICAS: "Unable to verify the partition has been added to the "
    "transaction: its coordinator cannot answer now.",
    ErrorCode.INVALID_TXN_STATE: "The partition is not in the transaction.",
}


def told(error: ErrorCode, mode: Mode) -> ErrorCode:
    """The coordinator's answer in words that a producer knows what to do with."""
    if error is ErrorCode.TRANSACTION_ABORTABLE and mode is Mode.VERIFY:
        return ErrorCode.INVALID_TXN_STATE
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return ErrorCode.INVALID_TXN_STATE
    if error in _TRY_LATER:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and mode is not Mode.ADD:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return error
