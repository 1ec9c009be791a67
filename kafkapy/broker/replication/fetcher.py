"""Follows one leader for all partitions that it leads and this node replicates.

    fetch (a session: what has changed since the last one) --> parked at the leader --> answer
      ^                                                                                  |
      |   records: append as they came; then, in the same turn, ask on from there        |
      +---------------------------------- diverging: cut, and ask again <----------------+

One fetch is under way at a time. It tells the leader how far every log is, so it leaves at the
end of the turn in which that was appended (core/network.py) and never before it is written.
A partition that has a trouble of its own waits for replica.fetch.backoff.ms, the others go on.
formats/replication 1 and 4; KIP-227, KIP-595.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol
from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.peers.connection import PeerConnection
from kafkapy.broker.peers.failures import CallFailed
from kafkapy.broker.replication.messages import (
    EARLIEST,
    FETCH_VERSIONS,
    LATEST,
    LIST_OFFSETS_VERSIONS,
    Asked,
    Limits,
    Name,
    fetch_fields,
    offset_fields,
    offset_from,
)
from kafkapy.broker.replication.truncation import truncation_offset
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode
from kafkapy.core.seams import Clock, Journal, Timer
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey

_RETRY_MS: Final = 20
_SESSION_IS_GONE: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
_MAX_EPOCH: Final = 2**31 - 1
Key = tuple[Name, int]


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

    def disk_failed(self, failed: DiskFailed) -> None: ...


class _Followed:
    __slots__ = ("is_looking", "not_before", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.not_before = Instant(0)
        self.is_looking = False  # for where the leader's log begins and ends


class ReplicaFetcher:
    """`connection` gives the way to the leader, anew after its address changed."""

    def __init__(
        self, node: Follower, leader_id: int, connection: Callable[[], PeerConnection | None]
    ) -> None:
        self.leader_id = leader_id
        self._node = node
        self._connection = connection
        self._followed: dict[Key, _Followed] = {}
        self._session = (0, 0)
        self._known: dict[Key, Asked] = {}  # what the leader's session knows
        self._is_asking = False
        self._is_closed = False
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, partition: Partition) -> None:
        """Also again, when its leader has another epoch."""
        self._followed[_key(partition)] = _Followed(partition)
        self._fetch_soon()

    def forget(self, partition: Partition) -> None:
        self._followed.pop(_key(partition), None)

    def close(self) -> None:
        self._is_closed = True
        self._followed.clear()
        if self._timer is not None:
            self._timer.cancel()

    # -- asking

    def _fetch_soon(self, after_ms: int = 0) -> None:
        if self._timer is not None:
            self._timer.cancel()
        clock = self._node.clock
        if after_ms:
            self._timer = clock.call_at(later(clock.now(), after_ms), self._fetch)
        else:
            self._timer = None
            clock.call_soon(self._fetch)

    def _fetch(self) -> None:
        if self._is_asking or self._is_closed:
            return
        wanted, wait_ms = self._wanted()
        if not wanted:
            if wait_ms is not None:
                self._fetch_soon(max(1, wait_ms))
            return
        connection = self._connection()
        if connection is None:  # the metadata does not say where the leader is, or not yet
            self._fetch_soon(self._node.fetch_backoff_ms)
            return
        self._is_asking = True
        session = self._session
        if session[1] == 0:
            changed, forgotten = wanted, []
        else:
            known = self._known
            changed = {key: one for key, one in wanted.items() if known.get(key) != one}
            forgotten = [key for key in known if key not in wanted]
        self._known = wanted
        fields = fetch_fields(
            self._node.node_id,
            self._node.broker_epoch,
            session,
            self._node.fetch_limits,
            changed,
            forgotten,
        )
        connection.call(
            ApiKey.FETCH,
            fields,
            lambda answer: self._answered(wanted, answer),
            versions=FETCH_VERSIONS,
            timeout_ms=self._node.fetch_timeout_ms,
        )

    def _wanted(self) -> tuple[dict[Key, Asked], int | None]:
        """What to ask for; if nothing, in how long to look again."""
        now = self._node.clock.now()
        wanted: dict[Key, Asked] = {}
        wait_ms: int | None = None
        for key, one in self._followed.items():
            if one.is_looking:
                continue
            if one.not_before > now:
                left_ms = one.not_before - now
                wait_ms = left_ms if wait_ms is None else min(wait_ms, left_ms)
                continue
            partition = one.partition
            log = partition.log
            wanted[key] = Asked(
                partition.leader_epoch, log.log_end_offset, log.latest_epoch, log.log_start_offset
            )
        return wanted, wait_ms

    # -- answers

    def _answered(self, asked: Mapping[Key, Asked], answer: Any) -> None:
        self._is_asking = False
        if self._is_closed:
            return
        if isinstance(answer, CallFailed):
            self._session = (self._session[0], 0)
            self._fetch_soon(_RETRY_MS)
            return
        if answer.error_code:
            self._refused(ErrorCode(int(answer.error_code)))
            return
        session_id, epoch = self._session
        if epoch == 0:
            session_id = answer.session_id
        # Without room for a session at the leader, each request says it all.
        epoch = 0 if session_id == 0 else 1 if epoch == _MAX_EPOCH else epoch + 1
        self._session = (session_id, epoch)
        names: dict[str | UUID, Name] = {}
        for name, _ in asked:
            names[name[0]] = names[name[1]] = name
        for topic in answer.responses:
            told: str | UUID = topic.topic_id if hasattr(topic, "topic_id") else topic.topic
            if told in names:
                for row in topic.partitions:
                    self._take(asked, (names[told], row.partition_index), row)
        self._fetch()

    def _refused(self, code: ErrorCode) -> None:
        if code in _SESSION_IS_GONE:
            self._session = (0, 0)
            self._fetch_soon(_RETRY_MS)
        else:
            self._node.journal.warning("fetch refused", leader=self.leader_id, reason=code.name)
            self._fetch_soon(self._node.fetch_backoff_ms)

    def _take(self, asked: Mapping[Key, Asked], key: Key, row: Any) -> None:
        one, question = self._followed.get(key), asked.get(key)
        if one is None or question is None:
            return
        partition = one.partition
        if (partition.leader_epoch, partition.log.log_end_offset) != question[:2]:
            return  # it is not what it was when it was asked for
        try:
            if row.error_code:
                self._trouble(one, ErrorCode(int(row.error_code)))
            elif row.diverging_epoch.end_offset >= 0 or row.diverging_epoch.epoch >= 0:
                self._truncate(partition, row.diverging_epoch)
            else:
                partition.append_from_leader(row.records, row.high_watermark, row.log_start_offset)
        except DiskFailed as failed:
            self._node.disk_failed(failed)
        except Corrupt as nonsense:
            self._delay(one, str(nonsense))

    def _truncate(self, partition: Partition, diverging: Any) -> None:
        log = partition.log
        before = log.log_end_offset
        offset = truncation_offset(log, diverging.epoch, diverging.end_offset)
        partition.truncate_to(offset)
        self._node.journal.info(
            "log truncated to its leader's",
            partition=partition.topic_partition,
            leader=self.leader_id,
            epoch=partition.leader_epoch,
            end_offset=before,
            now=log.log_end_offset,
        )

    # -- trouble

    def _trouble(self, one: _Followed, code: ErrorCode) -> None:
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._look(one, LATEST)
        elif code is ErrorCode.FENCED_LEADER_EPOCH:
            # Only the metadata can help; it comes with another epoch, and another `follow`.
            one.not_before = later(self._node.clock.now(), self._node.fetch_backoff_ms)
        else:
            self._delay(one, code.name)

    def _delay(self, one: _Followed, why: str) -> None:
        one.not_before = later(self._node.clock.now(), self._node.fetch_backoff_ms)
        self._node.journal.warning(
            "partition not fetched",
            partition=one.partition.topic_partition,
            leader=self.leader_id,
            reason=why,
        )

    def _look(self, one: _Followed, timestamp: int) -> None:
        """Our log ends outside of the leader's: find out on which side."""
        connection = self._connection()
        if connection is None:
            self._delay(one, "the leader is nowhere")
            return
        one.is_looking = True
        partition = one.partition
        connection.call(
            ApiKey.LIST_OFFSETS,
            offset_fields(
                self._node.node_id, partition.topic_partition, partition.leader_epoch, timestamp
            ),
            lambda answer: self._found(one, timestamp, answer),
            versions=LIST_OFFSETS_VERSIONS,
            timeout_ms=self._node.fetch_timeout_ms,
        )

    def _found(self, one: _Followed, timestamp: int, answer: Any) -> None:
        one.is_looking = False
        if self._followed.get(_key(one.partition)) is not one:
            return
        if isinstance(answer, CallFailed):
            self._delay(one, str(answer))
            self._fetch_soon()
            return
        code, offset = offset_from(answer)
        log = one.partition.log
        try:
            if code:
                self._delay(one, ErrorCode(code).name)
            elif timestamp == LATEST and offset >= log.log_end_offset:
                self._look(one, EARLIEST)
                return
            elif timestamp == LATEST:
                # The leader was elected without what we have (unclean): it is the history now.
                one.partition.truncate_to(offset)
            elif offset > log.log_end_offset:
                one.partition.begin_at(offset)
        except DiskFailed as failed:
            self._node.disk_failed(failed)
        self._fetch_soon()


def _key(partition: Partition) -> Key:
    topic, index = partition.topic_partition
    topic_id: UUID = partition.topic_id
    return (topic, topic_id), index
