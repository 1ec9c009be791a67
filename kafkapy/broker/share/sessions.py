"""Share sessions: what a member of a share group reads at this node, until it says otherwise.

    request (epoch)   what it means
    0                 a new session, in place of one it had; what is listed is what it reads
    n                 must be the next epoch; listed partitions are added, forgotten ones removed
    -1                the end: what it acquired and did not acknowledge is available again

A session is of one member of one group, and ends with its connection. ShareFetch and
ShareAcknowledge both count its epochs.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.broker.requests.request import Peer
from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused

OPEN: Final = 0
CLOSE: Final = -1
_LAST_EPOCH: Final = 2**31 - 1

Place = tuple[UUID, int]


class SessionKey(NamedTuple):
    group_id: str
    member_id: str


@dataclass(slots=True, eq=False)
class ShareSession:
    key: SessionKey
    peer: Peer
    # What it reads, in the order in which it is read next; whether it was told anything of it.
    places: dict[Place, bool] = field(default_factory=dict)
    # What it may have records of, also where it does not read any more. What it only names is
    # not kept: a session lives long, and clients may name anything.
    known: set[Place] = field(default_factory=set)
    epoch: int = 1
    ended: Callable[[], None] | None = None

    def add(self, places: Iterable[Place]) -> None:
        for place in places:
            self.places.setdefault(place, False)

    def forget(self, places: Iterable[Place]) -> None:
        for place in places:
            self.places.pop(place, None)

    def rotate(self) -> None:
        """Who is first is last the next time, so that everybody's turn comes."""
        if len(self.places) > 1:
            first = next(iter(self.places))
            self.places[first] = self.places.pop(first)


class ShareSessions:
    """At most `slots`. `released(session)` when one ends, however it does."""

    def __init__(self, slots: Callable[[], int], released: Callable[[ShareSession], None]) -> None:
        self._slots = slots
        self._released = released
        self._sessions: dict[SessionKey, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def has_group(self, group_id: str) -> bool:
        """Whether any of its members has a session here."""
        return any(key.group_id == group_id for key in self._sessions)

    def open(self, key: SessionKey, peer: Peer) -> ShareSession:
        """Refused if there are as many as may be."""
        standing = self._sessions.get(key)
        if standing is not None:
            self._drop(standing)
        if len(self._sessions) >= self._slots():
            raise Refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, peer)

        def connection_ended() -> None:
            if self._sessions.get(key) is session:
                del self._sessions[key]
                self._released(session)

        session.ended = connection_ended
        peer.on_close.append(connection_ended)
        return session

    def go_on(self, key: SessionKey, epoch: int) -> ShareSession:
        """The next request of a session."""
        session = self._sessions.get(key)
        if session is None:
            raise Refused(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch != session.epoch:
            raise Refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if session.epoch == _LAST_EPOCH else session.epoch + 1
        return session

    def last(self, key: SessionKey) -> ShareSession:
        """The session that this request ends, once its acknowledgements are in (`close`)."""
        session = self._sessions.get(key)
        if session is None:
            raise Refused(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def close(self, session: ShareSession) -> None:
        if self.is_open(session):
            self._drop(session)

    def is_open(self, session: ShareSession) -> bool:
        return self._sessions.get(session.key) is session

    def _drop(self, session: ShareSession) -> None:
        del self._sessions[session.key]
        if session.ended is not None and session.ended in session.peer.on_close:
            session.peer.on_close.remove(session.ended)
        self._released(session)
