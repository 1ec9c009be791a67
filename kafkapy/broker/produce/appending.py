"""The rows of one Produce's answer, and the acknowledgements it still waits for: usually none.

Per partition: find it, ask its topic's hook if it has one, append, and acknowledge as `acks` asks:
0 no response, 1 when this node has it, -1 when every in-sync replica has it. A batch that would
hold the loop is examined in slices before that, as if there were a hook (hooks/produce.py).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkapy.broker.partitions.acknowledgements import Acknowledge
from kafkapy.broker.partitions.needs import HasHook
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.broker.transactions.verification import Verified
from kafkapy.core.errors import CannotEncode, DiskFailed, ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.core.time import later as after
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.log.append import AppendInfo, NotOneBatch, Origin, RecordsRefused, TooMuchAtOnce
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.protocol.batches.batch import CODEC_MASK, Codec
from kafkapy.protocol.handwritten.produce_response import (
    NodeEndpoint,
    ProducedPartition,
    pack_produce_response,
)

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import Appends
    from kafkapy.protocol.handwritten.produce_request import ProduceRequestView

ALL: Final = -1
NONE: Final = 0
_WRITE: Final = Operation.WRITE.value
_TOPIC: Final = ResourceType.TOPIC.value
_TRANSACTIONAL_ID: Final = ResourceType.TRANSACTIONAL_ID.value
# Only Kafka's own admin client may write to internal topics (kafka-console tools do).
_ADMIN_CLIENT_ID: Final = "__admin_client"
_FIRST_WITH_ZSTD: Final = 7
_ZSTD: Final = Codec.ZSTD.value
# Refusals that Kafka makes before it looks at the log, or that it tells nothing more about.
_START_UNTOLD: Final = frozenset(
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
_Topic = tuple[str | None, UUID | None, list[ProducedPartition]]


class Appending:
    """One request on its way into the logs. `now` is the time of its appends."""

    __slots__ = (
        "_acks",
        "_call",
        "_is_denied",
        "_later",
        "_leaders",
        "_node",
        "_now",
        "_rows",
        "_tickets",
        "_timer",
        "_topics",
    )

    def __init__(self, node: "Appends", call: "Call[ProduceRequestView]", now: Instant) -> None:
        self._topics: list[_Topic] = []
        self._rows: list[ProducedPartition] = []
        self._node = node
        self._call = call
        self._now = now
        self._is_denied = False
        self._later: Later | None = None
        self._timer: Any = None
        self._acks: dict[int, tuple[Partition, Any]] = {}
        self._tickets = 0
        self._leaders: set[int] = set()  # where some of it belongs instead

    def begin_topic(self, name: str | None, topic_id: UUID | None) -> None:
        """What comes now is of that topic."""
        self._rows = []
        self._topics.append((name, topic_id, self._rows))
        node = self._node
        if node.authorizer is not None:
            self._is_denied = not may_write(node, self._call.peer, name, topic_id)

    def append(
        self,
        index: int,
        records: memoryview | bytes | None,
        attributes: int | None,
        verified: Verified,
    ) -> None:
        """Append to one partition; its row is filled now, or when it is acknowledged.
        `attributes` are those of the first batch, if there is one."""
        node, call = self._node, self._call
        if self._is_denied:
            self._rows.append(refused_row(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            return
        if isinstance(verified, Refused):
            self._rows.append(refused_row(index, verified.code, message=verified.message))
            return
        name, topic_id, _ = self._topics[-1]
        partition: Partition | None = None
        try:
            partition = node.partitions.hosted(name, topic_id, index)
            if partition.is_internal and call.client_id != _ADMIN_CLIENT_ID:
                raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
            if records is None or not len(records):
                raise NotOneBatch("the partition has no record batch")
            if (
                call.version < _FIRST_WITH_ZSTD
                and attributes is not None
                and attributes & CODEC_MASK == _ZSTD
            ):
                raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
            partition.check_leader()
            hook = partition.hook
            if hook is not None:
                self._ask(hook, partition, memoryview(records), verified)
                return
            info = partition.append(
                memoryview(records),
                needs_all=call.body.acks == ALL,
                guard=verified,
                now=self._now,
            )
        except TooMuchAtOnce:
            assert partition is not None
            assert records is not None
            self.examine(partition, memoryview(records), verified)
        except (Refused, DiskFailed) as failed:
            self.failed(index, partition, failed)
        else:
            self.appended(index, partition, info)

    def appended(self, index: int, partition: Partition, info: AppendInfo) -> None:
        """It is in the log, and acknowledged now or later."""
        rows = self._rows
        rows.append(_appended_row(index, info))
        if partition.is_written_at_once or self._call.body.acks == NONE:
            return
        then = self._await(partition, self._topics[-1], len(rows) - 1)
        self._when(partition)(info.last_offset + 1, then)

    def _when(self, partition: Partition) -> Callable[[int, Acknowledge], None]:
        return partition.when_committed if self._call.body.acks == ALL else partition.when_durable

    def _await(self, partition: Partition, topic: _Topic, at: int) -> Acknowledge:
        """The answer waits for the row there, until what this returns is called."""
        ticket = self._tickets
        self._tickets = ticket + 1
        then = partial(self._acknowledged, ticket, topic, at)
        self._acks[ticket] = (partition, then)
        return then

    def examine(
        self, partition: Partition, records: memoryview, guard: VerificationGuard | None
    ) -> None:
        """It takes its time to look into them: they are appended later."""
        self._ask(self._node.hooks.examine(partition), partition, records, guard)

    def _ask(
        self,
        hook: HasHook,
        partition: Partition,
        records: memoryview,
        guard: VerificationGuard | None,
    ) -> None:
        """What the hook makes of them is appended, now or later."""
        topic, rows = self._topics[-1], self._rows
        at, ticket = len(rows), self._tickets
        rows.append(refused_row(partition.topic_partition.partition, ErrorCode.NONE))
        then = self._await(partition, topic, at)
        hook.submit(
            records,
            lambda: ticket in self._acks,
            lambda made: self._hooked(made, partition, guard, topic, at, then),
        )

    def _hooked(
        self,
        made: bytes | Refused,
        partition: Partition,
        guard: VerificationGuard | None,
        topic: _Topic,
        at: int,
        then: Acknowledge,
    ) -> None:
        index = partition.topic_partition.partition
        acks = self._call.body.acks
        try:
            if isinstance(made, Refused):
                raise made
            partition.check_leader()  # it may have taken its time
            info = partition.append(
                memoryview(made),
                origin=Origin.EXAMINED,
                needs_all=acks == ALL,
                guard=guard,
                now=self._node.clock.wall(),
            )
        except (Refused, DiskFailed) as failed:
            topic[2][at] = self._failed_row(topic, index, partition, failed)
            then(ErrorCode.NONE)
            return
        topic[2][at] = _appended_row(index, info)
        if acks == NONE:
            then(ErrorCode.NONE)
        else:
            self._when(partition)(info.last_offset + 1, then)

    def failed(self, index: int, partition: Partition | None, failed: Refused | DiskFailed) -> None:
        """Nothing of it is in the log."""
        self._rows.append(self._failed_row(self._topics[-1], index, partition, failed))

    def _failed_row(
        self, topic: _Topic, index: int, partition: Partition | None, failed: Refused | DiskFailed
    ) -> ProducedPartition:
        if isinstance(failed, DiskFailed):
            self._node.directory_failed(failed)
            return refused_row(index, ErrorCode.KAFKA_STORAGE_ERROR)
        code = failed.code
        if isinstance(failed, NotOneBatch):
            return refused_row(index, code)
        start = -1
        if partition is not None and code not in _START_UNTOLD:
            start = partition.log.log_start_offset
        if isinstance(failed, RecordsRefused):
            return refused_row(index, code, start, failed.record_errors, failed.message)
        leader = self._leader_hint(topic, index, code)
        return refused_row(index, code, start, leader=leader)

    def _leader_hint(self, topic: _Topic, index: int, code: ErrorCode) -> tuple[int, int] | None:
        """v10+ (KIP-951): whoever asked the wrong node is told the right one."""
        if code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return None
        leader = self._node.partitions.current_leader(topic[0], topic[1], index)
        if leader is not None:
            self._leaders.add(leader[0])
        return leader

    def _acknowledged(self, ticket: int, topic: _Topic, at: int, code: ErrorCode) -> None:
        if self._acks.pop(ticket, None) is None:
            return
        if code:
            rows = topic[2]
            leader = self._leader_hint(topic, rows[at].index, code)
            rows[at] = rows[at]._replace(error_code=code, base_offset=-1, current_leader=leader)
        if not self._acks and self._later is not None:
            self._timer.cancel()
            self._later.resolve(self._answer_now())

    def answer(self) -> Answer:
        """Once all partitions had their turn."""
        if not self._acks:
            return self._answer_now()
        self._later = Later()
        deadline = after(self._call.received, self._call.body.timeout_ms)
        self._timer = self._node.clock.call_at(deadline, self._time_is_up)
        return self._later

    def _answer_now(self) -> Resolved:
        endpoints: Sequence[NodeEndpoint] = ()
        if self._leaders:
            listener = self._call.peer.listener
            endpoints = self._node.cluster.endpoints_of(self._leaders, listener)
        return answer_of(self._call, self._topics, endpoints)

    def _time_is_up(self) -> None:
        """What is not acknowledged by now times out; the records stay in the log."""
        for partition, then in list(self._acks.values()):
            partition.forget_ack(then)
            then(ErrorCode.REQUEST_TIMED_OUT)


def _appended_row(index: int, info: AppendInfo) -> ProducedPartition:
    return ProducedPartition(
        index, ErrorCode.NONE, info.first_offset, info.log_append_time_ms, info.log_start_offset
    )


def may_write(node: "Appends", peer: Peer, name: str | None, topic_id: UUID | None) -> bool:
    """Whether this client may write to the topic. An id that nobody has is no topic: that is
    what it will hear."""
    authorizer = node.authorizer
    if authorizer is None:
        return True
    if topic_id is not None:
        topic = node.image.topics_by_id.get(topic_id)
        name = None if topic is None else topic.name
    return name is None or authorizer.allows(peer, _WRITE, _TOPIC, name)


def may_use(node: "Appends", peer: Peer, transactional_id: str) -> bool:
    authorizer = node.authorizer
    return authorizer is None or authorizer.allows(
        peer, _WRITE, _TRANSACTIONAL_ID, transactional_id
    )


def answer_of(
    call: "Call[ProduceRequestView]",
    topics: Sequence[tuple[str | None, UUID | None, Sequence[ProducedPartition]]],
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> Resolved:
    if call.body.acks == NONE:
        failed = [row for _, _, rows in topics for row in rows if row.error_code]
        if failed:
            # The producer asked for no answer: closing is all Kafka has to tell it by.
            code = ErrorCode(failed[0].error_code).name
            return Hangup(f"Produce with acks=0 failed with {code} and has no response to say so")
        return None
    try:
        frame = pack_produce_response(
            call.version, call.correlation_id, topics, node_endpoints=node_endpoints
        )
    except CannotEncode as unwritable:
        return Hangup(f"no answer can be written: {unwritable}")
    return Encoded((frame,))


def refused_row(
    index: int,
    code: ErrorCode,
    log_start_offset: int = -1,
    record_errors: Sequence[tuple[int, str | None]] = (),
    message: str | None = None,
    leader: tuple[int, int] | None = None,
) -> ProducedPartition:
    """A sentence only where Kafka says one: about single records, and about transactions."""
    return ProducedPartition(index, code, -1, -1, log_start_offset, record_errors, message, leader)
