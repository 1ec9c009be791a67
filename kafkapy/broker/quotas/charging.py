"""A request and its answer, charged to the client's quotas: the one place where an answer is
told its throttle time and a connection is muted.

    dispatch --> is there any quota? --no--> as ever
                  \\-yes--> dispatch, then: bytes in | bytes out | time taken --> longest wait
                                                                                   |
             answered at once, with the time it will not be heard for  <-----------+

Requests between nodes are exempt. What a throttled consumer would have got it does not get, and
is not charged for; unless that is more than would ever fit: it would wait for ever (with Apache
Kafka it may). KIP-124, KIP-219.
"""

from collections.abc import Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.quotas.client_quotas import ClientQuotas
from kafkapy.broker.quotas.limits import CONSUMED, PRODUCED, REQUEST_TIME
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.fetch_response import pack_fetch_response
from kafkapy.protocol.framing import response_head

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

_HEAD: Final = Struct(">hhih").unpack_from
_HEAD_SIZE: Final = 10
_INT32: Final = Struct(">i")
_SIZE: Final = 4
_PERCENT_OF_A_MS: Final = 0.1  # of a second: what a request quota counts in
_FIRST_FLEXIBLE_PRODUCE: Final = 9
# Packed by hand, with the throttle time first in the body, and since which version.
_TIME_FIRST: Final = {
    ApiKey.METADATA.value: 3,
    ApiKey.HEARTBEAT.value: 1,
    ApiKey.CONSUMER_GROUP_HEARTBEAT.value: 0,
}
# Between nodes: nobody's quota (KIP-124).
_EXEMPT: Final = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS.value,
        ApiKey.SASL_HANDSHAKE.value,
        ApiKey.SASL_AUTHENTICATE.value,
        ApiKey.OFFSET_FOR_LEADER_EPOCH.value,
    }
)


def charge(
    node: "Node",
    quotas: ClientQuotas,
    request: memoryview,
    started: Instant,
    served: tuple[Call[Any], Answer],
) -> tuple[Call[Any], Answer]:
    """`served`: what `dispatch` made of the request, whose bytes are only lent until this
    returns. An answer that is to come is charged when it does."""
    call, answer = served
    charged = _Charged(node, quotas, request, call, node.clock.now() - started)
    if charged.is_exempt:
        return served
    if not isinstance(answer, Later):
        return call, charged.settle(answer)
    promise = Later()
    answer.when_resolved(lambda resolved: promise.resolve(charged.settle(resolved.answer)))
    return call, promise


