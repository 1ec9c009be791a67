"""Calls to another node, over one connection that is made when it is needed.

    IDLE --call--> CONNECTING --up--> LOGGING_IN --> NEGOTIATING --ApiVersions--> READY
      ^                |                   ^              |                         |
      |                |                   +-- RENEWING --|--- the session ends ----+
      +--- backoff ----+---- down ------------------------+-------------------------+

LOGGING_IN is left out where the listener does not ask who is there (login.py). A session that
has an end is renewed before it: calls wait meanwhile, behind the last answers of the old one.

Every call gets exactly one answer: the decoded response, or CallFailed. Requests of one
connection are answered in order, so a call that waits (a fetch) delays those behind it:
whoever makes such calls has a connection of its own. A call that is not answered in time
takes the connection with it, since what comes later could not be told apart from an answer.

While a failed connection backs off (doubling, with some chance in it), calls wait for the
next attempt, as far as their time allows.
"""

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.broker.peers.login import Asked, LogIn, Login
from kafkapy.broker.peers.versions import PeerVersions, ask_versions, read_versions
from kafkapy.broker.security.mechanism import LoginFailed
from kafkapy.core.addresses import Address
from kafkapy.core.errors import Corrupt
from kafkapy.core.network import Channel, Down, Network
from kafkapy.core.seams import Clock, Rng, Timer
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

# Of its session, a connection renews it after so much: Kafka does after 85 to 95 percent.
_RENEWED_AFTER_PERCENT: Final = 85

Answered = Callable[[Any], None]  # with the response, or CallFailed
Body = Mapping[str, Any] | Callable[[int], bytes]
Decode = Callable[[int, memoryview], Any]

_WHY: Final = {
    Down.REFUSED: Why.REFUSED,
    Down.UNREACHABLE: Why.UNREACHABLE,
    Down.BROKEN: Why.BROKEN,
}


class PeerSettings(NamedTuple):
    """Kafka's names and defaults, as brokers have them for one another."""

    client_id: str
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1000
    connection_setup_timeout_ms: int = 10_000
    log_in: LogIn | None = None


class State(Enum):
    IDLE = auto()
    CONNECTING = auto()
    LOGGING_IN = auto()
    NEGOTIATING = auto()
    READY = auto()
    RENEWING = auto()
    CLOSED = auto()


class _Call:
    __slots__ = ("api", "body", "decode", "then", "timer", "version", "versions")

    def __init__(
        self, api: ApiKey, body: Body, versions: tuple[int, int], decode: Decode | None
    ) -> None:
        self.api = api
        self.body = body
        self.versions = versions
        self.decode = decode
        self.version = -1
        self.timer: Timer | None = None
        self.then: Answered | None = None

    def end(self, answer: Any) -> None:
        if self.timer is not None:
            self.timer.cancel()
        then, self.then = self.then, None
        if then is not None:
            then(answer)


