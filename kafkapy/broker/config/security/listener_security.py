"""What a secured listener is configured to do: protocol, mechanisms, logins.

    listener.name.<listener>.sasl.enabled.mechanisms             what clients may log in by
    listener.name.<listener>.<mechanism>.sasl.jaas.config        users of PLAIN, own login
    sasl.mechanism.inter.broker.protocol, .controller.protocol   what nodes log in by

Read when it is needed, so that a change holds for whoever connects next. `check_secured` refuses
at the start what could let nobody in, or anybody.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkapy.broker.config.listeners import SecurityProtocol
from kafkapy.broker.config.security.jaas import (
    OAUTH_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    BadJaas,
    Jaas,
    parse_jaas,
)
from kafkapy.broker.config.security.own_token import (
    PLACE,
    RefreshTimes,
    TokenSource,
    check_own_token,
    is_provided,
    provider_trusted,
    token_source,
)
from kafkapy.broker.config.security.tls import Store
from kafkapy.broker.config.table.key import Value
from kafkapy.broker.config.table.values import ConfigError

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_MODULES: Final = {
    PLAIN: PLAIN_MODULE,
    OAUTHBEARER: OAUTH_MODULE,
    **dict.fromkeys(SCRAMS, SCRAM_MODULE),
}
UNSECURED_HANDLER: Final = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured."
    "OAuthBearerUnsecuredValidatorCallbackHandler"
)
SIGNED_HANDLER: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
)
# The first is the second, at a broker.
_VALIDATORS: Final = tuple(
    f"org.apache.kafka.common.security.oauthbearer.{name}JwtValidator"
    for name in ("Default", "Broker")
)
_FILE: Final = "file://"
# Where the settings name none.
_TIMEOUT_MS: Final = 10_000
_JAAS: Final = "sasl.jaas.config"
_MECHANISMS: Final = "sasl.enabled.mechanisms"
_HANDLER: Final = "sasl.server.callback.handler.class"


class TokenSettings(NamedTuple):
    """Of signed tokens. Their keys are in a file, or at a URL."""

    keys_url: str
    issuer: str | None
    audiences: tuple[str, ...]
    clock_skew_seconds: int
    user_claim: str
    scope_claim: str

    @property
    def keys_path(self) -> str | None:
        """If it is a file."""
        found = self.keys_url.removeprefix(_FILE)
        return found if found != self.keys_url else None


class KeySettings(NamedTuple):
    """Of fetching the keys of signed tokens."""

    refresh_ms: int
    backoff_ms: int
    backoff_max_ms: int
    connect_timeout_ms: int
    read_timeout_ms: int


class ListenerSecurity:
    """One listener's settings, each as it is now."""

    def __init__(self, config: "BrokerConfig", listener: str) -> None:
        self.listener = listener
        self.protocol = config.listening.protocol_of(listener)
        self._config = config

    @property
    def mechanisms(self) -> tuple[str, ...]:
        found = self._config.listener_value(self.listener, _MECHANISMS)
        assert isinstance(found, tuple), found
        return found

    @property
    def max_receive_bytes(self) -> int:
        return self._number("sasl.server.max.receive.size")

    @property
    def failure_delay_ms(self) -> int:
        return self._config.connection_failed_authentication_delay_ms

    def max_reauth_ms(self, mechanism: str) -> int:
        return self._number("connections.max.reauth.ms", mechanism)

    def callback_handler(self, mechanism: str) -> str | None:
        found = self._config.listener_value(self.listener, _HANDLER, mechanism)
        return found if isinstance(found, str) and found else None

    @property
    def validator(self) -> str | None:
        """Who checks tokens, by the name of Kafka's class."""
        return self._token_text("sasl.oauthbearer.jwt.validator.class")

    @property
    def tokens(self) -> TokenSettings:
        url = self._token_value("sasl.oauthbearer.jwks.endpoint.url")
        audiences = self._token_value("sasl.oauthbearer.expected.audience")
        issuer = self._token_value("sasl.oauthbearer.expected.issuer")
        skew = self._token_value("sasl.oauthbearer.clock.skew.seconds")
        assert isinstance(audiences, tuple), audiences
        assert isinstance(skew, int), skew
        return TokenSettings(
            str(url or ""),
            None if issuer is None else str(issuer),
            audiences,
            skew,
            str(self._token_value("sasl.oauthbearer.sub.claim.name")),
            str(self._token_value("sasl.oauthbearer.scope.claim.name")),
        )

    @property
    def keys(self) -> KeySettings:
        return KeySettings(
            self._number("sasl.oauthbearer.jwks.endpoint.refresh.ms", OAUTHBEARER),
            self._number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", OAUTHBEARER),
            self._number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", OAUTHBEARER),
            self._timeout_ms("sasl.login.connect.timeout.ms"),
            self._timeout_ms("sasl.login.read.timeout.ms"),
        )

    @property
    def keys_trusted(self) -> Store:
        """Whose certificate the place of the keys may have."""
        return provider_trusted(self.options(OAUTHBEARER), self.jaas_key(OAUTHBEARER))

    @property
    def has_provided_token(self) -> bool:
        """For logins of this node's own at this listener."""
        return is_provided(self._token_text)

    @property
    def own_token(self) -> TokenSource:
        timeouts = (
            self._timeout_ms("sasl.login.connect.timeout.ms"),
            self._timeout_ms("sasl.login.read.timeout.ms"),
        )
        options, key = self.options(OAUTHBEARER), self.jaas_key(OAUTHBEARER)
        return token_source(self._token_text, options, key, timeouts)

    def check_own_token(self) -> None:
        check_own_token(self._token_text, self.own_token, self.options(OAUTHBEARER))

    def own_token_times(self) -> RefreshTimes:
        factor = self._token_value("sasl.login.refresh.window.factor")
        jitter = self._token_value("sasl.login.refresh.window.jitter")
        assert isinstance(factor, float), factor
        assert isinstance(jitter, float), jitter
        return RefreshTimes(
            factor,
            jitter,
            1000 * self._number("sasl.login.refresh.min.period.seconds", OAUTHBEARER),
            1000 * self._number("sasl.login.refresh.buffer.seconds", OAUTHBEARER),
            self._number("sasl.login.retry.backoff.ms", OAUTHBEARER),
            self._number("sasl.login.retry.backoff.max.ms", OAUTHBEARER),
        )

    def _token_text(self, name: str) -> str | None:
        found = self._token_value(name)
        return found if isinstance(found, str) else None

    def _timeout_ms(self, name: str) -> int:
        found = self._config.listener_value(self.listener, name, OAUTHBEARER)
        return found if isinstance(found, int) and found > 0 else _TIMEOUT_MS

    def _token_value(self, name: str) -> Value:
        return self._config.listener_value(self.listener, name, OAUTHBEARER)

    def options(self, mechanism: str) -> Mapping[str, str]:
        """Of the mechanism's JAAS line; none if it has no line, or one of another module."""
        try:
            jaas = self.jaas(mechanism)
        except ConfigError:  # it was altered since the start, past whoever judges that
            return {}
        return jaas.options if jaas is not None and jaas.module == _MODULES[mechanism] else {}

    def jaas(self, mechanism: str) -> Jaas | None:
        """As a line with the listener's and the mechanism's prefix says: others are not read.
        ConfigError, without the line, if it is not in order."""
        name = self.jaas_key(mechanism)
        for layer in self._config.layers:
            if name in layer:
                try:
                    return parse_jaas(layer[name])
                except BadJaas as bad:
                    raise ConfigError(name, "[hidden]", str(bad)) from None
        return None

    def jaas_key(self, mechanism: str) -> str:
        return f"listener.name.{self.listener.lower()}.{mechanism.lower()}.{_JAAS}"

    def _number(self, name: str, mechanism: str | None = None) -> int:
        found = self._config.listener_value(self.listener, name, mechanism)
        assert isinstance(found, int), (name, found)
        return found


