"""Fetch sessions (KIP-227): a consumer names its partitions once and then only changes.

    request (id, epoch)     what it means
    (0, -1)                 no session: this request says it all
    (0, 0)                  a new session, if there is room; the response tells its id
    (id, 0) or (id, -1)     drop session id, then as above
    (id, n)                 n must be the next epoch; listed partitions are added or
                            changed, forgotten ones removed, all others are as before

An incremental response leaves out partitions with nothing new: no records, no error, the
same high watermark and log start offset as last time.
"""

from collections import OrderedDict
from dataclasses import field
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Rng
from kafkapy.core.time import Instant
from kafkapy.protocol.handwritten.fetch_request import FetchRequestView

NO_SESSION, NEW_SESSION = -1, 0
# A session this long unused may make room for a new one (KIP-227).
IDLE_MS = 120_000
_MAX_EPOCH = 2**31 - 1


@dataclass(slots=True)
class Wanted:
    """One partition somebody reads: from where, how much, and what it was told last."""

    topic: str | None
    topic_id: UUID | None
    index: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int
    told_high_watermark: int = -1
    told_log_start_offset: int = -1
    # By this request's client, as its ACLs are now (fetch/permission.py).
    is_denied: bool = field(default=False, init=False)


Key = tuple[str | UUID | None, int]


@dataclass(slots=True)
class Session:
    id: int
    uses_topic_ids: bool
    wanted: OrderedDict[Key, Wanted]
    used: Instant
    epoch: int = 1


class FetchSessions:
    """At most `slots` sessions; the longest unused one makes room, if it is idle."""

    def __init__(self, slots: int, rng: Rng) -> None:
        self._slots = slots
        self._rng = rng
        # In order of use, the longest unused first.
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequestView, version: int, now: Instant) -> "Fetching":
        """What this request reads, after its session (if any) took in the changes."""
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (NO_SESSION, NEW_SESSION):
            self._sessions.pop(session_id, None)
            wanted = OrderedDict(_listed(request))
            if epoch == NO_SESSION:
                return Fetching(wanted, None, is_full=True)
            return Fetching(wanted, self._open(wanted, version, now), is_full=True)
        return self._continue(request, version, session_id, epoch, now)

    def _open(self, wanted: OrderedDict[Key, Wanted], version: int, now: Instant) -> Session | None:
        if not wanted or not self._make_room(now):
            return None
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = self._rng.below(_MAX_EPOCH)
        session = Session(session_id, version >= 13, wanted, now)
        self._sessions[session_id] = session
        return session

    def _make_room(self, now: Instant) -> bool:
        if len(self._sessions) < self._slots:
            return True
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.used < IDLE_MS:
            return False
        del self._sessions[oldest.id]
        return True

    def _continue(
        self, request: FetchRequestView, version: int, session_id: int, epoch: int, now: Instant
    ) -> "Fetching":
        session = self._sessions.get(session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if epoch != session.epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= 13):
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        for key, one in _listed(request):
            known = session.wanted.get(key)
            if known is not None:
                one.told_high_watermark = known.told_high_watermark
                one.told_log_start_offset = known.told_log_start_offset
            session.wanted[key] = one
        for name, topic_id, indexes in request.forgotten:
            for index in indexes:
                session.wanted.pop((name if topic_id is None else topic_id, index), None)
        if not session.wanted:
            del self._sessions[session_id]
            return Fetching(session.wanted, None, is_full=True)
        session.epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        session.used = now
        self._sessions.move_to_end(session_id)
        return Fetching(session.wanted, session, is_full=False)


@dataclass(slots=True)
class Fetching:
    """The partitions one request reads. `is_full`: the response lists every one of them."""

    wanted: OrderedDict[Key, Wanted]
    session: Session | None
    is_full: bool

    @property
    def session_id(self) -> int:
        return 0 if self.session is None else self.session.id

    def rotate(self, served: list[Key]) -> None:
        """Whoever got records goes to the back, so that one busy partition starves no other."""
        if self.session is not None:
            for key in served:
                if key in self.wanted:
                    self.wanted.move_to_end(key)


def _listed(request: FetchRequestView) -> list[tuple[Key, Wanted]]:
    return [
        ((name if topic_id is None else topic_id, row[0]), Wanted(name, topic_id, *row[:6]))
        for name, topic_id, rows in request.topics
        for row in rows
    ]
