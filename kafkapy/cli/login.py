"""How the tools log in: `--command-config FILE`, Kafka's client.properties.

    security.protocol   PLAINTEXT (default), SSL, SASL_PLAINTEXT, SASL_SSL
    sasl.mechanism      PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER
    sasl.jaas.config    user and password; with tokenauth="true" those of a delegation token
    sasl.oauthbearer.*  where a provider issues tokens, and to whom; else the token is unsecured
    ssl.*               truststore, keystore, as clients of Apache Kafka have them

A command is one process and one person: what it was given holds for all its connections, those
to brokers that it hears of later too. Of other settings that such a file may have nothing is said.
"""

import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.config.properties import parse_properties
from kafkapy.broker.config.security.jaas import BadJaas, parse_jaas
from kafkapy.broker.config.security.listener_security import OAUTHBEARER, PLAIN
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.mechanism import ClientMechanism, LoginFailed
from kafkapy.cli.main import Failed
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.broker.config.security.own_token import TokenSource

Ask = Callable[[ApiKey, int, dict[str, Any]], Any]

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
# Of each step of asking a provider for a token, where the file says nothing.
_TIMEOUT_MS: Final = 10_000


class NotOffered(Failed):
    """The broker does not know this mechanism there."""


class LoginRefused(Failed):
    """It knows the mechanism, and not us; or it could not prove that it knows us."""


