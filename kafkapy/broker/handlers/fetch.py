"""Fetch, v4-18.

v7 fetch sessions (KIP-227), v9 leader epochs, v11 rack, v12 diverging epochs, v13 topic
ids, v15 replica state as a tag, v16 node endpoints, v18 high watermark of KRaft replicas.

A fetch that finds less than `min_bytes` is parked: it watches its partitions, and the
append that brings the missing bytes answers it on the spot.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.call import Answer, Call, Encoded, Later
from kafkapy.broker.fetch_sessions import Fetching, Key, Wanted
from kafkapy.broker.partition import Partition
from kafkapy.broker.wire import millis
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.time import later as after
from kafkapy.protocol.fetch_response import FetchedPartition, pack_fetch_response

if TYPE_CHECKING:
    from kafkapy.broker.node import Node

READ_COMMITTED = 1
CONSUMER = -1
_NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def handle(node: "Node", call: Call) -> Answer:
    request = call.body
    try:
        fetching = node.fetch_sessions.begin(request, call.version, call.received)
    except Refused as refused:
        return _packed(call, [], error_code=refused.code)
    fetch = _Fetch(node, call, fetching)
    fetch.read()
    if fetch.has_enough or fetch.max_wait_ms <= 0:
        return fetch.answer()
    return fetch.park()


class _Fetch:
    """One fetch request, read once, perhaps parked and read again."""

    __slots__ = (
        "_call",
        "_fetching",
        "_later",
        "_max_bytes",
        "_min_bytes",
        "_missing_bytes",
        "_must_answer",
        "_node",
        "_read_bytes",
        "_replica_id",
        "_results",
        "_timer",
        "_watched",
        "max_wait_ms",
    )

    def __init__(self, node: "Node", call: Call, fetching: Fetching) -> None:
        request = call.body
        self._node = node
        self._call = call
        self._fetching = fetching
        self._min_bytes = request.min_bytes
        self.max_wait_ms = millis(request.max_wait)
        self._max_bytes = min(request.max_bytes, node.config.fetch_max_bytes)
        self._replica_id = (
            request.replica_state.replica_id if call.version >= 15 else request.replica_id
        )
        self._results: list[tuple[Wanted, FetchedPartition]] = []
        self._read_bytes = 0
        self._must_answer = False
        self._missing_bytes = 0
        self._watched: list[Partition] = []
        self._later: Later | None = None
        self._timer: Any = None

    # --- reading ---

    def read(self) -> None:
        self._results, self._watched = [], []
        self._read_bytes, self._must_answer = 0, not self._fetching.wanted
        left = self._max_bytes
        for wanted in self._fetching.wanted.values():
            result = self._read_partition(wanted, left)
            size = _size(result)
            self._read_bytes += size
            left = max(0, left - size)
            if result.error_code or result.diverging_epoch is not None:
                self._must_answer = True
            self._results.append((wanted, result))

    def _read_partition(self, wanted: Wanted, left: int) -> FetchedPartition:
        result = FetchedPartition(wanted.index)
        try:
            self._fill(result, wanted, left)
        except Refused as refused:
            return _refused(wanted, refused.code, result.current_leader)
        except DiskFailed as failed:
            self._node.directory_failed(failed)
            return _refused(wanted, ErrorCode.KAFKA_STORAGE_ERROR, None)
        return result

    def _fill(self, result: FetchedPartition, wanted: Wanted, left: int) -> None:
        partitions = self._node.partitions
        partition = partitions.find_to_read(wanted.topic, wanted.topic_id, wanted.index)
        try:
            partition.check_leader(wanted.current_leader_epoch)
        except Refused as refused:
            if refused.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
                result.current_leader = (partition.leader, partition.leader_epoch)
            raise
        log = partition.log
        is_committed_only = self._call.body.isolation_level == READ_COMMITTED
        upper = log.last_stable_offset if is_committed_only else log.high_watermark
        if self._replica_id >= 0:
            upper = log.log_end_offset
        result.high_watermark = log.high_watermark
        result.last_stable_offset = log.last_stable_offset
        result.log_start_offset = log.log_start_offset
        offset = wanted.fetch_offset
        if wanted.last_fetched_epoch >= 0 and self._diverges(result, partition, wanted):
            return
        if not log.log_start_offset <= offset <= log.log_end_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        self._watched.append(partition)
        result.aborted_transactions = [] if is_committed_only else None
        limit = min(left, wanted.max_bytes)
        is_first = self._read_bytes == 0
        if offset >= upper or (limit <= 0 and not is_first):
            return
        read = log.read(offset, limit, upper=upper, min_one_batch=is_first)
        result.slices = read.slices
        if is_committed_only and read.size:
            result.aborted_transactions = log.aborted_transactions(offset, upper)

    def _diverges(self, result: FetchedPartition, partition: Partition, wanted: Wanted) -> bool:
        """The client's last record is not on our log: tell it where the logs part."""
        epoch, end_offset = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
        if end_offset < 0 or wanted.fetch_offset < partition.log.log_start_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
            result.diverging_epoch = (epoch, end_offset)
            return True
        return False

    @property
    def has_enough(self) -> bool:
        return self._must_answer or self._read_bytes >= self._min_bytes

    # --- waiting ---

    def park(self) -> Later:
        self._later = Later()
        deadline = after(self._call.received, self.max_wait_ms)
        self._timer = self._node.clock.call_at(deadline, self._finish)
        self._call.peer.on_close.append(self._abandon)
        self._watch()
        return self._later

    def _watch(self) -> None:
        self._missing_bytes = self._min_bytes - self._read_bytes
        self._release()
        for partition in self._watched:
            partition.watchers.add(self)

    def on_more(self, count_bytes: int) -> None:
        """A watched partition has more to read, or (0 bytes) is not what it was."""
        self._missing_bytes -= count_bytes
        if self._missing_bytes > 0 and count_bytes:
            return
        watched = self._watched
        self.read()
        if self.has_enough:
            self._watched += watched
            self._resolve()
        else:
            for partition in watched:
                partition.watchers.discard(self)
            self._watch()

    def _finish(self) -> None:
        watched = self._watched
        self.read()
        self._watched += watched
        self._resolve()

    def _abandon(self) -> None:
        self._timer.cancel()
        for partition in self._watched:
            partition.watchers.discard(self)
        self._release()

    def _resolve(self) -> None:
        self._timer.cancel()
        self._call.peer.on_close.remove(self._abandon)
        for partition in self._watched:
            partition.watchers.discard(self)
        assert self._later is not None, "only a parked fetch is resolved"
        self._later.resolve(self.answer())

    def _release(self) -> None:
        """What was read before parking is read again when there is more."""
        for _, result in self._results:
            for one in result.slices:
                if not isinstance(one, bytes | memoryview):
                    one.release()
        self._results = []

    # --- answering ---

    def answer(self) -> Encoded:
        topics: dict[Any, tuple[Any, Any, list[FetchedPartition]]] = {}
        served: list[Key] = []
        is_full = self._fetching.is_full
        for wanted, result in self._results:
            name = wanted.topic if wanted.topic_id is None else wanted.topic_id
            if result.slices:
                served.append((name, wanted.index))
            if is_full or _is_news(wanted, result):
                row = topics.get(name)
                if row is None:
                    row = topics[name] = (wanted.topic, wanted.topic_id, [])
                row[2].append(result)
            wanted.told_high_watermark = result.high_watermark
            wanted.told_log_start_offset = result.log_start_offset
        self._fetching.rotate(served)
        return _packed(self._call, list(topics.values()), session_id=self._fetching.session_id)


def _refused(
    wanted: Wanted, code: ErrorCode, current_leader: tuple[int, int] | None
) -> FetchedPartition:
    """Nothing but the code; of what is not there at all, no list of aborted transactions
    is an empty one instead of null, as Kafka has it."""
    result = FetchedPartition(wanted.index, code, current_leader=current_leader)
    if code in _NOT_THERE:
        result.aborted_transactions = ()
    return result


def _size(result: FetchedPartition) -> int:
    return sum(
        len(one) if isinstance(one, bytes | memoryview) else one.length for one in result.slices
    )


def _is_news(wanted: Wanted, result: FetchedPartition) -> bool:
    return bool(
        result.slices
        or result.error_code
        or result.diverging_epoch is not None
        or result.preferred_read_replica >= 0
        or result.high_watermark != wanted.told_high_watermark
        or result.log_start_offset != wanted.told_log_start_offset
    )


def _packed(call: Call, topics: list[Any], *, error_code: int = 0, session_id: int = 0) -> Encoded:
    parts = pack_fetch_response(
        call.version,
        call.correlation_id,
        error_code=error_code,
        session_id=session_id,
        throttle_time_ms=0,
        topics=topics,
        node_endpoints=(),
    )
    return Encoded(parts)
