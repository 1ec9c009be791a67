"""The gate of a SASL listener: one per connection, in front of dispatch.

    INITIAL --ApiVersions--> HANDSHAKE --SaslHandshake--> LOGIN --tokens--> OPEN
       \\--SaslHandshake--------------------------------/   ^                |
                                                           \\--SaslHandshake-/   again, in time
    anything else, or a login that fails --> FAILED: answered after a while, then closed

As Kafka's SaslServerAuthenticator (KIP-43, KIP-152, KIP-368). Before OPEN only ApiVersions,
SaslHandshake and SaslAuthenticate are decoded. After a SaslHandshake v0 tokens come as they are,
in frames of nothing else. A session that has ended is closed at the next request that is not a
handshake.
"""

from collections.abc import Callable
from enum import Enum, auto
from struct import Struct
from traceback import format_exc
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.config.security.listener_security import ListenerSecurity
from kafkapy.broker.requests.apis import find_api
from kafkapy.broker.requests.dispatch import dispatch
from kafkapy.broker.requests.request import Answer, Call, Encoded, Fields, Hangup, Later, Peer
from kafkapy.broker.security.mechanism import LoginFailed, ServerMechanism
from kafkapy.broker.security.mechanisms import ServerMechanisms
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import RequestHeader, read_request_header
from kafkapy.protocol.messages import decode_request

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

Served = tuple[Call[Any], Answer]
Dispatch = Callable[[memoryview, Peer], Served]

_SIZE: Final = Struct(">i")
_HANDSHAKE_KEY: Final = int(ApiKey.SASL_HANDSHAKE).to_bytes(2, "big")
# A client that begins anew more often than that is answered as if it could not.
_LEAST_BETWEEN_LOGINS_MS: Final = 1000
# The size of an ApiVersions request without anything; tokens after a handshake v0 may be less.
_LEAST_REQUEST_BYTES: Final = 8


class State(Enum):
    INITIAL = auto()
    HANDSHAKE = auto()
    LOGIN = auto()
    OPEN = auto()
    FAILED = auto()


