"""Produce, v3-13 (0-2 are advertised, as Kafka does for old librdkafka, and refused).

v8 adds record errors, v10 the current leader, v13 topic ids instead of names.
Per partition: find it, append, and acknowledge as `acks` asks:
0 no response, 1 when this node has it, -1 when every in-sync replica has it.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.call import Answer, Call, Encoded, Hangup, Later
from kafkapy.broker.partition import Partition
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.time import later as after
from kafkapy.log.append import AppendInfo, RecordsRefused
from kafkapy.protocol.produce_response import ProducedPartition, pack_produce_response

if TYPE_CHECKING:
    from kafkapy.broker.node import Node

ALL, NONE = -1, 0
# Only Kafka's own admin client may write to internal topics (kafka-console tools do).
_ADMIN_CLIENT_ID = "__admin_client"


def handle(node: "Node", call: Call) -> Answer:
    request = call.body
    acks = request.acks
    if acks not in (ALL, NONE, 1):
        return _answer(call, _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS))
    waiting = _Waiting(node, call)
    for name, topic_id, partitions in request.topics:
        rows: list[ProducedPartition] = []
        waiting.topics.append((name, topic_id, rows))
        for index, records in partitions:
            _produce(node, call, waiting, rows, name, topic_id, index, records)
    return waiting.answer()


def _produce(
    node: "Node",
    call: Call,
    waiting: "_Waiting",
    rows: list[ProducedPartition],
    name: str | None,
    topic_id: Any,
    index: int,
    records: memoryview | None,
) -> None:
    """Append to one partition; its row is filled now, or when it is acknowledged."""
    acks = call.body.acks
    try:
        partition = node.partitions.find_to_write(name, topic_id, index)
        if partition.is_internal and call.client_id != _ADMIN_CLIENT_ID:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
        if records is None or not len(records):
            raise Refused(ErrorCode.INVALID_RECORD, "the partition has no record batch")
        partition.check_leader()
        info = partition.append(records, needs_all=acks == ALL)
    except RecordsRefused as refused:
        rows.append(_refused(index, refused, refused.record_errors))
    except Refused as refused:
        rows.append(
            _refused(index, refused, (), _leader_hint(node, name, topic_id, index, refused))
        )
    except DiskFailed as failed:
        node.directory_failed(failed)
        rows.append(_refused(index, Refused(ErrorCode.KAFKA_STORAGE_ERROR)))
    else:
        at = len(rows)
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
            waiting.for_ack(partition, info, rows, at)


class _Waiting:
    """The acknowledgements one request still waits for; usually there are none."""

    __slots__ = ("_acks", "_call", "_later", "_node", "_timer", "topics")

    def __init__(self, node: "Node", call: Call) -> None:
        self.topics: list[tuple[str | None, Any, list[ProducedPartition]]] = []
        self._node = node
        self._call = call
        self._later: Later | None = None
        self._timer: Any = None
        self._acks: dict[int, tuple[Partition, Any]] = {}

    def for_ack(
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


def _answer(call: Call, topics: list[tuple[str | None, Any, list[ProducedPartition]]]) -> Answer:
    if call.body.acks == NONE:
        failed = [row for _, _, rows in topics for row in rows if row.error_code]
        if failed:
            # The producer asked for no answer: closing is all Kafka has to tell it by.
            code = ErrorCode(failed[0].error_code).name
            return Hangup(f"Produce with acks=0 failed with {code} and has no response to say so")
        return None
    return Encoded((pack_produce_response(call.version, call.correlation_id, topics),))


def _refuse_all(
    request: Any, code: ErrorCode
) -> list[tuple[str | None, Any, list[ProducedPartition]]]:
    return [
        (name, topic_id, [_refused(index, Refused(code)) for index, _ in partitions])
        for name, topic_id, partitions in request.topics
    ]


def _refused(
    index: int, refused: Refused, record_errors: Any = (), leader: Any = None
) -> ProducedPartition:
    log_start_offset = refused.log_start_offset if isinstance(refused, RecordsRefused) else -1
    return ProducedPartition(
        index, refused.code, -1, -1, log_start_offset, record_errors, refused.message, leader
    )


def _leader_hint(
    node: "Node", name: str | None, topic_id: Any, index: int, refused: Refused
) -> tuple[int, int] | None:
    """v10+ (KIP-951): whoever asked the wrong node is told the right one."""
    if refused.code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return None
    return node.partitions.current_leader(name, topic_id, index)
