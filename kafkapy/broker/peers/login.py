"""A node logs in at another one: SaslHandshake, then tokens, before anything else is asked.

    begin --> SaslHandshake --> token --> challenge --> token ... --> done: `lifetime_ms`

By which mechanism, and as whom, the settings of the listener say
(config/security/listener_security.py).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafkapy.broker.security.fetching import Fetch
from kafkapy.broker.security.mechanism import ClientMechanism, LoginFailed
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.seams import Clock, Disk, Journal, Rng
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.messages import decode_response, encode_request

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig
    from kafkapy.broker.security.mechanisms import OwnTokens

# v1: tokens travel in SaslAuthenticate. v2 of that is what every 2.5 and later knows.
_HANDSHAKE_VERSION = 1
_AUTHENTICATE_VERSION = 2


class Asked(NamedTuple):
    api: ApiKey
    version: int
    body: bytes


class Login:
    """One login over one connection."""

    def __init__(self, mechanism: ClientMechanism) -> None:
        self.lifetime_ms = 0
        """Of the session, once logged in; 0 for ever."""
        self._mechanism = mechanism
        self._has_shaken_hands = False

    def begin(self) -> Asked:
        body = encode_request(
            ApiKey.SASL_HANDSHAKE, _HANDSHAKE_VERSION, {"mechanism": self._mechanism.name}
        )
        return Asked(ApiKey.SASL_HANDSHAKE, _HANDSHAKE_VERSION, body)

    def answered(self, view: memoryview, correlation_id: int) -> Asked | None:
        """What to ask next; None: it is done. LoginFailed, or Corrupt for nonsense."""
        api, version = ApiKey.SASL_AUTHENTICATE, _AUTHENTICATE_VERSION
        if not self._has_shaken_hands:
            api, version = ApiKey.SASL_HANDSHAKE, _HANDSHAKE_VERSION
        told, at = read_response_head(api, version, view)
        if told != correlation_id:
            raise Corrupt(f"an answer to request {told} instead of {correlation_id}")
        answer = decode_response(api, version, view[at:])
        if answer.error_code:
            reason = getattr(answer, "error_message", None)
            raise LoginFailed(reason or ErrorCode(int(answer.error_code)).name)
        if not self._has_shaken_hands:
            self._has_shaken_hands = True
            return self._token(self._mechanism.first())
        token = self._mechanism.evaluate(bytes(answer.auth_bytes))
        if not self._mechanism.is_complete:
            return self._token(token)
        self.lifetime_ms = int(answer.session_lifetime.total_seconds() * 1000)
        return None

    def _token(self, token: bytes) -> Asked:
        body = encode_request(
            ApiKey.SASL_AUTHENTICATE, _AUTHENTICATE_VERSION, {"auth_bytes": token}
        )
        return Asked(ApiKey.SASL_AUTHENTICATE, _AUTHENTICATE_VERSION, body)


# For a listener's name: a login there, or None where nobody asks who we are.
LogIn = Callable[[str, Clock, Rng], Login | None]


class Logins:
    """This node's own, at all others. What mechanisms need is not even imported where no listener
    asks for a login."""

    _tokens: "OwnTokens | None" = None

    def __init__(
        self,
        config: "BrokerConfig",
        fetch: Fetch,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
    ) -> None:
        self._config = config
        if any(one.has_sasl for one in config.listening.protocols.values()):
            from kafkapy.broker.security.mechanisms import OwnTokens

            self._tokens = OwnTokens(config, fetch, disk, clock, rng, journal)

    def __call__(self, listener: str, clock: Clock, rng: Rng) -> Login | None:
        config, tokens = self._config, self._tokens
        if tokens is None or not config.listening.protocol_of(listener).has_sasl:
            return None
        from kafkapy.broker.config.security.listener_security import ListenerSecurity
        from kafkapy.broker.security.mechanisms import client_mechanism

        name = config.sasl_mechanism_inter_broker_protocol
        if listener in config.listening.controller_names:
            name = config.sasl_mechanism_controller_protocol
        return Login(client_mechanism(name, ListenerSecurity(config, listener), tokens, clock, rng))
