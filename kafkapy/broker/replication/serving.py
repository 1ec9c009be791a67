"""A follower's fetches at its leader: a session is a standing watcher.

    fetch (what changed at the follower) --> progress, high watermark --> what is there for it
      nothing   --> it waits; an append to any of its partitions tells the session so
      something --> at the end of the turn an answer, built from what has changed alone

A session of thousands of partitions costs what goes on in them, not what it names: the
partitions that have something for the follower are in `_news`, put there by the appends
themselves. What does not fit into one answer stays there, before what comes later; nor does one
answer tell of more than some hundred partitions. A high watermark that moved is news that can wait
for the next answer, as at Apache Kafka (since KAFKA-9952): until something is written, or for
replica.fetch.wait.max.ms. formats/replication 1; KIP-227.
"""

from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkapy.broker.fetch.reading import Fetched, read_partition
from kafkapy.broker.fetch.sessions import Wanted
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.replication.throttle import ReplicationThrottle
from kafkapy.broker.requests.request import Answer, Call, Encoded, Later
from kafkapy.core.errors import ErrorCode
from kafkapy.core.seams import Rng, Timer
from kafkapy.core.time import later
from kafkapy.protocol.handwritten.fetch_response import (
    FetchedPartition,
    FetchedTopic,
    pack_fetch_response,
)

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import Fetches
    from kafkapy.protocol.handwritten.fetch_request import FetchRequestView

# From here on topics have ids, which a session goes by.
FIRST_VERSION: Final = 13
# A follower has one session for each of its fetchers (num.replica.fetchers); what it left
# behind makes room.
MOST_SESSIONS_OF_ONE: Final = 32
# Partitions in an answer: some milliseconds at either end.
MOST_ROWS: Final = 256
_NEW: Final = 0
_MAX_EPOCH: Final = 2**31 - 1
_Key = tuple[UUID | None, int]


class _Standing:
    """One partition of a session; it watches the end of the log as long as the session lives."""

    __slots__ = ("_session", "had_all", "has_more", "partition", "wanted")

    def __init__(self, session: "ReplicaSession", wanted: Wanted) -> None:
        self.wanted = wanted
        self.partition: Partition | None = None
        self.had_all = False  # that there was when it fetched last
        self.has_more = False  # than it has, or was sent
        self._session = session

    def on_more(self, mark: int, count_bytes: int) -> None:
        session = self._session
        if count_bytes:
            self.has_more = True
            if self.had_all and self.partition is not None:
                # Until now; and it said nothing about it.
                self.had_all = False
                self.partition.follower_was_caught_up(session.replica_id, session.fetched_at)
        session.heard(self, count_bytes)

    def on_offsets(self, mark: int) -> None:
        self._session.news[self] = None

    def watch(self, partition: Partition | None) -> None:
        if partition is not self.partition:
            self.leave()
            self.partition = partition
            if partition is not None:
                partition.end_watchers[self] = 0

    def leave(self) -> None:
        if self.partition is not None:
            self.partition.end_watchers.pop(self, None)
            self.partition = None