def check_secured(config: "BrokerConfig") -> None:
    """ConfigError for what a secured listener is not told, or told wrongly."""
    for endpoint in config.listening.all:
        if endpoint.protocol.has_sasl:
            security = ListenerSecurity(config, endpoint.name)
            for mechanism in security.mechanisms:
                _check_mechanism(security, mechanism)
    for name, protocol, key in outbound(config):
        if protocol.has_sasl:
            login = config.value(key)
            assert isinstance(login, str), (key, login)
            _check_login(ListenerSecurity(config, name), key, login)


def outbound(config: "BrokerConfig") -> list[tuple[str, SecurityProtocol, str]]:
    """Whom this node connects to, and the key that says by which mechanism."""
    listening = config.listening
    names = [(listening.controller_names[0], "sasl.mechanism.controller.protocol")]
    if config.is_broker:
        names.append((listening.inter_broker_name, "sasl.mechanism.inter.broker.protocol"))
    return [(name, listening.protocols[name], key) for name, key in names]


def _check_mechanism(security: ListenerSecurity, mechanism: str) -> None:
    key = f"listener.name.{security.listener.lower()}.{_MECHANISMS}"
    _check_known(key, mechanism)
    if mechanism == PLAIN and security.callback_handler(mechanism) is not None:
        raise ConfigError(
            _HANDLER,
            security.callback_handler(mechanism),
            "kafkapy loads no Java classes; users of PLAIN stand in the JAAS line.",
        )
    if mechanism == PLAIN and not any(one.startswith("user_") for one in _options(security, PLAIN)):
        raise ConfigError(
            key, mechanism, f"{security.jaas_key(PLAIN)} names no user (user_NAME=...)."
        )
    if mechanism == OAUTHBEARER:
        _check_oauth(security)
    security.jaas(mechanism)


