"""A request and its answer, charged to the client's quotas: the one place where an answer is
told its throttle time and a connection is muted.

    dispatch --> is there any quota? --no--> as ever
                  \\-yes--> dispatch, then: bytes in | bytes out | time taken --> longest wait
                                                                                   |
             answered at once, with the time it will not be heard for  <-----------+

Well below its quota a known Produce frame is charged by dispatch itself
(`FrameCache.is_charged`) and does not come here.

Requests between nodes are exempt. What a throttled consumer would have got it does not get, and
is not charged for; unless that is more than would ever fit: it would wait for ever (with Apache
Kafka it may). KIP-124, KIP-219.

A member of a share group uses the same quota of bytes, but gets its records with the time that it
is not heard for. They are its own by then: Apache Kafka withholds them, so that nobody gets
them until the lock on them ends, and each time counts as a delivery.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.quotas.client_quotas import (
    PERCENT_OF_A_SECOND,
    Account,
    ClientQuotas,
    Measured,
)
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import response_head
from kafkapy.protocol.handwritten.fetch_response import pack_fetch_response
from kafkapy.protocol.schemas.kio_schemas import load_response_schema

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

_INT32: Final = Struct(">i")
_SIZE: Final = 4
_FIRST_FLEXIBLE_PRODUCE: Final = 9
_PRODUCE: Final = ApiKey.PRODUCE.value
_FETCH: Final = ApiKey.FETCH.value
_SHARE_FETCH: Final = ApiKey.SHARE_FETCH.value
_THROTTLE_TIME: Final = "throttle_time"
# Between nodes: nobody's quota (KIP-124).
_EXEMPT: Final = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS.value,
        ApiKey.SASL_HANDSHAKE.value,
        ApiKey.SASL_AUTHENTICATE.value,
    }
)


# The controller may have found a throttle time: its quota is of mutations.
_TELL: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS.value,
        ApiKey.DELETE_TOPICS.value,
        ApiKey.CREATE_PARTITIONS.value,
    }
)


def charge(
    node: "Node",
    quotas: ClientQuotas,
    request: memoryview,
    began: float,
    call: Call[Any],
    answer: Answer,
) -> Answer:
    """`answer`: what is made of the request, whose bytes are only lent until this returns; `began`
    on `quotas.ticks`, if that is looked at. An answer that is to come is charged when it does."""
    peer: Peer = call.peer
    api_key: int = call.api_key
    if api_key in _EXEMPT or peer.is_controller_listener:
        return answer
    if api_key == _FETCH and getattr(call.body, "replica_id", -1) >= 0:
        return answer
    account = quotas.account(peer, call.client_id)
    if api_key == _PRODUCE and peer.frames is not None:
        peer.frames.account = account
    percent = 0.0
    if account.time is not None:
        percent = (quotas.ticks() - began) * PERCENT_OF_A_SECOND
    elif api_key == _PRODUCE:
        if account.produced is None:
            return answer
    elif api_key == _FETCH:
        if account.consumed is None or _is_charged(account.consumed, call, answer):
            return answer
    elif api_key == _SHARE_FETCH:
        if account.consumed is None:
            return answer
    elif api_key not in _TELL:
        return answer
    charged = _Charged(node, quotas, account, call, len(request), percent)
    if not isinstance(answer, Later):
        return charged.settle(answer)
    promise = Later()
    answer.when_resolved(lambda resolved: promise.resolve(charged.settle(resolved.answer)))
    return promise


def _is_charged(consumed: Measured, call: Call[Any], answer: Answer) -> bool:
    """Whether what is answered at once is, hereby, because much more may still be consumed."""
    if type(answer) is not Encoded:
        return False
    size = _size_of(answer)
    now: Instant = call.received
    if not consumed.rate.fits(size, now):
        return False
    consumed.rate.use(size, now)
    return True


def _size_of(answer: Encoded) -> int:
    size = 0
    for part in answer.parts:
        size += len(part) if isinstance(part, bytes) else part.length
    return size


def _shared_size(answer: Resolved) -> int:
    """Of the records that a member of a share group gets."""
    size = 0
    if isinstance(answer, Mapping):
        for topic in answer["responses"]:
            for row in topic["partitions"]:
                size += len(row["records"] or b"")
    return size


@cache
def _place_of_time(api_key: int, version: int) -> int | None:
    """Which field of its answer the throttle time is; None if it has none."""
    names = [one.name for one in fields(load_response_schema(api_key, version))]
    return names.index(_THROTTLE_TIME) if _THROTTLE_TIME in names else None


class _Charged:
    __slots__ = (
        "_account",
        "_api_key",
        "_call",
        "_node",
        "_peer",
        "_percent",
        "_quotas",
        "_size",
    )

    def __init__(
        self,
        node: "Node",
        quotas: ClientQuotas,
        account: Account,
        call: Call[Any],
        size: int,
        percent: float,
    ) -> None:
        self._node = node
        self._quotas = quotas
        self._account = account
        self._call = call
        self._api_key: int = call.api_key
        self._peer: Peer = call.peer
        self._size = size
        self._percent = percent

    def settle(self, answer: Resolved) -> Resolved:
        """The answer as it leaves."""
        if isinstance(answer, Hangup):
            return answer
        if self._account.is_void:  # it took its time
            self._account = self._quotas.account(self._peer, self._account.client_id)
        account = self._account
        now = self._quotas.look_at_clocks()
        wait_ms = told_ms = self._told(answer)
        # Without an answer nobody could be told.
        if answer is not None and account.time is not None:
            wait_ms = max(wait_ms, account.time.charge(self._percent, now))
        if self._api_key == _PRODUCE:
            if account.produced is not None:
                wait_ms = max(wait_ms, account.produced.charge(self._size, now))
        elif self._api_key == _FETCH:
            return self._settle_fetch(answer, wait_ms, now)
        elif self._api_key == _SHARE_FETCH and account.consumed is not None:
            wait_ms = max(wait_ms, account.consumed.charge(_shared_size(answer), now))
        if wait_ms <= 0:
            return answer
        mute(self._node, self._peer, wait_ms, now)
        return answer if wait_ms == told_ms else self._stamped(answer, wait_ms)

    def _settle_fetch(self, answer: Resolved, wait_ms: int, now: Instant) -> Resolved:
        if not isinstance(answer, Encoded):
            return answer
        consumed = self._account.consumed
        size = 0
        if consumed is not None:
            size = _size_of(answer)
            wait_ms = max(wait_ms, consumed.charge(size, now))
        if wait_ms <= 0:
            return answer
        mute(self._node, self._peer, wait_ms, now)
        if consumed is not None:
            consumed.give_back(size, now)
            most = self._account.most_fetched
            if most is not None and size > most and not consumed.charge(0, now):
                # It alone is more than fits: it is delivered, and paid for by silence.
                consumed.charge(size, now)
                return answer
        for part in answer.parts:
            if not isinstance(part, bytes):
                part.release()
        return Encoded(self._empty_fetch(wait_ms))

    def _empty_fetch(self, wait_ms: int) -> Any:
        """A session that begins with it does not begin, as from Kafka."""
        call = self._call
        session_id, epoch = call.body.session_id, call.body.session_epoch
        return pack_fetch_response(
            call.version,
            call.correlation_id,
            error_code=0,
            session_id=session_id if epoch > 0 else 0,
            throttle_time_ms=wait_ms,
            topics=[],
            node_endpoints=(),
        )

    def _told(self, answer: Resolved) -> int:
        """What the controller has found; another node's has packed it."""
        if isinstance(answer, Mapping):
            return int(answer.get(_THROTTLE_TIME, 0))
        if isinstance(answer, Encoded) and self._api_key in _TELL:
            at = self._time_at(answer)
            if at is not None:
                first = answer.parts[0]
                assert isinstance(first, bytes)
                time: int = _INT32.unpack_from(first, at)[0]
                return time
        return 0

    def _stamped(self, answer: Resolved, wait_ms: int) -> Resolved:
        if isinstance(answer, Mapping):
            if _place_of_time(self._api_key, self._call.version) is None:
                return answer
            return {**answer, _THROTTLE_TIME: wait_ms}
        if isinstance(answer, Encoded):
            at = self._time_at(answer)
            (whole,) = answer.parts if len(answer.parts) == 1 else (None,)
            if at is not None and isinstance(whole, bytes):
                time = _INT32.pack(wait_ms)
                return Encoded((whole[:at] + time + whole[at + _INT32.size :],))
        return answer

    def _time_at(self, answer: Encoded) -> int | None:
        """Where an answer that is packed already has its throttle time."""
        first = answer.parts[0]
        if not isinstance(first, bytes):
            return None
        version: int = self._call.version
        if self._api_key == _PRODUCE:
            is_flexible = version >= _FIRST_FLEXIBLE_PRODUCE
            if is_flexible and first[-1]:  # it ends with tags
                return None
            at: int = len(first) - _INT32.size - int(is_flexible)
            return at
        if _place_of_time(self._api_key, version) != 0:
            return None
        return _SIZE + len(response_head(self._api_key, version, 0))


def charge_elsewhere(
    node: "Node", peer: Peer, client_id: str, api_key: int, asked: int, answered: int
) -> None:
    """The bytes of what this node has asked another broker for, in the name of `peer`."""
    if node.quotas is None:
        return
    account = node.quotas.account(peer, client_id)
    now = node.quotas.look_at_clocks()
    wait_ms = 0
    if api_key == _PRODUCE and account.produced is not None:
        wait_ms = account.produced.charge(asked, now)
    elif api_key == _FETCH and account.consumed is not None:
        wait_ms = account.consumed.charge(answered, now)
    if wait_ms > 0:
        mute(node, peer, wait_ms, now)


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
