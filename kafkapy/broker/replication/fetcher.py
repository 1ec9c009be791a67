"""Follows one leader for all partitions that it leads and this node replicates.

    fetch (a session: what has changed since the last one) --> parked at the leader --> answer
      ^                                                                                  |
      |   records: append as they came; then, in the same turn, ask on from there        |
      +---------------------------------- diverging: cut, and ask again <----------------+

One fetch is under way at a time, and it costs what has changed, not what is followed: partitions
whose logs are not what the leader was told of are in `_changed`. It tells the leader how far each
log is, so it leaves at the end of the turn in which that was appended (core/network.py) and never
before it is written; nor, where the topic wants acknowledged records on the disk (flush.messages),
before they are there: the leader takes it for an acknowledgement. While some are on their way to
the disk no fetch is parked for long, or it would keep that acknowledgement waiting. Where thousands
have changed, as when all that a broker led is led by the next one, a request names some of them and
does not wait: the next follows at once. A partition that has a trouble
of its own rests, shortly at first (its leader may hear of its election later than we do), for
replica.fetch.backoff.ms in the end; the others go on. formats/replication 1 and 4; KIP-227,
KIP-595.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol
from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.broker.replication.lost_touch import AsksLeader, LostTouch
from kafkapy.broker.replication.messages import FETCH_VERSIONS, Limits, fetch_body, read_answer
from kafkapy.broker.replication.throttle import ReplicationThrottle
from kafkapy.broker.replication.truncation import truncation_offset
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode
from kafkapy.core.seams import Clock, Journal, Timer
from kafkapy.core.time import later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.handwritten.replica_fetch import FetchedRow, ReplicaAnswer, ReplicaRow

_RETRY_MS: Final = 20
# A fetch rests so long for what is on its way to the disk, and is then parked so long.
_DISK_MS: Final = 20
# Partitions in a request: some milliseconds at either end.
MOST_ROWS: Final = 256
_TOLD_AT: Final = 6  # troubles in a row, more than half a second of them
_SESSION_IS_GONE: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
_MAX_EPOCH: Final = 2**31 - 1
Key = tuple[UUID, int]


class Follower(Protocol):
    """The node, as its fetchers know it."""

    @property
    def node_id(self) -> int: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def broker_epoch(self) -> int: ...

    @property
    def fetch_limits(self) -> Limits: ...

    @property
    def fetch_timeout_ms(self) -> int: ...

    @property
    def fetch_backoff_ms(self) -> int: ...

    @property
    def throttle(self) -> ReplicationThrottle: ...

    def disk_failed(self, failed: DiskFailed) -> None: ...

    def leader_hung_up(self, leader_id: int) -> None:
        """The connection to it ended or is refused: its process is gone, perhaps."""

    def leader_answers(self, leader_id: int) -> None:
        """For the first time, or again after it hung up."""


class ReplicaFetcher:
    """`connection` gives the way to the leader, anew after its address changed."""

    def __init__(
        self, node: Follower, leader_id: int, connection: Callable[[], AsksLeader | None]
    ) -> None:
        self.leader_id = leader_id
        self._node = node
        self._connection = connection
        self._followed: dict[Key, Partition] = {}
        # Whose turn it is not: resting after a trouble, waiting for the disk, or finding out where
        # the leader's log is.
        self._resting: set[Key] = set()
        self._troubles: dict[Key, int] = {}  # how often in a row
        self._at_disk = 0  # flushes under way
        self._changed: dict[Key, None] = {}  # the longest changed first
        self._gone: set[Key] = set()
        self._session = (0, 0)
        self._life = node.broker_epoch
        self._told: dict[Key, ReplicaRow] = {}  # what the leader's session knows
        self._has_no_session = False  # the leader had no room for one
        self._is_asking = False
        self._is_heard = False
        self._is_closed = False
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, partition: Partition) -> None:
        """Also again, when its leader has another epoch."""
        self._troubles.pop(_key(partition), None)
        self._begin(partition)

    def forget(self, partition: Partition) -> None:
        key = _key(partition)
        self._troubles.pop(key, None)
        if self._followed.pop(key, None) is not None:
            self._leave_out(key)

    def _begin(self, partition: Partition) -> None:
        key = _key(partition)
        self._followed[key] = partition
        self._resting.discard(key)
        log = partition.log
        if log.needs_flush_before_ack and log.flushed_offset < log.log_end_offset:
            self._wait_for_disk(key, partition, self._go_on)
            return
        self._gone.discard(key)
        self._changed[key] = None
        self._fetch_soon()

    def close(self) -> None:
        self._is_closed = True
        self._followed.clear()
        if self._timer is not None:
            self._timer.cancel()

    # -- asking

    def _fetch_soon(self, after_ms: int = 0) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        clock = self._node.clock
        if after_ms:
            self._timer = clock.call_at(later(clock.now(), after_ms), self._fetch)
        else:
            clock.call_soon(self._fetch)

    def _fetch(self) -> None:
        if self._is_asking or self._is_closed or len(self._followed) == len(self._resting):
            return
        connection = self._connection()
        if connection is None:  # the metadata does not say where the leader is, or not yet
            self._fetch_soon(self._node.fetch_backoff_ms)
            return
        self._is_asking = True
        if self._life != self._node.broker_epoch:
            # Registered anew. What the leader heard before is of another life, and does not count.
            self._life = self._node.broker_epoch
            self._session = (self._session[0], 0)
        if self._session[1] == 0:
            self._told.clear()
            self._gone.clear()
            self._changed = dict.fromkeys(key for key in self._followed if key not in self._resting)
        rows = self._rows()
        waits_ms = 0 if self._changed else _DISK_MS if self._at_disk else None
        connection.call(
            ApiKey.FETCH,
            fetch_body(self._node, self._session, rows, self._gone, waits_ms=waits_ms),
            self._answered,
            versions=FETCH_VERSIONS,
            timeout_ms=self._node.fetch_timeout_ms,
            decode=read_answer,
        )
        self._gone = set()

    def _rows(self) -> dict[Key, ReplicaRow]:
        """What the leader does not know yet, or some of it; without a session each request says
        all there is."""
        rows: dict[Key, ReplicaRow] = {}
        most = self._node.fetch_limits.partition_max_bytes
        for key in list(self._changed):
            if len(rows) >= MOST_ROWS and not self._has_no_session:
                break
            self._changed.pop(key, None)
            partition = self._followed.get(key)
            if partition is None:
                continue  # gone with the directory of one before it
            log = partition.log
            try:
                epoch = log.latest_epoch  # may have to be read
            except DiskFailed as failed:
                self._node.disk_failed(failed)
                continue
            row = ReplicaRow(
                key[1],
                partition.leader_epoch,
                log.log_end_offset,
                epoch,
                log.log_start_offset,
                most,
            )
            if self._told.get(key) != row:
                rows[key] = self._told[key] = row
        return rows

    # -- answers

    def _answered(self, answer: Any) -> None:
        self._is_asking = False
        if self._is_closed:
            return
        if isinstance(answer, CallFailed):
            self._session = (self._session[0], 0)
            if answer.why in (Why.BROKEN, Why.REFUSED):
                self._is_heard = False
                self._node.leader_hung_up(self.leader_id)
            self._fetch_soon(_RETRY_MS)
            return
        if not self._is_heard:
            self._is_heard = True
            self._node.leader_answers(self.leader_id)
        if answer.error_code:
            self._refused(ErrorCode(answer.error_code))
        else:
            self._continue_session(answer)
            for topic_id, rows in answer.topics:
                for row in rows:
                    self._take((topic_id, row.partition), row)
            if self._at_disk and not self._changed:
                self._fetch_soon(_DISK_MS)
            else:
                self._fetch()

    def _continue_session(self, answer: ReplicaAnswer) -> None:
        session_id, epoch = self._session
        if epoch == 0:
            session_id = answer.session_id
            self._has_no_session = session_id == 0
        # Without room for a session at the leader, each request says it all.
        epoch = 0 if session_id == 0 else 1 if epoch == _MAX_EPOCH else epoch + 1
        self._session = (session_id, epoch)

    def _refused(self, code: ErrorCode) -> None:
        if code in _SESSION_IS_GONE:
            self._session = (0, 0)
            self._fetch_soon(_RETRY_MS)
        else:
            self._node.journal.warning("fetch refused", leader=self.leader_id, reason=code.name)
            self._fetch_soon(self._node.fetch_backoff_ms)

    def _take(self, key: Key, row: FetchedRow) -> None:
        partition, told = self._followed.get(key), self._told.get(key)
        if partition is None or told is None or key in self._resting:
            return
        log = partition.log
        if (partition.leader_epoch, log.log_end_offset) != told[1:3]:
            return  # it is not what it was when it was asked for; it is in `_changed`
        try:
            if row.error_code:
                self._trouble(key, partition, ErrorCode(row.error_code))
                return
            if row.diverging is not None:
                self._truncate(partition, *row.diverging)
            else:
                partition.append_from_leader(row.records, row.high_watermark, row.log_start)
        except DiskFailed as failed:
            self._node.disk_failed(failed)
            return
        except Corrupt as nonsense:
            self._rest(key, str(nonsense))
            return
        if self._troubles:
            self._troubles.pop(key, None)
        throttle, is_too_much = self._node.throttle, False
        if throttle.holds(partition.topic_partition):
            throttle.record(len(row.records or b""))
            is_too_much = row.high_watermark > log.log_end_offset and throttle.is_exceeded
        if row.records and log.needs_flush_before_ack:
            self._wait_for_disk(key, partition, self._hold_on if is_too_much else self._go_on)
        elif is_too_much:
            self._hold(key, partition)
        else:
            self._changed[key] = None

    def _wait_for_disk(
        self, key: Key, partition: Partition, then: Callable[[Key, Partition], None]
    ) -> None:
        """What it has and the disk has not it does not tell the leader of."""
        self._leave_out(key)
        self._resting.add(key)

        def flushed(failed: DiskFailed | None) -> None:
            self._at_disk -= 1
            if failed is None:
                then(key, partition)
            elif not log.is_closed:  # deleted or moved meanwhile, it has nothing to lose
                self._node.disk_failed(failed)

        log = partition.log
        self._at_disk += 1
        log.flush(flushed)

    def _truncate(self, partition: Partition, epoch: int, end_offset: int) -> None:
        log = partition.log
        before = log.log_end_offset
        partition.truncate_to(truncation_offset(log, epoch, end_offset))
        # Who led without writing anything has no record that others lack, only an epoch.
        if log.log_end_offset < before:
            self._node.journal.info(
                "log truncated to its leader's",
                partition=partition.topic_partition,
                leader=self.leader_id,
                epoch=partition.leader_epoch,
                end_offset=before,
                now=log.log_end_offset,
            )

    # -- throttled

    def _hold(self, key: Key, partition: Partition) -> None:
        """It is behind, and has brought too much lately: others first (KIP-73)."""
        self._leave_out(key)
        self._resting.add(key)
        self._hold_on(key, partition)

    def _hold_on(self, key: Key, partition: Partition) -> None:
        wait_ms = self._node.throttle.wait_ms()
        if wait_ms and key in self._resting:
            clock = self._node.clock
            clock.call_at(
                later(clock.now(), min(wait_ms, self._node.fetch_backoff_ms)),
                lambda: self._hold_on(key, partition),
            )
        else:
            self._go_on(key, partition)

    # -- trouble

    def _trouble(self, key: Key, partition: Partition, code: ErrorCode) -> None:
        connection = self._connection()
        if code is not ErrorCode.OFFSET_OUT_OF_RANGE or connection is None:
            # A fenced epoch, too: the metadata brings the next one, and another `follow`.
            self._rest(key, code.name)
            return
        self._leave_out(key)
        self._resting.add(key)
        LostTouch(
            partition,
            connection,
            self._node,
            lambda why: self._found(key, partition, why),
        ).begin()

    def _found(self, key: Key, partition: Partition, why: str | None) -> None:
        """Its log ends where the leader's goes on; or not, and why."""
        if self._followed.get(key) is not partition or key not in self._resting:
            return
        if why is not None:
            self._rest(key, why)
        else:
            self._go_on(key, partition)

    def _rest(self, key: Key, why: str) -> None:
        partition = self._followed[key]
        self._leave_out(key)
        self._resting.add(key)
        times = self._troubles[key] = self._troubles.get(key, 0) + 1
        clock, longest_ms = self._node.clock, self._node.fetch_backoff_ms
        wait_ms = min(_RETRY_MS << min(times - 1, 10), longest_ms)
        clock.call_at(later(clock.now(), wait_ms), lambda: self._go_on(key, partition))
        if times == _TOLD_AT:  # not what an election brings; said once
            self._node.journal.warning(
                "partition not fetched",
                partition=partition.topic_partition,
                leader=self.leader_id,
                reason=why,
            )

    def _go_on(self, key: Key, partition: Partition) -> None:
        if self._followed.get(key) is partition and key in self._resting:
            self._begin(partition)

    def _leave_out(self, key: Key) -> None:
        """Of the next request, and of the leader's session."""
        self._changed.pop(key, None)
        self._resting.discard(key)
        if self._told.pop(key, None) is not None:
            self._gone.add(key)


def _key(partition: Partition) -> Key:
    return partition.topic_id, partition.topic_partition.partition