def _check_oauth(security: ListenerSecurity) -> None:
    handler = security.callback_handler(OAUTHBEARER)
    if handler == UNSECURED_HANDLER:
        return
    prefix = f"listener.name.{security.listener.lower()}.oauthbearer."
    if handler != SIGNED_HANDLER:
        raise ConfigError(
            f"{prefix}{_HANDLER}",
            handler,
            f"to check tokens against sasl.oauthbearer.jwks.endpoint.url, say {SIGNED_HANDLER}. To "
            f"take tokens that nobody signed, which lets anybody be anybody, say "
            f"{UNSECURED_HANDLER}.",
        )
    validator = security.validator
    if validator not in _VALIDATORS:
        raise ConfigError(
            f"{prefix}sasl.oauthbearer.jwt.validator.class",
            validator,
            "kafkapy loads no Java classes: tokens would not be judged as this one does.",
        )
    settings = security.tokens
    if not PLACE.fullmatch(settings.keys_url):
        raise ConfigError(
            f"{prefix}sasl.oauthbearer.jwks.endpoint.url",
            settings.keys_url or None,
            "where the keys are is https://<host>/<path>, or a file: file:///<path>.",
        )
    if not settings.audiences and settings.issuer is None:
        raise ConfigError(
            f"{prefix}sasl.oauthbearer.expected.audience",
            None,
            "or sasl.oauthbearer.expected.issuer must say which tokens are meant for this cluster.",
        )
    if find_spec("cryptography") is None:
        raise ConfigError(
            f"{prefix}{_HANDLER}", handler, "to check signatures, install kafkapy[cryptography]."
        )


def _check_login(security: ListenerSecurity, key: str, mechanism: str) -> None:
    _check_known(key, mechanism)
    options = _options(security, mechanism)
    if mechanism == OAUTHBEARER:
        security.check_own_token()
    elif not options.get("username") or not options.get("password"):
        raise ConfigError(
            key, mechanism, f"{security.jaas_key(mechanism)} has no username and password."
        )


def _check_known(key: str, mechanism: str) -> None:
    if mechanism not in _MODULES:
        known = ", ".join(_MODULES)
        why = "kafkapy does not offer GSSAPI (Kerberos)" if mechanism == "GSSAPI" else "unknown"
        raise ConfigError(key, mechanism, f"{why}; it has {known}.")


def _options(security: ListenerSecurity, mechanism: str) -> Mapping[str, str]:
    jaas = security.jaas(mechanism)
    if jaas is not None and jaas.module != _MODULES[mechanism]:
        raise ConfigError(
            security.jaas_key(mechanism),
            "[hidden]",
            f"its login module must be {_MODULES[mechanism]}.",
        )
    return {} if jaas is None else jaas.options
