"""Produce, v3-13 (0-2 are advertised, as Kafka does for old librdkafka, and refused).

v8 adds record errors, v10 the current leader, v13 topic ids instead of names.
Per partition: find it, append, and acknowledge as `acks` asks:
0 no response, 1 when this node has it, -1 when every in-sync replica has it.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from struct import Struct
from typing import TYPE_CHECKING, Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Later, Resolved
from kafkapy.broker.transactions.verification import ToAppend, Verified, mode_of_produce
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.time import later as after
from kafkapy.log.append import AppendInfo, NotOneBatch, RecordsRefused
from kafkapy.log.validation import SHORTEST_LENGTH
from kafkapy.protocol.batch import CODEC_MASK, MAGIC, TRANSACTIONAL_BIT, Codec, read_header
from kafkapy.protocol.produce_response import ProducedPartition, pack_produce_response

if TYPE_CHECKING:
    from kafkapy.broker.node.broker_role import BrokerRole

ALL, NONE = -1, 0
_FRAMING = Struct(">8xi4xB")  # a batch's length and its magic
_ATTRIBUTES_AT = 22  # the low byte of a batch's attributes
# Only Kafka's own admin client may write to internal topics (kafka-console tools do).
_ADMIN_CLIENT_ID = "__admin_client"
_FIRST_WITH_ZSTD = 7
# Refusals that Kafka makes before it looks at the log, or that it tells nothing more about.
_START_UNTOLD = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    }
)


def handle(node: "BrokerRole", call: Call[Any]) -> Answer:
    request = call.body
    try:
        transactional = any(
            _is_transactional(records) for _, _, rows in request.topics for _, records in rows
        )
    except Corrupt as corrupt:
        return _answer(call, _refuse_all(request, ErrorCode.CORRUPT_MESSAGE, str(corrupt)))
    if request.acks not in (ALL, NONE, 1):
        return _answer(call, _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS))
    if transactional:
        return _Transactional(node, call).handle()
    appending = _Appending(node, call)
    for name, topic_id, partitions in request.topics:
        appending.begin_topic(name, topic_id)
        for index, records in partitions:
            appending.append(name, topic_id, index, records, None)
    return appending.answer()


def _is_transactional(records: Any) -> bool:
    """Whether the first batch is. Corrupt if it cannot be one of any format: Kafka finds
    that as it asks this question, and refuses the whole request."""
    if records is None or len(records) < _FRAMING.size:
        return False
    length, magic = _FRAMING.unpack_from(records)
    if length < SHORTEST_LENGTH:
        raise Corrupt(f"a record batch of {length} bytes")
    if magic > MAGIC:
        raise Corrupt(f"a record batch of format {magic}")
    return len(records) > _ATTRIBUTES_AT and bool(records[_ATTRIBUTES_AT] & TRANSACTIONAL_BIT)


def _is_zstd(records: memoryview | bytes) -> bool:
    return len(records) > _ATTRIBUTES_AT and records[_ATTRIBUTES_AT] & CODEC_MASK == Codec.ZSTD


class _Transactional:
    """Batches of a transaction are appended once its coordinator has confirmed that their
    partitions are in it (KIP-890; broker/transactions/verification.py). Until then they are
    kept here, copied: the buffer they came in is read into again."""

    def __init__(self, node: "BrokerRole", call: Call[Any]) -> None:
        self._node = node
        self._call = call
        self._later = Later()
        # (name, topic id, index, records, index into what is verified or None)
        self._rows: list[tuple[str | None, Any, int, bytes | None, int | None]] = []
        self._batches: list[ToAppend] = []

    def handle(self) -> Answer:
        call = self._call
        request = call.body
        if request.transactional_id is None:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return _answer(call, _refuse_all(request, code))
        for name, topic_id, partitions in request.topics:
            for index, records in partitions:
                self._note(name, topic_id, index, records)
        if len({(one.producer_id, one.producer_epoch) for one in self._batches}) > 1:
            return _answer(call, _refuse_all(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        mode = mode_of_produce(call.version)
        self._node.verification.verify(
            request.transactional_id, self._batches, mode, self._verified
        )
        return self._later

    def _note(self, name: str | None, topic_id: Any, index: int, records: Any) -> None:
        kept = None if records is None else bytes(records)
        at = None
        try:
            if kept is not None and _is_transactional(kept):
                header = read_header(kept)
                partition = self._node.partitions.hosted(name, topic_id, index)
                partition.check_leader()
                at = len(self._batches)
                self._batches.append(
                    ToAppend(
                        partition.topic_partition,
                        partition.log.producers,
                        header.producer_id,
                        header.producer_epoch,
                        header.base_sequence,
                    )
                )
        except (Refused, Corrupt):
            pass  # the append finds the same, and answers it
        self._rows.append((name, topic_id, index, kept, at))

    def _verified(self, results: Sequence[Verified]) -> None:
        appending = _Appending(self._node, self._call)
        for (name, topic_id), rows in groupby(self._rows, key=lambda row: row[:2]):
            appending.begin_topic(name, topic_id)
            for _, _, index, records, at in rows:
                result = None if at is None else results[at]
                view = None if records is None else memoryview(records)
                appending.append(name, topic_id, index, view, result)
        answer = appending.answer()
        if isinstance(answer, Later):
            answer.when_resolved(lambda answered: self._later.resolve(answered.answer))
        else:
            self._later.resolve(answer)


class _Appending:
    """The rows of one answer, and the acknowledgements it still waits for: usually none."""

    __slots__ = ("_acks", "_call", "_later", "_node", "_rows", "_timer", "topics")

    def __init__(self, node: "BrokerRole", call: Call[Any]) -> None:
        self.topics: list[tuple[str | None, Any, list[ProducedPartition]]] = []
        self._rows: list[ProducedPartition] = []
        self._node = node
        self._call = call
        self._later: Later | None = None
        self._timer: Any = None
        self._acks: dict[int, tuple[Partition, Any]] = {}

    def begin_topic(self, name: str | None, topic_id: Any) -> None:
        self._rows = []
        self.topics.append((name, topic_id, self._rows))

    def append(
        self,
        name: str | None,
        topic_id: Any,
        index: int,
        records: memoryview | bytes | None,
        verified: Verified,
    ) -> None:
        """Append to one partition; its row is filled now, or when it is acknowledged."""
        node, call, rows = self._node, self._call, self._rows
        acks = call.body.acks
        if isinstance(verified, Refused):
            rows.append(_refused(index, verified.code, message=verified.message))
            return
        try:
            partition = node.partitions.hosted(name, topic_id, index)
            if partition.is_internal and call.client_id != _ADMIN_CLIENT_ID:
                raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
            if records is None or not len(records):
                raise NotOneBatch("the partition has no record batch")
            if call.version < _FIRST_WITH_ZSTD and _is_zstd(records):
                raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
            batch = memoryview(records)
            base_offset = partition.append_plain(
                batch,
                node.clock.wall(),
                may_be_transactional=call.body.transactional_id is not None,
            )
            if base_offset is not None:
                start = partition.log.log_start_offset
                rows.append(ProducedPartition(index, ErrorCode.NONE, base_offset, -1, start))
                return
            partition.check_leader()
            info = partition.append(batch, needs_all=acks == ALL, guard=verified)
        except RecordsRefused as refused:
            errors, start = refused.record_errors, partition.log.log_start_offset
            rows.append(_refused(index, refused.code, start, errors, refused.message))
        except NotOneBatch as refused:
            rows.append(_refused(index, refused.code))
        except Refused as refused:
            told = refused.code not in _START_UNTOLD
            start = partition.log.log_start_offset if told else -1
            leader = _leader_hint(node, name, topic_id, index, refused)
            rows.append(_refused(index, refused.code, start, leader=leader))
        except DiskFailed as failed:
            node.directory_failed(failed)
            rows.append(_refused(index, ErrorCode.KAFKA_STORAGE_ERROR))
        else:
            rows.append(
                ProducedPartition(
                    index,
                    ErrorCode.NONE,
                    info.first_offset,
                    info.log_append_time_ms,
                    info.log_start_offset,
                    (),
                    None,
                    None,
                )
            )
            if acks != NONE:
                self._for_ack(partition, info, rows, len(rows) - 1)

    def _for_ack(
        self, partition: Partition, info: AppendInfo, rows: list[ProducedPartition], at: int
    ) -> None:
        when = partition.when_committed if self._call.body.acks == ALL else partition.when_durable
        ticket = len(self._acks)
        then = partial(self._acknowledged, ticket, rows, at)
        self._acks[ticket] = (partition, then)
        when(info.last_offset + 1, then)

    def _acknowledged(
        self, ticket: int, rows: list[ProducedPartition], at: int, code: ErrorCode
    ) -> None:
        if self._acks.pop(ticket, None) is None:
            return
        if code:
            rows[at] = rows[at]._replace(error_code=code, base_offset=-1)
        if not self._acks and self._later is not None:
            self._timer.cancel()
            self._later.resolve(_answer(self._call, self.topics))

    def answer(self) -> Answer:
        if not self._acks:
            return _answer(self._call, self.topics)
        self._later = Later()
        deadline = after(self._call.received, self._call.body.timeout_ms)
        self._timer = self._node.clock.call_at(deadline, self._time_is_up)
        return self._later

    def _time_is_up(self) -> None:
        """What is not acknowledged by now times out; the records stay in the log."""
        for partition, then in list(self._acks.values()):
            partition.forget_ack(then)
            then(ErrorCode.REQUEST_TIMED_OUT)


def _answer(
    call: Call[Any], topics: list[tuple[str | None, Any, list[ProducedPartition]]]
) -> Resolved:
    if call.body.acks == NONE:
        failed = [row for _, _, rows in topics for row in rows if row.error_code]
        if failed:
            # The producer asked for no answer: closing is all Kafka has to tell it by.
            code = ErrorCode(failed[0].error_code).name
            return Hangup(f"Produce with acks=0 failed with {code} and has no response to say so")
        return None
    return Encoded((pack_produce_response(call.version, call.correlation_id, topics),))


def _refuse_all(
    request: Any, code: ErrorCode, message: str | None = None
) -> list[tuple[str | None, Any, list[ProducedPartition]]]:
    return [
        (name, topic_id, [_refused(index, code, message=message) for index, _ in partitions])
        for name, topic_id, partitions in request.topics
    ]


def _refused(
    index: int,
    code: ErrorCode,
    log_start_offset: int = -1,
    record_errors: Sequence[tuple[int, str | None]] = (),
    message: str | None = None,
    leader: tuple[int, int] | None = None,
) -> ProducedPartition:
    """A sentence only where Kafka says one: about single records, and about transactions."""
    return ProducedPartition(index, code, -1, -1, log_start_offset, record_errors, message, leader)


def _leader_hint(
    node: "BrokerRole", name: str | None, topic_id: Any, index: int, refused: Refused
) -> tuple[int, int] | None:
    """v10+ (KIP-951): whoever asked the wrong node is told the right one."""
    if refused.code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return None
    return node.partitions.current_leader(name, topic_id, index)