class ClientSecurity:
    """Of one command."""

    def __init__(self, given: Mapping[str, str]) -> None:
        """Failed if it says what cannot be."""
        self._given = given
        self._protocol = given.get("security.protocol", _PROTOCOLS[0]).strip().upper()
        if self._protocol not in _PROTOCOLS:
            raise Failed(f"security.protocol={self._protocol}: expected {', '.join(_PROTOCOLS)}")
        self._tls = self._context() if self._protocol.endswith("SSL") else None
        if self._uses_sasl:
            self._mechanism()

    @property
    def protocol(self) -> str:
        return self._protocol

    @property
    def _uses_sasl(self) -> bool:
        return self._protocol.startswith("SASL")

    def wrap(self, sock: socket.socket, host: str) -> socket.socket:
        """The connection, behind TLS if that is wanted. OSError if there is no trust."""
        return sock if self._tls is None else self._tls.wrap_socket(sock, server_hostname=host)

    def log_in(self, ask: Ask) -> None:
        """Failed if the broker does not let us in."""
        if not self._uses_sasl:
            return
        mechanism = self._mechanism()
        greeted = ask(ApiKey.SASL_HANDSHAKE, 1, {"mechanism": mechanism.name})
        if greeted.error_code:
            known = ", ".join(greeted.mechanisms)
            raise NotOffered(f"the broker knows {known}, not {mechanism.name}")
        token = mechanism.first()
        while True:
            answer = ask(ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": token})
            if answer.error_code:
                raise LoginRefused(f"login refused: {answer.error_message}")
            try:
                token = mechanism.evaluate(bytes(answer.auth_bytes))
            except LoginFailed as failed:
                raise LoginRefused(f"login failed: {failed}") from None
            if mechanism.is_complete:
                return

    def _mechanism(self) -> ClientMechanism:
        name = self._given.get("sasl.mechanism", "GSSAPI").strip()
        try:
            options = parse_jaas(self._given.get("sasl.jaas.config", "")).options
        except BadJaas as bad:
            raise Failed(f"sasl.jaas.config: {bad}") from None
        user, password = options.get("username", ""), options.get("password", "")
        if name == PLAIN:
            from kafkapy.broker.security.plain import PlainClient

            return PlainClient(user, password)
        if name == OAUTHBEARER:
            return self._by_token(options)
        is_token = options.get("tokenauth", "").lower() == "true"
        return _scram(name, user, password, is_token=is_token)

    def _by_token(self, options: Mapping[str, str]) -> ClientMechanism:
        from kafkapy.broker.config.security.own_token import (
            DEFAULT_RETRIEVER,
            RETRIEVER_KEY,
            check_own_token,
            is_provided,
            token_source,
        )
        from kafkapy.broker.security.oauthbearer import OAuthBearerClient
        from kafkapy.broker.security.unsecured_tokens import unsecured_token

        given = {RETRIEVER_KEY: DEFAULT_RETRIEVER, **self._given}
        timeouts = (self._time_ms("connect"), self._time_ms("read"))
        source = token_source(given.get, options, "sasl.jaas.config", timeouts)
        try:
            check_own_token(given.get, source, options)
        except ConfigError as bad:
            raise Failed(str(bad)) from None
        now = Instant(time.time_ns() // 1_000_000)
        if is_provided(given.get):
            return OAuthBearerClient(partial(_issued, source, now))
        return OAuthBearerClient(lambda: unsecured_token(options, now))

    def _time_ms(self, step: str) -> int:
        text = self._given.get(f"sasl.login.{step}.timeout.ms", "")
        return int(text) if text.isdigit() and int(text) else _TIMEOUT_MS

    def _context(self) -> Any:
        from kafkapy.broker.config.security.tls import Store, TlsSettings
        from kafkapy.server.tls.contexts import context_of_client

        given = self._given
        keys = Store(
            "ssl.keystore.location",
            given.get("ssl.keystore.type", "JKS"),
            given.get("ssl.keystore.location") or None,
            given.get("ssl.keystore.password"),
            given.get("ssl.key.password"),
            given.get("ssl.keystore.key") or None,
            given.get("ssl.keystore.certificate.chain") or None,
        )
        trusted = Store(
            "ssl.truststore.location",
            given.get("ssl.truststore.type", "JKS"),
            given.get("ssl.truststore.location") or None,
            given.get("ssl.truststore.password"),
            pem_certificates=given.get("ssl.truststore.certificates") or None,
        )
        checks_host = bool(given.get("ssl.endpoint.identification.algorithm", "https").strip())
        settings = TlsSettings(keys, trusted, "none", _VERSIONS, "", checks_host)
        try:
            return context_of_client(settings)
        except ConfigError as bad:
            raise Failed(str(bad)) from None


def _issued(source: "TokenSource", now: Instant) -> str:
    """A token, for this one login."""
    from kafkapy.broker.security.oauthbearer import BadToken
    from kafkapy.broker.security.own_token import life_of, request_for, token_in, token_of
    from kafkapy.server.web import outcome

    try:
        if source.path is not None:
            token = token_in(Path(source.path).read_bytes())
        else:
            answer = outcome(request_for(source))
            if isinstance(answer, OSError):
                raise answer
            token = token_of(answer)
        life_of(token, now)
    except (OSError, BadToken) as bad:
        raise LoginRefused(f"no token from {source.url}: {bad}") from None
    return token


def _scram(name: str, user: str, password: str, *, is_token: bool) -> ClientMechanism:
    from kafkapy.broker.security.scram import ScramClient
    from kafkapy.protocol.scram import MECHANISMS
    from kafkapy.server.rng import SystemRng

    if name not in MECHANISMS:
        raise Failed(
            f"sasl.mechanism={name}: kafkapy knows {PLAIN}, {OAUTHBEARER}, {', '.join(MECHANISMS)}"
        )
    return ScramClient(MECHANISMS[name], user, password, SystemRng(), is_token=is_token)


_ANYBODY: Final = ClientSecurity({})
_chosen = _ANYBODY


def chosen() -> ClientSecurity:
    return _chosen


def choose(path: str | None) -> None:
    """What `--command-config` says, from now on; None: plain and unknown."""
    global _chosen
    if path is None:
        _chosen = _ANYBODY
        return
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failed:
        raise Failed(f"--command-config {path}: {failed}") from None
    _chosen = ClientSecurity(parse_properties(text))
