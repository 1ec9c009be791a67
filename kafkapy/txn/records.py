"""`__transaction_state`: its one record type, in bytes and for a shard (formats/coordinators 3).

    key    i16 type 0, transactional id
    value  i16 version 0 or 1 (flexible, tagged fields for protocol v2), then the fields below;
           null (a tombstone) once the id is forgotten

Version 1 is written when the finalized transaction.version is at least 1. Partitions are
null in state Empty and an empty list in Complete*, as Kafka writes them, and sorted, so that
the same state is always the same bytes.
"""

import struct
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt
from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from kafkapy.protocol.schemas.codec import decoder, encoder
from kafkapy.protocol.schemas.schema import array, int8, int16, int32, int64, string
from kafkapy.protocol.varint import uvarint
from kafkapy.txn.events import Fact, TransactionForgotten, TransactionLogged
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import Transaction

KEY_TYPE: Final = 0
MAX_VALUE_VERSION: Final = 1
_INT16: Final = struct.Struct(">h")
_INT64: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">hqhib")  # version, producer id, epoch, timeout, status
_TIMES: Final = struct.Struct(">qq")
_topic_of: Final = itemgetter(0)
_S = TransactionState
# Dead and PrepareEpochFence, behind these, are states in memory only.
_WRITTEN: Final = range(_S.EMPTY, _S.COMPLETE_ABORT + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogKey:
    __flexible_since__: ClassVar[int] = 1

    transactional_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsSchema:
    topic: str = string()
    partition_ids: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogValue:
    __flexible_since__: ClassVar[int] = 1

    producer_id: int = int64()
    previous_producer_id: int = int64(since=1, tag=0, default=-1)
    next_producer_id: int = int64(since=1, tag=1, default=-1)
    producer_epoch: int = int16()
    # Kept for two phase commit (KIP-939), written by nobody yet.
    next_producer_epoch: int = int16(since=1, tag=3, default=-1)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: tuple[PartitionsSchema, ...] | None = array(PartitionsSchema)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(since=1, tag=2, default=0)


_encode_key: Final = encoder(TransactionLogKey, 0)
_decode_key: Final = decoder(TransactionLogKey, 0)
_encode_value_v0: Final = encoder(TransactionLogValue, 0)
_decode_value: Final = [decoder(TransactionLogValue, version) for version in (0, 1)]


class TransactionCodec:
    """The RecordCodec of a transaction shard (coordinator/shard_log.py)."""

    def __init__(self, server_version: Callable[[], int]) -> None:
        """`server_version`: the finalized transaction.version."""
        self._server_version = server_version

    def encode(self, record: Fact) -> tuple[bytes, bytes | None]:
        if isinstance(record, TransactionForgotten):
            return encode_key(record.transactional_id), None
        assert isinstance(record, TransactionLogged), ("not a durable fact", record)
        transaction = record.transaction
        if self._server_version() >= 1:
            value = pack_value_v1(transaction)
        else:
            value = _INT16.pack(0) + _encode_value_v0(value_of(transaction))
        return encode_key(transaction.transactional_id), value

    def decode(self, key: bytes, value: bytes | None) -> Fact | None:
        if len(key) < 2:
            raise Corrupt(f"a record key of {len(key)} bytes")
        if _INT16.unpack_from(key)[0] != KEY_TYPE:
            return None
        transactional_id = _decode_key(key, 2)[0].transactional_id
        if value is None:
            return TransactionForgotten(transactional_id)
        return TransactionLogged(_transaction_of(transactional_id, value))


def encode_key(transactional_id: str) -> bytes:
    key = TransactionLogKey(transactional_id=transactional_id)
    return _INT16.pack(KEY_TYPE) + _encode_key(key)


def pack_value_v1(transaction: Transaction) -> bytes:
    """As the schema says it, packed by hand: three of these are written per transaction."""
    state = transaction.state
    assert state in _WRITTEN, transaction
    tags = [b"\x00\x08" + _INT64.pack(transaction.previous_producer_id)]
    if transaction.previous_producer_id == NO_PRODUCER_ID:
        tags.clear()
    if transaction.next_producer_id != NO_PRODUCER_ID:
        tags.append(b"\x01\x08" + _INT64.pack(transaction.next_producer_id))
    if transaction.client_version != 0:
        tags.append(b"\x02\x02" + _INT16.pack(transaction.client_version))
    return b"".join(
        (
            _HEAD.pack(
                1,
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.timeout_ms,
                state,
            ),
            b"\x00" if state is _S.EMPTY else _pack_partitions(transaction.partitions),
            _TIMES.pack(transaction.updated_ms, transaction.started_ms),
            bytes((len(tags),)),
            *tags,
        )
    )


def _pack_partitions(partitions: frozenset[TopicPartition]) -> bytes:
    """A compact array of topics: name, compact array of i32, no tagged fields."""
    topics = []
    for topic, group in groupby(sorted(partitions), key=_topic_of):
        name = topic.encode()
        ids = [partition for _, partition in group]
        packed = struct.pack(f">{len(ids)}i", *ids)
        topics.append(uvarint(len(name) + 1) + name + uvarint(len(ids) + 1) + packed + b"\x00")
    return uvarint(len(topics) + 1) + b"".join(topics)


def value_of(transaction: Transaction) -> TransactionLogValue:
    state = transaction.state
    assert state in _WRITTEN, transaction
    partitions = None if state is _S.EMPTY else _by_topic(transaction.partitions)
    return TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=state,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_version,
    )


def _transaction_of(transactional_id: str, data: bytes) -> Transaction:
    version = _INT16.unpack_from(data)[0] if len(data) >= 2 else -1
    if not 0 <= version <= MAX_VALUE_VERSION:
        raise Corrupt(f"transaction {transactional_id!r}: value version {version}")
    value: TransactionLogValue = _decode_value[version](data, 2)[0]
    status = value.transaction_status
    if status not in _WRITTEN:
        raise Corrupt(f"transaction {transactional_id!r}: status {status}")
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=TransactionState(status),
        partitions=frozenset(
            TopicPartition(entry.topic, partition)
            for entry in value.transaction_partitions or ()
            for partition in entry.partition_ids
        ),
        started_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        last_producer_epoch=NO_PRODUCER_EPOCH,
        client_version=value.client_transaction_version,
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> tuple[PartitionsSchema, ...]:
    return tuple(
        PartitionsSchema(topic=topic, partition_ids=tuple(one.partition for one in group))
        for topic, group in groupby(sorted(partitions), key=_topic_of)
    )
