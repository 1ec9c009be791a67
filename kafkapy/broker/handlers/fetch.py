"""Fetch, v4-18.

v7 fetch sessions (KIP-227), v9 leader epochs, v11 rack, v12 diverging epochs, v13 topic
ids, v15 replica state as a tag, v16 leaders and their endpoints (KIP-951), v18 high watermark
of KRaft replicas.

Followers fetch in sessions of their own (broker/replication/serving.py).

A fetch that finds less than `min_bytes` is parked: it watches its partitions, and at the end
of the turn (core/turn.py) in which one of them got more, those that did are read again.
"""

from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.fetch.nearer_replicas import nearer_replicas
from kafkapy.broker.fetch.permission import ask_permission, may_replicate
from kafkapy.broker.fetch.reading import Fetched, read_partition
from kafkapy.broker.fetch.sessions import Fetching, Key, Wanted
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.replication.serving import FIRST_VERSION
from kafkapy.broker.requests.request import Answer, Call, Encoded, Later
from kafkapy.core.errors import Refused
from kafkapy.core.limits import FETCH_ANSWER_BYTES
from kafkapy.core.time import Instant
from kafkapy.core.time import later as after
from kafkapy.protocol.handwritten.fetch_response import (
    FetchedPartition,
    NodeEndpoint,
    pack_fetch_response,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkapy.broker.requests.needs import Fetches
    from kafkapy.protocol.handwritten.fetch_request import FetchRequestView

_FIRST_WITH_LEADERS: Final = 16


def handle(node: "Fetches", call: "Call[FetchRequestView]") -> Answer:
    is_replica = call.body.replica_id >= 0
    # Who only says that it is one goes on below, and is refused by partition.
    if (
        is_replica
        and call.version >= FIRST_VERSION
        and call.body.session_epoch >= 0
        and (node.authorizer is None or may_replicate(node, call))
    ):
        return node.replica_sessions.fetch(node, call)
    try:
        fetching = node.fetch_sessions.begin(call.body, call.version, call.received)
    except Refused as refused:
        return _packed(call, [], error_code=refused.code)
    if node.authorizer is not None:
        ask_permission(node, call, fetching)
    fetch = _Fetch(node, call, fetching)
    # Of replicas this says how far they are; when they are read again it is no news.
    fetch.read(range(len(fetching.wanted)), heard_at=call.received if is_replica else None)
    if fetch.has_enough or call.body.max_wait_ms <= 0:
        return fetch.answer()
    return fetch.park()


class _Fetch:
    """One fetch request, read once, perhaps parked and read again."""

    __slots__ = (
        "_call",
        "_fetched",
        "_fetching",
        "_is_parked",
        "_is_woken",
        "_later",
        "_max_bytes",
        "_min_bytes",
        "_missing_bytes",
        "_nearer",
        "_node",
        "_outdated",
        "_read_bytes",
        "_timer",
        "_wanted",
        "_watched",
        "has_enough",
    )

    def __init__(self, node: "Fetches", call: "Call[FetchRequestView]", fetching: Fetching) -> None:
        request = call.body
        self._node = node
        self._call = call
        self._fetching = fetching
        self._wanted: list[Wanted] = list(fetching.wanted.values())
        # What each of these gave, by its position among them.
        self._fetched: dict[int, Fetched] = {}
        self._max_bytes = min(request.max_bytes, node.config.fetch_max_bytes)
        if request.replica_id < 0:
            self._max_bytes = min(self._max_bytes, max(FETCH_ANSWER_BYTES, request.min_bytes))
            quotas = node.quotas
            if quotas is not None:
                most = quotas.account(call.peer, call.client_id).most_fetched
                self._max_bytes = self._max_bytes if most is None else min(self._max_bytes, most)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._read_bytes = 0
        self._nearer = (
            nearer_replicas(node, call.peer.listener, request.rack, call.received)
            if request.rack and request.replica_id < 0
            else None
        )
        # Nothing to read: nothing to wait for.
        self.has_enough = not self._wanted
        self._is_parked = self._is_woken = False

    # --- reading ---

    def read(self, positions: "range | list[int]", heard_at: Instant | None = None) -> None:
        """Read these anew; the others are as they were, and gave nothing."""
        node, request, fetched = self._node, self._call.body, self._fetched
        size = 0
        for at in positions:
            wanted = self._wanted[at]
            max_bytes = min(self._max_bytes - size, wanted.max_bytes)
            one = fetched[at] = read_partition(
                node,
                request,
                wanted,
                max_bytes,
                is_first=not size,
                heard_at=heard_at,
                nearer=self._nearer,
            )
            size += one.size
            if one.partition is None:
                self.has_enough = True
        self._read_bytes = size
        if size >= self._min_bytes:
            self.has_enough = True

    # --- waiting ---

    def park(self) -> Later:
        call = self._call
        self._later = Later()
        deadline = after(call.received, call.body.max_wait_ms)
        self._timer = self._node.clock.call_at(deadline, self._time_is_up)
        call.peer.on_close.append(self._leave)
        self._is_parked = True
        self._watched: list[Partition] = []
        for at, one in self._fetched.items():
            assert one.partition is not None, "what cannot be waited for is answered"
            self._watchers_of(one.partition)[self] = at
            self._watched.append(one.partition)
        self._wait()
        return self._later

    def _wait(self) -> None:
        """What is there already is read again when there is more."""
        self._is_woken = False
        self._missing_bytes = self._min_bytes - self._read_bytes
        self._outdated: set[int] = set()
        if self._read_bytes:
            for at, one in self._fetched.items():
                if one.size:
                    one.release()
                    self._outdated.add(at)

    def on_more(self, position: int, count_bytes: int) -> None:
        """A watched partition has more to read, or (0 bytes) is not what it was."""
        self._outdated.add(position)
        self._missing_bytes -= count_bytes
        if self._is_woken or (self._missing_bytes > 0 and count_bytes):
            return
        self._is_woken = True
        self._node.turn.at_end(self._look_again)

    def _look_again(self) -> None:
        if not self._is_parked:
            return
        self.read(sorted(self._outdated))
        if self.has_enough:
            self._resolve()
        else:
            self._wait()

    def _time_is_up(self) -> None:
        self.read(range(len(self._wanted)))
        self._resolve()

    def _resolve(self) -> None:
        self._call.peer.on_close.remove(self._leave)
        self._leave()
        self._later.resolve(self.answer())

    def _leave(self) -> None:
        """Nothing is waited for any more; the client may have gone."""
        self._is_parked = False
        self._timer.cancel()
        for partition in self._watched:
            del self._watchers_of(partition)[self]

    def _watchers_of(self, partition: Partition) -> Any:
        """Replicas wait for the log's end, consumers for the high watermark."""
        is_replica = self._call.body.replica_id >= 0
        return partition.end_watchers if is_replica else partition.watchers

    def on_offsets(self, mark: int) -> None:
        """A replica without a session hears of it in its next answer."""

    # --- answering ---

    def answer(self) -> Encoded:
        topics: dict[Any, tuple[Any, Any, list[FetchedPartition]]] = {}
        served: list[Key] = []
        is_full = self._fetching.is_full
        leaders: set[int] = set()
        is_consumers = self._call.body.replica_id < 0
        for at, wanted in enumerate(self._wanted):
            fetched = self._fetched[at]
            row = fetched.row
            name = wanted.topic if wanted.topic_id is None else wanted.topic_id
            if row.current_leader is not None:
                if self._call.version >= _FIRST_WITH_LEADERS:
                    leaders.add(row.current_leader[0])
                else:
                    row.current_leader = None
            if row.slices:
                served.append((name, wanted.index))
                if is_consumers and fetched.partition is not None:
                    fetched.partition.bytes_out += fetched.size
            if is_full or _is_news(wanted, row):
                topic = topics.get(name)
                if topic is None:
                    topic = topics[name] = (wanted.topic, wanted.topic_id, [])
                topic[2].append(row)
            wanted.told_high_watermark = row.high_watermark
            wanted.told_log_start_offset = row.log_start_offset
        self._fetching.rotate(served)
        # Replicas know from the metadata where brokers are.
        asks = leaders if is_consumers else set[int]()
        return _packed(
            self._call,
            list(topics.values()),
            session_id=self._fetching.session_id,
            node_endpoints=self._node.cluster.endpoints_of(asks, self._call.peer.listener),
        )


def _is_news(wanted: Wanted, row: FetchedPartition) -> bool:
    return bool(
        row.slices
        or row.error_code
        or row.diverging_epoch is not None
        or row.preferred_read_replica >= 0
        or row.high_watermark != wanted.told_high_watermark
        or row.log_start_offset != wanted.told_log_start_offset
    )


def _packed(
    call: "Call[FetchRequestView]",
    topics: list[Any],
    *,
    error_code: int = 0,
    session_id: int = 0,
    node_endpoints: "Sequence[NodeEndpoint]" = (),
) -> Encoded:
    parts = pack_fetch_response(
        call.version,
        call.correlation_id,
        error_code=error_code,
        session_id=session_id,
        throttle_time_ms=0,
        topics=topics,
        node_endpoints=node_endpoints,
    )
    return Encoded(parts)