class ReplicaSession:
    """Of one follower. `epoch` is that of the request that comes next."""

    def __init__(
        self,
        node: "Fetches",
        session_id: int,
        replica_id: int,
        throttle: ReplicationThrottle | None,
    ) -> None:
        self.id = session_id
        self.replica_id = replica_id
        self.epoch = 1
        self.fetched_at = node.clock.now()
        # Partitions with something to tell, in the order in which they are served.
        self.news: dict[_Standing, None] = {}
        self._node = node
        self._throttle = throttle
        self._standing: dict[_Key, _Standing] = {}
        self._parked: _Parked | None = None
        self._has_left_over = False  # from the last answer, which told of enough
        # Where the follower left those in sync: its next fetch says that it lives.
        self._has_left: dict[_Standing, None] = {}

    def fetch(self, call: "Call[FetchRequestView]") -> Answer:
        """Take in what changed at the follower; answer, or wait until there is something."""
        request = call.body
        self.give_up()
        self.fetched_at = call.received
        for _, topic_id, indexes in request.forgotten:
            for index in indexes:
                self._forget((topic_id, index))
        is_urgent = self._has_left_over
        for _, topic_id, rows in request.topics:
            for row in rows:
                is_urgent |= self._hear(call, Wanted(None, topic_id, *row[:6]))
        if self._has_left:
            self._lives(request.replica_epoch)
        # What came between its last answer and this, or did not fit, has waited long enough.
        is_urgent = is_urgent or any(
            one.has_more and not self._must_wait(one.partition) for one in self.news
        )
        if is_urgent or request.max_wait_ms <= 0:
            return self.answer(call)
        self._parked = _Parked(self._node, self, call)
        return self._parked.later

    def _hear(self, call: "Call[FetchRequestView]", wanted: Wanted) -> bool:
        """How far the follower is in one partition; whether there is something for it now."""
        key = (wanted.topic_id, wanted.index)
        standing = self._standing.get(key)
        if standing is None:
            standing = self._standing[key] = _Standing(self, wanted)
        else:
            wanted.told_high_watermark = standing.wanted.told_high_watermark
            wanted.told_log_start_offset = standing.wanted.told_log_start_offset
            standing.wanted = wanted
        found = read_partition(
            self._node, call.body, wanted, 0, is_first=False, heard_at=call.received
        )
        standing.watch(found.partition)
        row, partition = found.row, found.partition
        has_more = standing.has_more = _has_more(partition, wanted)
        standing.had_all = partition is not None and not has_more
        if has_more or _is_news(wanted, row):
            self.news[standing] = None
        else:
            self.news.pop(standing, None)
        return (has_more and not self._must_wait(partition)) or partition is None

    def left(self, key: _Key) -> None:
        standing = self._standing.get(key)
        if standing is not None:
            self._has_left[standing] = None

    def _lives(self, broker_epoch: int) -> None:
        left, self._has_left = self._has_left, {}
        for standing in left:
            if standing.partition is not None:
                standing.partition.follower_lives(self.replica_id, broker_epoch)

    def _must_wait(self, partition: Partition | None) -> bool:
        """Too much went to replicas like this one lately (KIP-73)."""
        throttle = self._throttle
        return (
            throttle is not None
            and partition is not None
            and throttle.holds(partition.topic_partition)
            and self.replica_id not in partition.isr
            and throttle.is_exceeded
        )

    def _forget(self, key: _Key) -> None:
        standing = self._standing.pop(key, None)
        if standing is not None:
            standing.leave()
            self.news.pop(standing, None)
            self._has_left.pop(standing, None)

    def heard(self, standing: _Standing, count_bytes: int) -> None:
        """Appended to; or, with 0 bytes, it is not what it was."""
        self.news[standing] = None
        if self._parked is not None and not (count_bytes and self._must_wait(standing.partition)):
            self._parked.heard(count_bytes)

    def answer(self, call: "Call[FetchRequestView]") -> Encoded:
        """What there is to tell, as far as it fits; the rest is told next time.

        The first answer of a session names every partition of it, with or without records: Apache
        Kafka's followers throw away one that does not, and ask the same again, for ever.
        """
        request = call.body
        is_whole = request.session_epoch == _NEW
        left = min(request.max_bytes, self._node.config.fetch_max_bytes)
        size = 0
        count = 0
        has_room = True
        self._has_left_over = False
        topics: dict[UUID | None, list[FetchedPartition]] = {}
        for standing in list(self._standing.values() if is_whole else self.news):
            if count >= MOST_ROWS and not is_whole:
                self._has_left_over = True
                break
            wanted = standing.wanted
            if not has_room or self._must_wait(standing.partition):
                if not is_whole:
                    continue
                row = self._without_records(call, standing)
            else:
                most = min(left, wanted.max_bytes)
                found = self._read(call, standing, most, is_first=not size)
                if size and _has_more(found.partition, wanted) and not 0 < found.size < most:
                    # There is no room for it, or its last batch is cut off: it is the first next
                    # time, when a batch of any size finds room.
                    found.release()
                    if not is_whole:
                        break
                    has_room = False
                    row = self._without_records(call, standing)
                else:
                    self.news.pop(standing, None)
                    standing.has_more = False
                    if found.size:
                        standing.had_all = False
                    row = found.row
                    size += found.size
                    left -= found.size
                    self._count(standing.partition, found.size)
            if is_whole or row.slices or _is_news(wanted, row):
                count += 1
                topics.setdefault(wanted.topic_id, []).append(row)
                wanted.told_high_watermark = row.high_watermark
                wanted.told_log_start_offset = row.log_start_offset
        told: list[FetchedTopic] = [(None, topic_id, rows) for topic_id, rows in topics.items()]
        parts = pack_fetch_response(
            call.version, call.correlation_id, topics=told, session_id=self.id
        )
        return Encoded(parts)

    def _read(
        self, call: "Call[FetchRequestView]", standing: _Standing, most: int, *, is_first: bool
    ) -> Fetched:
        # Who was refused is asked again who it is: it is no replica yet, or it is by now.
        heard_at = None if standing.partition is not None else call.received
        found = read_partition(
            self._node, call.body, standing.wanted, most, is_first=is_first, heard_at=heard_at
        )
        standing.watch(found.partition or standing.partition)
        return found

    def _without_records(
        self, call: "Call[FetchRequestView]", standing: _Standing
    ) -> FetchedPartition:
        """It stays in the news if it has more than this tells."""
        found = self._read(call, standing, 0, is_first=False)
        if not _has_more(found.partition, standing.wanted):
            self.news.pop(standing, None)
        return found.row

    def _count(self, partition: Partition | None, size: int) -> None:
        throttle = self._throttle
        if (
            size
            and throttle is not None
            and partition is not None
            and throttle.holds(partition.topic_partition)
        ):
            throttle.record(size)

    def give_up(self) -> None:
        """Whoever waits has asked anew, or is gone."""
        if self._parked is not None:
            self._parked.leave()
            self._parked = None

    def is_parked(self, parked: "_Parked") -> bool:
        return self._parked is parked

    def resolve(self) -> None:
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.leave()
            parked.later.resolve(self.answer(parked.call))

    def close(self) -> None:
        self.give_up()
        for key in list(self._standing):
            self._forget(key)


