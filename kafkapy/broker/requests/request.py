"""One request on its way through the broker, and the four shapes of an answer.

    frame --> Call --> handler --> Answer
                                     dict      encoded by the schema of (api, version)
                                     Encoded   packed by hand: bytes and file slices
                                     Later     not yet; resolved by whatever it waits for
                                     None      no response at all (Produce with acks=0)

Answers leave a connection in the order of its requests, however late one of them is.
A handler must not keep `body` views of the frame after it returned: the buffer is reused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from kafkapy.core.data import dataclass
from kafkapy.core.seams import FileSlice
from kafkapy.core.time import Instant

if TYPE_CHECKING:
    from collections import deque

    from kafkapy.broker.produce.frame_cache import FrameCache
    from kafkapy.broker.quotas.client_quotas import Account

Part = bytes | FileSlice

# Who has not said who it is, nor need.
ANONYMOUS: Final = "User:ANONYMOUS"


class Encoded:
    """A whole response frame, size prefix included, ready to be sent."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts


class Later:
    """An answer that something else will give. Resolved once; a second time is a bug."""

    __slots__ = ("_then", "answer", "is_resolved")

    def __init__(self) -> None:
        self.is_resolved = False
        self.answer: Resolved = None
        self._then: Callable[[Later], None] | None = None

    def resolve(self, answer: "Resolved") -> None:
        assert not self.is_resolved, ("answered twice", self.answer, answer)
        self.is_resolved = True
        self.answer = answer
        if self._then is not None:
            self._then(self)

    def when_resolved(self, then: "Callable[[Later], None]") -> None:
        """One listener: `then` is called with this Later, at once if it is resolved."""
        assert self._then is None, "a Later has one listener"
        self._then = then
        if self.is_resolved:
            then(self)


class Hangup(Exception):
    """Close the connection without an answer, as Kafka does here; the log says why, if there
    is anything to say (and not an empty text)."""


Fields = Mapping[str, Any]
Resolved = Fields | Encoded | Hangup | None
Answer = Resolved | Later

NO_CLIENT: Final = "unknown"


class Line(Protocol):
    """A connection, as far as whoever guards it may do something to it."""

    def hang_up(self) -> None: ...

    def limit_frames(self, least: int, most: int) -> None:
        """How many bytes a frame may have from now on."""

    def mute(self, is_muted: bool) -> None:
        """Hear nothing of it, until it may be heard again; it is answered as ever."""


@dataclass(slots=True, eq=False)
class Peer:
    """Who is at the other end of a connection, as far as handlers may know."""

    listener: str
    host: str
    principal: str = ANONYMOUS
    software_name: str = NO_CLIENT
    software_version: str = NO_CLIENT
    is_controller_listener: bool = False
    # Who it is was shown by a delegation token.
    is_by_token: bool = False
    # Another node tells of it, which has asked its client for whatever is asked at the door.
    is_handed_on: bool = False
    # It is this node that asks itself, which may.
    is_this_node: bool = False
    on_close: list[Callable[[], None]] = field(default_factory=list)
    # The Produce frames that this connection repeats, once there are any.
    frames: "FrameCache | None" = None
    # Whether nothing more is asked of who it is; on a secured listener not from the beginning.
    is_settled: bool = True
    # For the gate of a listener that asks who is there (security/sasl_gate.py).
    line: Line | None = None
    # When what is not answered yet came, and how large it was, if somebody counts (counting.py).
    began: "deque[tuple[float, int, bytes | None]] | None" = None
    # What its last request was charged to, once anybody has a quota (broker/quotas/).
    account: "Account | None" = None
    # It is throttled (broker/quotas/charging.py).
    muted_until: Instant = Instant(0)


# Of a request. A handler names kio's class for the newest version that is served; fields that
# older versions lack are read with `optional` (translations.py).
Body = TypeVar("Body")


@dataclass(slots=True, eq=False)
class Call(Generic[Body]):
    """One decoded request. `body` is kio's request object for (api_key, version), or a view of
    the frame for Produce and Fetch."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body: Body
    peer: Peer
    received: Instant