class PeerConnection:
    """The owner of one Channel at a time (core/network.py)."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        rng: Rng,
        address: Address,
        *,
        listener: str,
        settings: PeerSettings,
    ) -> None:
        self.address = address
        self.state = State.IDLE
        self.last_failure: CallFailed | None = None
        self._network = network
        self._clock = clock
        self._rng = rng
        self._listener = listener
        self._settings = settings
        self._channel: Channel | None = None
        self._setup: Timer | None = None
        self._retry: Timer | None = None
        self._renewal: Timer | None = None
        self._login: Login | None = None
        self._not_before = Instant(0)
        self._backoff_ms = 0
        self._correlation_id = 0
        self._versions: PeerVersions | None = None
        self._waiting: deque[_Call] = deque()
        self._sent: deque[tuple[int, _Call]] = deque()

    def call(
        self,
        api: ApiKey,
        body: Body,
        then: Answered,
        *,
        versions: tuple[int, int],
        timeout_ms: int,
        decode: Decode | None = None,
    ) -> None:
        """In the newest of `versions` (lowest, highest) that the peer speaks too. `body` is
        fields for all versions, or makes the bytes of one. `decode(version, view)` reads the
        answer instead of kio's schema; its view is good until `then` returns."""
        call = _Call(api, body, versions, decode)
        call.then = then
        now = self._clock.now()
        call.timer = self._clock.call_at(later(now, timeout_ms), lambda: self._overdue(call))
        if self.state is State.CLOSED:
            self._clock.call_soon(lambda: call.end(CallFailed(Why.CLOSED, "by this node")))
        elif self.state is State.READY:
            self._send(call)
        else:
            self._waiting.append(call)
            if self.state is State.IDLE:
                self._connect_in_time(now)

    @property
    def is_idle(self) -> bool:
        """Nothing is asked and nothing waits."""
        return not self._waiting and not self._sent

    def close(self) -> None:
        """Whoever waits is told so."""
        if self.state is not State.CLOSED:
            self._let_go(CallFailed(Why.CLOSED, "by this node"))
            self.state = State.CLOSED

    # -- connecting

    def _connect_in_time(self, now: Instant) -> None:
        if now >= self._not_before:
            self._connect()
        elif self._retry is None:
            self._retry = self._clock.call_at(self._not_before, self._connect)

    def _connect(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self.state is not State.IDLE:
            return
        self.state = State.CONNECTING
        self._bound_setup()
        self._channel = self._network.connect(self.address, self._listener, self)

    def _bound_setup(self) -> None:
        deadline = later(self._clock.now(), self._settings.connection_setup_timeout_ms)
        self._setup = self._clock.call_at(deadline, self._setup_overdue)

    def _setup_overdue(self) -> None:
        self._fail(CallFailed(Why.UNREACHABLE, f"no connection to {self.address} in time"))

    def on_up(self) -> None:
        if not self._begins_to_log_in():
            self._negotiate()

    def _negotiate(self) -> None:
        self.state = State.NEGOTIATING
        self._write(ApiKey.API_VERSIONS, *ask_versions(self._versions))

    def _begins_to_log_in(self) -> bool:
        log_in = self._settings.log_in
        self._login = log_in and log_in(self._listener, self._clock, self._rng)
        if self._login is None:
            return False
        self.state = State.LOGGING_IN
        self._ask(self._login.begin())
        return True

    def _ask(self, asked: Asked) -> None:
        self._write(asked.api, asked.version, asked.body)

    def _told_of_login(self, view: memoryview) -> None:
        assert self._login is not None, self.state
        try:
            asked = self._login.answered(view, self._correlation_id)
        except LoginFailed as failed:
            self._fail(CallFailed(Why.NOT_ADMITTED, f"{self.address}: {failed}"))
            return
        if asked is not None:
            self._ask(asked)
            return
        lifetime_ms, self._login = self._login.lifetime_ms, None
        if lifetime_ms > 0:
            when = later(self._clock.now(), lifetime_ms * _RENEWED_AFTER_PERCENT // 100)
            self._renewal = self._clock.call_at(when, self._renew)
        if self._versions is None:
            self._negotiate()
        else:
            self._ready()

    def _renew(self) -> None:
        """Once nothing is on its way: answers and the new login would be mixed up."""
        self._renewal = None
        if self.state is State.READY:
            self.state = State.RENEWING
            self._bound_setup()
            self._log_in_anew()

    def _log_in_anew(self) -> None:
        if not self._sent and not self._begins_to_log_in():
            self._ready()  # nobody asks any more

    def on_down(self, why: Down, reason: str) -> None:
        self._fail(CallFailed(_WHY[why], f"{self.address}: {reason}"))

    def _fail(self, failure: CallFailed) -> None:
        """Everything that waits hears of it; whoever asks next waits for the backoff."""
        if self.state is State.READY:
            self._backoff_ms = 0
        settings = self._settings
        self._backoff_ms = min(
            max(2 * self._backoff_ms, settings.reconnect_backoff_ms),
            settings.reconnect_backoff_max_ms,
        )
        # A fifth more or less, so that nodes that lost the same peer do not come back as one.
        spread = self._backoff_ms * 2 // 5
        wait_ms = self._backoff_ms - spread // 2 + (self._rng.below(spread) if spread else 0)
        self._not_before = later(self._clock.now(), wait_ms)
        self._let_go(failure)

    def _let_go(self, failure: CallFailed) -> None:
        self.last_failure = failure
        self.state = State.IDLE
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        for timer in (self._setup, self._retry, self._renewal):
            if timer is not None:
                timer.cancel()
        self._setup = self._retry = self._renewal = None
        self._versions = None
        self._login = None
        lost = [call for _, call in self._sent] + list(self._waiting)
        self._sent.clear()
        self._waiting.clear()
        for call in lost:
            call.end(failure)

    # -- speaking

    def _send(self, call: _Call) -> None:
        assert self._versions is not None, self.state
        version = self._versions.newest(call.api, call.versions)
        if version is None:
            failure = CallFailed(
                Why.UNSUPPORTED,
                f"{self.address} speaks {call.api.name} {self._versions.told(call.api)}, "
                f"we {call.versions[0]}-{call.versions[1]}",
            )
            self._clock.call_soon(lambda: call.end(failure))
            return
        call.version = version
        if callable(call.body):
            body = call.body(version)
        else:
            body = encode_request(call.api, version, call.body)
        self._sent.append((self._write(call.api, version, body), call))

    def _write(self, api: ApiKey, version: int, body: bytes) -> int:
        assert self._channel is not None, self.state
        self._correlation_id = (self._correlation_id + 1) & 0x7FFF_FFFF
        head = request_head(api, version, self._correlation_id, self._settings.client_id)
        self._channel.send((frame(head, body),))
        return self._correlation_id

    def on_frame(self, view: memoryview) -> None:
        try:
            if self.state is State.LOGGING_IN:
                self._told_of_login(view)
            elif self.state is State.NEGOTIATING:
                self._negotiated(view)
            else:
                self._answered(view)
        except Corrupt as nonsense:
            self._fail(CallFailed(Why.NONSENSE, f"{self.address}: {nonsense}"))

    def _negotiated(self, view: memoryview) -> None:
        versions = read_versions(view, self._correlation_id, self._versions)
        self._versions = versions
        if not versions.is_final:
            self._write(ApiKey.API_VERSIONS, *ask_versions(versions))
            return
        self._backoff_ms = 0
        self._ready()

    def _ready(self) -> None:
        self.state = State.READY
        if self._setup is not None:
            self._setup.cancel()
            self._setup = None
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            self._send(call)

    def _answered(self, view: memoryview) -> None:
        if not self._sent:
            raise Corrupt("an answer to nothing")
        correlation_id, call = self._sent[0]
        told, at = read_response_head(call.api, call.version, view)
        if told != correlation_id:
            raise Corrupt(f"an answer to request {told} instead of {correlation_id}")
        body = view[at:]
        if call.decode is not None:
            answer = call.decode(call.version, body)
        else:
            answer = decode_response(call.api, call.version, body)
        self._sent.popleft()
        call.end(answer)
        if self.state is State.RENEWING:
            self._log_in_anew()

    def _overdue(self, call: _Call) -> None:
        failure = CallFailed(Why.TIMED_OUT, f"{call.api.name} of {self.address}")
        if call in self._waiting:
            self._waiting.remove(call)
            call.end(failure)
        else:
            self._fail(failure)