class SaslGate:
    """`serve` is the connection's dispatch."""

    def __init__(
        self, node: "Node", security: ListenerSecurity, mechanisms: ServerMechanisms, peer: Peer
    ) -> None:
        self.state = State.INITIAL
        self._node = node
        self._security = security
        self._mechanisms = mechanisms
        self._peer = peer
        self._mechanism_name = ""
        self._mechanism: ServerMechanism | None = None
        self._tokens_are_bare = False
        self._is_again = False
        self._again_in_vain: str | None = None
        self._expires_at: Instant | None = None
        self._began_again_at: Instant | None = None

    def serve(self, request: memoryview, peer: Peer) -> Served:
        try:
            return self._serve(request, peer)
        except (Corrupt, Hangup):
            raise
        except Exception as bug:
            # As in dispatch: one connection is given up, not the node.
            self._node.journal.error("bug", api="authentication", trace=format_exc())
            raise Hangup(f"a bug of kafkapy in authentication: {type(bug).__name__}") from bug

    def _serve(self, request: memoryview, peer: Peer) -> Served:
        if self.state is State.OPEN:
            if self._expires_at is None or not self._has_ended(request):
                return dispatch(self._node, request, peer)
        elif self.state is State.FAILED:
            return _nothing(peer), Later()  # nothing more is read of it, as in Kafka
        elif self.state is State.LOGIN and self._tokens_are_bare:
            return self._bare_token(bytes(request))
        header, body_at = read_request_header(request)
        if self.state is State.LOGIN:
            return self._login(header, request, body_at)
        return self._handshake(header, request, body_at)

    # --- before a mechanism is agreed on ---

    def _handshake(self, header: RequestHeader, request: memoryview, body_at: int) -> Served:
        if header.api_key == ApiKey.API_VERSIONS and self.state is State.INITIAL:
            call, answer = dispatch(self._node, request, self._peer)
            assert not isinstance(answer, Later | Encoded | Hangup), answer
            if answer is not None and not answer["error_code"]:
                self.state = State.HANDSHAKE
            return call, answer
        if header.api_key != ApiKey.SASL_HANDSHAKE:
            raise Hangup(
                f"{_name(header)} before authentication: perhaps a client that is "
                "configured with another security protocol"
            )
        call = self._call(header, request, body_at)
        name, mechanisms = call.body.mechanism, self._security.mechanisms
        if name not in mechanisms:
            fields = {
                "error_code": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
                "mechanisms": mechanisms,
            }
            return self._fail(call, fields, "a mechanism that is not enabled here")
        if self._is_again and name != self._mechanism_name:
            self._again_in_vain = f"{name} instead of {self._mechanism_name}"
        self._mechanism_name = name
        self._mechanism = self._mechanisms.make(name)
        self._tokens_are_bare = header.api_version == 0
        self._limit_frames()
        self.state = State.LOGIN
        return call, {"error_code": ErrorCode.NONE, "mechanisms": mechanisms}

    def _call(self, header: RequestHeader, request: memoryview, body_at: int) -> Call[Any]:
        """Decoded; Hangup for a version that is not served."""
        api = find_api(header.api_key, is_controller=self._peer.is_controller_listener)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            raise Hangup(f"{_name(header)} version {header.api_version}")
        body = decode_request(header.api_key, header.api_version, request[body_at:])
        return self._bodied(header, body)

    def _bodied(self, header: RequestHeader, body: Any) -> Call[Any]:
        return Call(
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            body,
            self._peer,
            self._node.clock.now(),
        )

    # --- tokens ---

    def _login(self, header: RequestHeader, request: memoryview, body_at: int) -> Served:
        if self._again_in_vain is not None:
            return self._fail(self._bodied(header, None), None, self._again_in_vain)
        if header.api_key != ApiKey.SASL_AUTHENTICATE:
            # Kafka says it in the answer of that API; who gets here does not read it.
            return self._fail(
                self._bodied(header, None), None, f"{_name(header)} in place of a token"
            )
        call = self._call(header, request, body_at)
        try:
            challenge = self._evaluate(bytes(call.body.auth_bytes))
        except LoginFailed as failed:
            fields = {
                "error_code": ErrorCode.SASL_AUTHENTICATION_FAILED,
                "error_message": failed.told or self._in_general(),
                "auth_bytes": b"",
            }
            return self._fail(call, fields, str(failed))
        return call, {
            "error_code": ErrorCode.NONE,
            "error_message": None,
            "auth_bytes": challenge,
            "session_lifetime": self._complete() if self._is_complete else 0,
        }

    def _bare_token(self, token: bytes) -> Served:
        call = _nothing(self._peer)
        if self._again_in_vain is not None:
            return self._fail(call, None, self._again_in_vain)
        try:
            challenge = self._evaluate(token)
        except LoginFailed as failed:
            return self._fail(call, None, str(failed))
        if self._is_complete:
            self._complete()
        return call, Encoded((_SIZE.pack(len(challenge)) + challenge,))

    @property
    def _is_complete(self) -> bool:
        return self._mechanism is not None and self._mechanism.is_complete

    def _evaluate(self, token: bytes) -> bytes:
        assert self._mechanism is not None, self.state
        challenge = self._mechanism.evaluate(token)
        principal = f"User:{self._mechanism.user}"
        if self._is_complete and self._is_again and principal != self._peer.principal:
            kinds = [one.replace(":", ".", 1) for one in (self._peer.principal, principal)]
            raise LoginFailed(
                "another principal than before",
                told="Cannot change principals during re-authentication from "
                f"{kinds[0]}: {kinds[1]}",
            )
        return challenge

    def _in_general(self) -> str:
        what = "re-authentication" if self._is_again else "authentication"
        return (
            f"Authentication failed during {what} due to invalid credentials with SASL mechanism "
            f"{self._mechanism_name}"
        )

    # --- done ---

    def _complete(self) -> int:
        """Let it in; how long its session lasts in ms, 0 for ever."""
        assert self._mechanism is not None, self.state
        limits = [self._security.max_reauth_ms(self._mechanism_name) or None]
        limits.append(self._mechanism.lifetime_ms)
        known = [one for one in limits if one is not None]
        lifetime_ms = max(0, min(known)) if known else 0
        self._expires_at = later(self._node.clock.now(), lifetime_ms) if known else None
        self._peer.principal = f"User:{self._mechanism.user}"
        self._peer.is_by_token = self._mechanism.is_by_token
        if not self._is_again:
            self._node.journal.info(
                "let in",
                listener=self._peer.listener,
                peer=self._peer.host,
                principal=self._peer.principal,
                by=f"{self._mechanism_name}{' with a token' if self._peer.is_by_token else ''}",
            )
        self._peer.is_settled = True
        self._mechanism = None
        self.state = State.OPEN
        self._limit_frames()
        return lifetime_ms

    def _has_ended(self, request: memoryview) -> bool:
        """Whether this request is a new login; Hangup if there had to be one by now."""
        now = self._node.clock.now()
        assert self._expires_at is not None, "or nobody asks"
        if request[:2] == _HANDSHAKE_KEY:
            before, self._began_again_at = self._began_again_at, now
            if before is not None and now - before < _LEAST_BETWEEN_LOGINS_MS:
                self._began_again_at = before
                return False
            self._is_again = True
            self.state = State.HANDSHAKE
            return True
        if now >= self._expires_at:
            raise Hangup("the session has ended, and the client has not authenticated anew")
        return False

    def _fail(self, call: Call[Any], fields: Fields | None, reason: str) -> Served:
        """Answered after a while, so that guessing is slow; then it is over."""
        user = self._mechanism.user if self._mechanism is not None else ""
        self._node.journal.warning(
            "authentication failed",
            listener=self._peer.listener,
            peer=self._peer.host,
            mechanism=self._mechanism_name or "-",
            user=ascii(user[:_SHOWN_CHARACTERS]) if user else "-",
            reason=reason,
        )
        self.state = State.FAILED
        self._mechanism = None
        answer = Later()

        def tell() -> None:
            if fields is not None:
                answer.resolve(fields)
            if self._peer.line is not None:
                self._peer.line.hang_up()

        clock = self._node.clock
        clock.call_at(later(clock.now(), self._security.failure_delay_ms), tell)
        return call, answer

    def _limit_frames(self) -> None:
        line = self._peer.line
        if line is None:
            return
        if self.state is State.OPEN:
            line.limit_frames(_LEAST_REQUEST_BYTES, self._node.config.socket_request_max_bytes)
        else:
            least = 0 if self._tokens_are_bare else _LEAST_REQUEST_BYTES
            line.limit_frames(least, self._security.max_receive_bytes)


_SHOWN_CHARACTERS: Final = 64


def _name(header: RequestHeader) -> str:
    return next(one.name for one in ApiKey if one == header.api_key)


def _nothing(peer: Peer) -> Call[Any]:
    """Of a frame that is no request."""
    return Call(-1, 0, 0, None, None, peer, Instant(0))
