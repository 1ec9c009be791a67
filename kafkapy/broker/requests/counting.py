"""Requests as they come and are answered, counted by API: how many, how large, how long, and what
was refused. Only where somebody looks (kafkapy/http/metrics): else nobody passes here.

    dispatch(request)  -->  answered at once: counted
                       \\-> an answer that waits, for itself or for those before it:
                           when it was asked stands in `peer.began`, in the order of requests,
    encode(call, answer) <-- which is the order in which they are answered: counted
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from kafkapy.broker.requests.request import Answer, Call, Encoded, Part, Peer, Resolved
from kafkapy.core.histogram import Histogram
from kafkapy.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey
from kafkapy.protocol.varint import read_uvarint

Dispatch = Callable[[memoryview, Peer], tuple[Call[Any], Answer]]
Encode = Callable[[Call[Any], Resolved], Sequence[Part]]
_PRODUCE: Final = ApiKey.PRODUCE.value
_FETCH: Final = ApiKey.FETCH.value
_BY_HAND: Final = frozenset({_PRODUCE, _FETCH})
_INT16: Final = Struct(">h").unpack_from
# Of an answer's rows so many are looked at for errors: what is refused is mostly refused as one.
_MOST_ROWS: Final = 100
# Waiting to be told of; who is slower than that misses some.
MOST_TRACED: Final = 1000
# size, correlation id, tags | throttle time of a Fetch
_HEAD: Final = 9
_THROTTLE: Final = 4
# After a partition's error code: three offsets, no record errors, no message, no tags.
_REST: Final = 27
_FIRST_WITH_TOPIC_IDS: Final = 13
_UUID: Final = 16


class Traced(NamedTuple):
    """A request that somebody wants to follow, and between when it was answered."""

    request: bytes
    peer: Peer
    began: float
    ended: float


class ApiCounts:
    """Of one API on one listener."""

    __slots__ = ("latencies", "local_seconds", "request_bytes", "response_bytes")

    def __init__(self) -> None:
        self.latencies = Histogram()
        # Of them, until it was answered or had to wait: for records, for others, for its turn.
        self.local_seconds = 0.0
        self.request_bytes = 0
        self.response_bytes = 0


class RequestCounts:
    """Of one listener. `clock` counts seconds, finely."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.by_api: dict[int, ApiCounts] = {}
        self.errors: Counter[tuple[int, int]] = Counter()
        self._clock = clock
        # Whether a Produce or Fetch is to be traced, and where its bytes, and when it began and
        # ended on `clock`, go then (kafkapy/http/tracing.py).
        self.is_sampled: Callable[[], bool] | None = None
        self.traced: deque[Traced] = deque(maxlen=MOST_TRACED)

    def dispatch(self, dispatch: Dispatch) -> Dispatch:
        """`dispatch` of one connection, counted."""
        clock = self._clock

        def counted(request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
            began = clock()
            size = len(request)
            is_sampled = self.is_sampled
            kept = None
            if is_sampled is not None and request[1] <= _FETCH and not request[0] and is_sampled():
                kept = bytes(request)
            call, answer = dispatch(request, peer)
            waiting = peer.began
            if waiting is None:
                waiting = peer.began = deque()
            if type(answer) is Encoded and not waiting:
                self._count(call, began, size, answer.parts, is_local=True)
                if kept is not None:
                    self.traced.append(Traced(kept, peer, began, clock()))
            else:
                waiting.append((began, size, kept))
                self._of(call.api_key).local_seconds += clock() - began
            return call, answer

        return counted

    def encode(self, encode: Encode) -> Encode:
        def counted(call: Call[Any], answer: Resolved) -> Sequence[Part]:
            parts = encode(call, answer)
            waiting = call.peer.began
            if waiting:
                began, size, kept = waiting.popleft()
                self._count(call, began, size, parts)
                if kept is not None:
                    self.traced.append(Traced(kept, call.peer, began, self._clock()))
                if isinstance(answer, Mapping):
                    self._count_errors(call.api_key, answer)
            return parts

        return counted

    def _of(self, api_key: int) -> ApiCounts:
        counts = self.by_api.get(api_key)
        if counts is None:
            counts = self.by_api[api_key] = ApiCounts()
        return counts

    def _count(
        self,
        call: Call[Any],
        began: float,
        size: int,
        parts: Sequence[Part],
        *,
        is_local: bool = False,
    ) -> None:
        api_key = call.api_key
        counts = self._of(api_key)
        counts.request_bytes += size
        for part in parts:
            counts.response_bytes += len(part) if type(part) is bytes else part.length  # type: ignore[union-attr]
        seconds = self._clock() - began
        counts.latencies.observe(seconds)
        if is_local:
            counts.local_seconds += seconds
        if api_key in _BY_HAND and parts:
            code = packed_error(api_key, call.version, parts[0])
            if code:
                self.errors[api_key, code] += 1

    def _count_errors(self, api_key: int, answer: Mapping[str, Any]) -> None:
        left = [_MOST_ROWS]
        for code in set(_codes(answer, left)):
            self.errors[api_key, code] += 1


def _codes(value: Any, left: list[int]) -> list[int]:
    """The error codes anywhere in an answer, as far as is looked."""
    found: list[int] = []
    left[0] -= 1
    if left[0] < 0:
        return found
    if isinstance(value, Mapping):
        code = value.get("error_code")
        if code:
            found.append(int(code))
        for one in value.values():
            if isinstance(one, (list, tuple)) and one:
                found += _codes(one, left)
    elif isinstance(value, (list, tuple)):
        for one in value:
            if not isinstance(one, (Mapping, list, tuple)):
                break
            found += _codes(one, left)
    return found


def packed_error(api_key: int, version: int, part: Part) -> int:
    """The first error code of a Produce or Fetch that was packed by hand; 0 if there is none, or
    if the version is so old that nobody speaks it any more."""
    if not isinstance(part, bytes) or version < FIRST_FLEXIBLE_VERSION[api_key]:
        return 0
    try:
        if api_key == _FETCH:
            return int(_INT16(part, _HEAD + _THROTTLE)[0])
        return _produce_error(version, part)
    except (IndexError, ValueError):
        return 0


def _produce_error(version: int, part: bytes) -> int:
    topics, at = read_uvarint(part, _HEAD)
    for _ in range(topics - 1):
        if version >= _FIRST_WITH_TOPIC_IDS:
            at += _UUID
        else:
            length, at = read_uvarint(part, at)
            at += length - 1
        partitions, at = read_uvarint(part, at)
        for _ in range(partitions - 1):
            code = int(_INT16(part, at + 4)[0])
            if code:
                return code
            at += 4 + 2 + _REST
        at += 1  # tags
    return 0