class _Charged:
    __slots__ = (
        "_api_key",
        "_call",
        "_client_id",
        "_correlation_id",
        "_node",
        "_peer",
        "_quotas",
        "_size",
        "_took_ms",
        "_version",
        "is_exempt",
    )

    def __init__(
        self,
        node: "Node",
        quotas: ClientQuotas,
        request: memoryview,
        call: Call[Any],
        took_ms: int,
    ) -> None:
        # From the bytes: the call of a Produce that is known by them does not have it all.
        self._api_key, self._version, self._correlation_id, length = _HEAD(request)
        end = _HEAD_SIZE + max(length, 0)
        name = request[_HEAD_SIZE:end]
        self._client_id = bytes(name).decode(errors="replace")
        self._node = node
        self._quotas = quotas
        self._call = call
        self._peer = call.peer
        self._size = len(request)
        # In whole milliseconds, of which most requests take none: on the average it is right.
        self._took_ms = took_ms
        self.is_exempt = (
            self._api_key in _EXEMPT or self._peer.is_controller_listener or self._is_replica()
        )

    def _is_replica(self) -> bool:
        if self._api_key != ApiKey.FETCH:
            return False
        return getattr(self._call.body, "replica_id", -1) >= 0

    def settle(self, answer: Resolved) -> Resolved:
        """The answer as it leaves."""
        if isinstance(answer, Hangup):
            return answer
        now = self._node.clock.now()
        wait_ms = told_ms = self._told(answer)
        has_answer = answer is not None
        if has_answer:  # without one nobody could be told
            wait_ms = max(
                wait_ms, self._charge(REQUEST_TIME, self._took_ms * _PERCENT_OF_A_MS, now)
            )
        if self._api_key == ApiKey.PRODUCE:
            wait_ms = max(wait_ms, self._charge(PRODUCED, self._size, now))
        elif self._api_key == ApiKey.FETCH:
            return self._settle_fetch(answer, wait_ms, now)
        if wait_ms <= 0:
            return answer
        mute(self._node, self._peer, wait_ms, now)
        return answer if wait_ms == told_ms else self._stamped(answer, wait_ms)

    def _settle_fetch(self, answer: Resolved, wait_ms: int, now: Instant) -> Resolved:
        if not isinstance(answer, Encoded):
            return answer
        size = sum(len(one) if isinstance(one, bytes) else one.length for one in answer.parts)
        bytes_ms = self._charge(CONSUMED, size, now)
        wait_ms = max(wait_ms, bytes_ms)
        if wait_ms <= 0:
            return answer
        mute(self._node, self._peer, wait_ms, now)
        self._quotas.give_back(CONSUMED, self._peer, self._client_id, size, now)
        most = self._quotas.most_fetched(self._peer, self._client_id)
        if most is not None and size > most and not self._charge(CONSUMED, 0, now):
            # It alone is more than fits: it is delivered, and paid for by silence.
            self._charge(CONSUMED, size, now)
            return answer
        for part in answer.parts:
            if not isinstance(part, bytes):
                part.release()
        return Encoded(self._empty_fetch(wait_ms))

    def _empty_fetch(self, wait_ms: int) -> Any:
        """A session that begins with it does not begin, as from Kafka."""
        session_id, epoch = self._call.body.session_id, self._call.body.session_epoch
        return pack_fetch_response(
            self._version,
            self._correlation_id,
            error_code=0,
            session_id=session_id if epoch > 0 else 0,
            throttle_time_ms=wait_ms,
            topics=[],
            node_endpoints=(),
        )

    def _charge(self, kind: str, used: float, now: Instant) -> int:
        return self._quotas.charge(kind, self._peer, self._client_id, used, now)

    def _told(self, answer: Resolved) -> int:
        """What the controller has found (its quota is of mutations)."""
        return int(answer.get("throttle_time", 0)) if isinstance(answer, Mapping) else 0

    def _stamped(self, answer: Resolved, wait_ms: int) -> Resolved:
        if isinstance(answer, Mapping):
            return {**answer, "throttle_time": wait_ms} if "throttle_time" in answer else answer
        if isinstance(answer, Encoded):
            at = self._time_at(answer)
            (whole,) = answer.parts if len(answer.parts) == 1 else (None,)
            if at is not None and isinstance(whole, bytes):
                time = _INT32.pack(wait_ms)
                return Encoded((whole[:at] + time + whole[at + _INT32.size :],))
        return answer

    def _time_at(self, answer: Encoded) -> int | None:
        """Where an answer that was packed by hand has its throttle time."""
        first = answer.parts[0]
        if not isinstance(first, bytes):
            return None
        if self._api_key == ApiKey.PRODUCE:
            is_flexible = self._version >= _FIRST_FLEXIBLE_PRODUCE
            if is_flexible and first[-1]:  # it ends with tags
                return None
            at: int = len(first) - _INT32.size - int(is_flexible)
            return at
        since = _TIME_FIRST.get(self._api_key)
        if since is None or self._version < since:
            return None
        return _SIZE + len(response_head(self._api_key, self._version, 0))


def mute(node: "Node", peer: Peer, wait_ms: int, now: Instant) -> None:
    """Nothing is heard of the client for that long; what it has sent waits."""
    until = later(now, wait_ms)
    if until <= peer.muted_until:
        return
    was_muted = peer.muted_until > now
    peer.muted_until = until
    if node.quotas is not None:
        node.quotas.throttled_count += 1
        node.quotas.throttled_ms += wait_ms
    if peer.line is not None and not was_muted:
        peer.line.mute(True)
    node.clock.call_at(until, lambda: _unmute(peer, until))


def _unmute(peer: Peer, until: Instant) -> None:
    if peer.muted_until == until and peer.line is not None:
        peer.line.mute(False)
