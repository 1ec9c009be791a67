"""One ShareFetch: what it acknowledges, then what it gets, perhaps after waiting.

    acknowledge --> take from one partition after the other until it has enough records
                      nothing there --> parked: until something is appended or available again,
                                        or the time is up
    both done   --> the answer, which says what became of the acknowledgements as well

It has records as soon as it takes them: what was taken is not put back for a client that has
gone; its connection's end releases it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.broker.share.acknowledging import Results, acknowledge
from kafkapy.broker.share.led import LedShare
from kafkapy.broker.share.request_checks import check_topic
from kafkapy.broker.share.sessions import CLOSE, OPEN, Place, ShareSession
from kafkapy.broker.share.taking import NOTHING, Taken, is_there, take
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.limits import FETCH_ANSWER_BYTES
from kafkapy.core.time import later as after
from kafkapy.protocol.error_messages import message_of
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.partition import Acknowledgement, Asked

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import Shares

_LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class ShareFetching:
    """`wants_records` False: only to acknowledge, as a session's last request."""

    def __init__(
        self,
        node: "Shares",
        call: "Call[Any]",
        session: ShareSession,
        *,
        wants_records: bool,
    ) -> None:
        body = call.body
        self._node = node
        self._call = call
        self._session = session
        self._wants_records = wants_records
        self._max_bytes = min(body.max_bytes, node.config.fetch_max_bytes, FETCH_ANSWER_BYTES)
        if node.quotas is not None:
            most = node.quotas.account(call.peer, call.client_id).most_fetched
            self._max_bytes = self._max_bytes if most is None else min(self._max_bytes, most)
        self._min_bytes = min(body.min_bytes, self._max_bytes)
        self._left = body.max_records
        self._mode = optional(body, "share_acquire_mode", 0)
        self._reads_committed = node.shares.settings.reads_committed(session.key.group_id)
        self._acknowledged: Results | None = None
        self._refused: dict[Place, Refused] = {}
        self._led: dict[Place, LedShare] = {}
        self._taken: dict[Place, Taken] = {}
        self._loading = 0
        self._is_done = self._is_woken = self._is_waiting = False
        self._later = Later()
        self._watched: list[Partition] = []

    def start(self, given: Mapping[Place, Sequence[Acknowledgement] | Refused]) -> Answer:
        key = self._session.key
        acknowledge(self._node, self._call, key, given, self._heard)
        if not self._wants_records or not self._session.places:
            self._done()
        else:
            self._load()
        return self._later.answer if self._later.is_resolved else self._later

    def _heard(self, results: Results) -> None:
        self._acknowledged = results
        self._answer_if_ready()

    # --- the share partitions ---

    def _load(self) -> None:
        places = tuple(self._session.places)
        self._loading = len(places)
        for place in places:
            try:
                partition = self._partition(place)
            except Refused as refused:
                self._loaded(place, refused)
                continue
            key = ShareKey(self._session.key.group_id, *place)
            self._node.shares.led.load(key, partition, partial(self._loaded, place))

    def _partition(self, place: Place) -> Partition:
        node = self._node
        check_topic(node, self._call, place)
        partition = node.partitions.hosted(None, *place)
        partition.check_leader()
        return partition

    def _loaded(self, place: Place, found: LedShare | Refused) -> None:
        self._loading -= 1
        if isinstance(found, Refused):
            self._refused[place] = found
        else:
            self._led[place] = found
            self._session.known.add(place)
            if self._call.body.share_session_epoch == OPEN:
                found.check_is_current()
        if not self._loading:
            self._look()

    # --- taking ---

    def _look(self) -> None:
        if self._is_done:
            return
        if not self._node.shares.sessions.is_open(self._session):
            self._done()  # whoever asked has gone, or begun anew
            return
        if self._has_enough_to_take():
            self._take()
        waits = millis(self._call.body.max_wait) > 0 and not self._taken and not self._refused
        if waits:
            self._wait()
        else:
            self._done()

    def _has_enough_to_take(self) -> bool:
        if self._min_bytes <= 1 or self._refused:
            return True
        size = 0
        for share in self._led.values():
            log = share.partition.log
            upper = log.last_stable_offset if self._reads_committed else log.high_watermark
            size += is_there(share, upper)
            if size >= self._min_bytes:
                return True
        return False

    def _take(self) -> None:
        """Of each in turn, or of what is most urgent first, as long as there is room."""
        bytes_left = self._max_bytes
        if bytes_left <= 0:
            return
        for place in self._node.shares.priorities.order(tuple(self._session.places), self._led):
            share = self._led.get(place)
            if share is None or self._left <= 0 or (bytes_left <= 0 and self._taken):
                continue
            taken = self._take_from(place, share, bytes_left)
            if taken.acquired:
                self._taken[place] = taken
                bytes_left -= len(taken.records)
                self._left -= sum(one.last_offset - one.first_offset + 1 for one in taken.acquired)
            elif taken.is_unfinished:
                self._node.clock.call_soon(self._on_available)
        if self._taken:
            self._session.rotate()

    def _take_from(self, place: Place, share: LedShare, max_bytes: int) -> Taken:
        node, led = self._node, self._node.shares.led
        try:
            share.partition.check_leader()
            if not led.is_led(share):
                raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            share.machine.limits = node.shares.settings.limits(share.key.group_id)
            return take(
                share,
                Asked(self._session.key.member_id, self._left, self._mode),
                max(1, max_bytes),
                self._call.body.batch_size,
                node.clock,
                reads_committed=self._reads_committed,
            )
        except Refused as refused:
            self._refused[place] = refused
        except DiskFailed as failed:
            node.directory_failed(failed)
            self._refused[place] = Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        return NOTHING

    # --- waiting ---

    def _wait(self) -> None:
        self._is_woken = False
        if self._is_waiting:
            return
        self._is_waiting = True
        deadline = after(self._call.received, millis(self._call.body.max_wait))
        self._timer = self._node.clock.call_at(deadline, self._time_is_up)
        self._call.peer.on_close.append(self._leave)
        for share in self._led.values():
            share.waiting[self] = self._on_available
            share.partition.watchers[self] = 0
            self._watched.append(share.partition)

    def on_more(self, mark: int, count_bytes: int) -> None:
        """A partition has more, or is not what it was."""
        self._on_available()

    def _on_available(self) -> None:
        if not self._is_woken and not self._is_done:
            self._is_woken = True
            self._node.turn.at_end(self._look)

    def _time_is_up(self) -> None:
        if not self._is_done:
            if self._node.shares.sessions.is_open(self._session):
                self._take()
            self._done()

    def _leave(self) -> None:
        """Nothing is waited for any more; the client may have gone."""
        self._is_done = True
        if not self._is_waiting:
            return
        self._is_waiting = False
        self._timer.cancel()
        for share in self._led.values():
            share.waiting.pop(self, None)
        for partition in self._watched:
            partition.watchers.pop(self, None)

    # --- answering ---

    def _done(self) -> None:
        if self._is_waiting:
            self._call.peer.on_close.remove(self._leave)
        self._leave()
        self._answer_if_ready()

    def _answer_if_ready(self) -> None:
        if self._is_done and self._acknowledged is not None and not self._later.is_resolved:
            if self._call.body.share_session_epoch == CLOSE:
                self._node.shares.sessions.close(self._session)
            self._later.resolve(self._answer(self._acknowledged))

    def _answer(self, acknowledged: Results) -> Fields:
        topics: dict[Any, list[Fields]] = {}
        leaders: set[int] = set()
        for place in {**dict.fromkeys(self._session.places), **dict.fromkeys(acknowledged)}:
            taken = self._taken.get(place, NOTHING)
            refused = self._refused.get(place) if self._wants_records else None
            denied = acknowledged.get(place)
            is_new = self._session.places.get(place) is False
            if is_new:
                self._session.places[place] = True
            if not (taken.acquired or refused or place in acknowledged or is_new):
                continue
            leader = self._leader(place, refused, denied)
            if leader is not None:
                leaders.add(leader[0])
            topics.setdefault(place[0], []).append(_row(place, taken, refused, denied, leader))
        group_id = self._session.key.group_id
        return {
            "throttle_time": 0,
            "error_code": ErrorCode.NONE,
            "error_message": None,
            "acquisition_lock_timeout": self._node.shares.settings.limits(
                group_id
            ).record_lock_duration_ms,
            "responses": [
                {"topic_id": topic_id, "partitions": rows} for topic_id, rows in topics.items()
            ],
            "node_endpoints": endpoints(self._node, self._call, leaders),
        }

    def _leader(self, place: Place, *refused: Refused | None) -> tuple[int, int] | None:
        if any(one is not None and one.code in _LED_ELSEWHERE for one in refused):
            return self._node.partitions.current_leader(None, *place)
        return None


def endpoints(node: "Shares", call: "Call[Any]", leaders: set[int]) -> list[Fields]:
    return [
        {"node_id": node_id, "host": host, "port": port, "rack": rack}
        for node_id, host, port, rack in node.cluster.endpoints_of(leaders, call.peer.listener)
    ]


def leader_fields(leader: tuple[int, int] | None) -> Fields:
    leader_id, epoch = leader or (0, 0)
    return {"leader_id": leader_id, "leader_epoch": epoch}


def _row(
    place: Place,
    taken: Taken,
    refused: Refused | None,
    denied: Refused | None,
    leader: tuple[int, int] | None,
) -> Fields:
    return {
        "partition_index": place[1],
        "error_code": ErrorCode.NONE if refused is None else refused.code,
        "error_message": None if refused is None else message_of(refused),
        "acknowledge_error_code": ErrorCode.NONE if denied is None else denied.code,
        "acknowledge_error_message": None if denied is None else message_of(denied) or None,
        "current_leader": leader_fields(leader),
        "records": taken.records,
        "acquired_records": [one._asdict() for one in taken.acquired],
    }