class _Parked:
    """A fetch that found nothing, until there is enough, or its time is up."""

    __slots__ = ("_is_woken", "_missing_bytes", "_node", "_session", "_timer", "call", "later")

    def __init__(
        self, node: "Fetches", session: ReplicaSession, call: "Call[FetchRequestView]"
    ) -> None:
        self.call = call
        self.later = Later()
        self._node = node
        self._session = session
        self._missing_bytes = call.body.min_bytes
        self._is_woken = False
        deadline = later(call.received, call.body.max_wait_ms)
        self._timer: Timer = node.clock.call_at(deadline, session.resolve)
        call.peer.on_close.append(session.give_up)

    def heard(self, count_bytes: int) -> None:
        self._missing_bytes -= count_bytes
        if self._is_woken or (self._missing_bytes > 0 and count_bytes):
            return
        self._is_woken = True
        # What else is appended in this turn goes along.
        self._node.turn.at_end(self._look)

    def _look(self) -> None:
        if not self.later.is_resolved and self._session.is_parked(self):
            self._session.resolve()

    def leave(self) -> None:
        self._timer.cancel()
        self.call.peer.on_close.remove(self._session.give_up)


class ReplicaSessions:
    """All followers' sessions on this node."""

    def __init__(self, rng: Rng, throttle: ReplicationThrottle | None = None) -> None:
        self._rng = rng
        self._throttle = throttle
        self._sessions: dict[int, ReplicaSession] = {}
        self._of_replica: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def fetch(self, node: "Fetches", call: "Call[FetchRequestView]") -> Answer:
        """A request with a session epoch of 0 or more: in a new session or a known one."""
        request = call.body
        if request.session_epoch == _NEW:
            self._close(request.replica_id, request.session_id)
            session = self._open(node, request.replica_id)
        else:
            known = self._sessions.get(request.session_id)
            if known is None:
                return _refused(call, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            if known.epoch != request.session_epoch:
                return _refused(call, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            session = known
            session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        return session.fetch(call)

    def hurry(self, replicas: set[int]) -> None:
        """Answer what these have parked: there is something new that they may ask for."""
        for replica in replicas:
            for session_id in self._of_replica.get(replica, ()):
                self._sessions[session_id].resolve()

    def left(self, partition: Partition, replicas: list[int]) -> None:
        """They are not in sync any more; whoever fetches on lives."""
        key = (partition.topic_id, partition.topic_partition.partition)
        for replica in replicas:
            for session_id in self._of_replica.get(replica, ()):
                self._sessions[session_id].left(key)

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._of_replica.clear()

    def _open(self, node: "Fetches", replica_id: int) -> ReplicaSession:
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = self._rng.below(_MAX_EPOCH)
        session = self._sessions[session_id] = ReplicaSession(
            node, session_id, replica_id, self._throttle
        )
        of_replica = self._of_replica.setdefault(replica_id, [])
        of_replica.append(session_id)
        if len(of_replica) > MOST_SESSIONS_OF_ONE:
            self._close(replica_id, of_replica[0])
        return session

    def _close(self, replica_id: int, session_id: int) -> None:
        of_replica = self._of_replica.get(replica_id, [])
        if session_id in of_replica:
            of_replica.remove(session_id)
            self._sessions.pop(session_id).close()


def _has_more(partition: Partition | None, wanted: Wanted) -> bool:
    return partition is not None and partition.log.log_end_offset > wanted.fetch_offset


def _is_news(wanted: Wanted, row: FetchedPartition) -> bool:
    return bool(
        row.error_code
        or row.diverging_epoch is not None
        or row.high_watermark != wanted.told_high_watermark
        or row.log_start_offset != wanted.told_log_start_offset
    )


def _refused(call: "Call[FetchRequestView]", code: ErrorCode) -> Encoded:
    parts = pack_fetch_response(call.version, call.correlation_id, topics=(), error_code=code)
    return Encoded(parts)
