"""What a listener with TLS is configured to do, without opening anything.

    listener.name.<listener>.ssl.<...>, or ssl.<...> for all listeners

A store is a file or, in PEM, text in the settings themselves. What is in it is read where the
sockets are (server/tls/contexts.py).
"""

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from kafkapy.broker.config.listeners import SecurityProtocol
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.principal_mapping import BadRule, PrincipalMapping
from kafkapy.core.data import dataclass

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig

PEM: Final = "PEM"
_TYPES: Final = (PEM, "PKCS12", "JKS")
VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_TLS_1_3_SUITES: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
_SUITE: Final = re.compile(r"TLS_(?P<exchange>[A-Z_]+)_WITH_(?P<cipher>[A-Z0-9_]+)")
_BLOCK: Final = re.compile(r"AES_(\d+)")


@dataclass(frozen=True, slots=True)
class Store:
    """Certificates, and of a key store the key. Secrets are not shown."""

    key: str
    """The setting to blame."""
    type: str
    location: str | None
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    pem_key: str | None = field(default=None, repr=False)
    pem_certificates: str | None = field(default=None, repr=False)

    @property
    def is_empty(self) -> bool:
        return self.location is None and self.pem_certificates is None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    keys: Store
    trusted: Store
    client_auth: str
    versions: tuple[str, ...]
    ciphers: str
    """OpenSSL's names of what TLS 1.2 may use; "" for what the library prefers."""
    checks_host: bool
    may_change_subject: bool = False
    """Of the certificate, while the node runs."""
    may_change_names: bool = False


def tls_settings(config: "BrokerConfig", listener: str) -> TlsSettings:
    """Of a listener that speaks TLS; ConfigError for what cannot be."""

    def text(name: str) -> str | None:
        found = config.listener_value(listener, name)
        return found if isinstance(found, str) and found else None

    prefix = f"listener.name.{listener.lower()}."
    keys = Store(
        f"{prefix}ssl.keystore.location",
        _store_type(text("ssl.keystore.type"), f"{prefix}ssl.keystore.type"),
        text("ssl.keystore.location"),
        text("ssl.keystore.password"),
        text("ssl.key.password"),
        text("ssl.keystore.key"),
        text("ssl.keystore.certificate.chain"),
    )
    trusted = Store(
        f"{prefix}ssl.truststore.location",
        _store_type(text("ssl.truststore.type"), f"{prefix}ssl.truststore.type"),
        text("ssl.truststore.location"),
        text("ssl.truststore.password"),
        pem_certificates=text("ssl.truststore.certificates"),
    )
    enabled = config.listener_value(listener, "ssl.enabled.protocols")
    suites = config.listener_value(listener, "ssl.cipher.suites")
    assert isinstance(enabled, tuple), enabled
    assert isinstance(suites, tuple), suites
    versions = _versions(f"{prefix}ssl.enabled.protocols", enabled)
    versions, ciphers = _ciphers(f"{prefix}ssl.cipher.suites", suites, versions)
    return TlsSettings(
        keys,
        trusted,
        _client_auth(config, listener),
        versions,
        ciphers,
        text("ssl.endpoint.identification.algorithm") is not None,
        config.listener_value(listener, "ssl.allow.dn.changes") is True,
        config.listener_value(listener, "ssl.allow.san.changes") is True,
    )


def principal_mapping(config: "BrokerConfig", listener: str) -> PrincipalMapping:
    name = "ssl.principal.mapping.rules"
    rules = config.listener_value(listener, name)
    assert isinstance(rules, str), rules
    try:
        return PrincipalMapping(rules)
    except BadRule as bad:
        raise ConfigError(name, rules, str(bad)) from None


def check_tls(config: "BrokerConfig") -> None:
    """ConfigError for a listener with TLS whose settings cannot be, as far as they tell."""
    for endpoint in config.listening.all:
        if not endpoint.protocol.has_tls:
            continue
        settings = tls_settings(config, endpoint.name)
        principal_mapping(config, endpoint.name)
        if settings.keys.is_empty:
            raise ConfigError(
                settings.keys.key, None, "a listener with TLS needs a certificate and its key."
            )
        if settings.client_auth != "none" and settings.trusted.is_empty:
            raise ConfigError(
                settings.trusted.key,
                None,
                "to ask clients for certificates, say which authorities are trusted.",
            )


def _client_auth(config: "BrokerConfig", listener: str) -> str:
    """On SASL_SSL clients are known by their login: only a setting of this very listener asks
    them for certificates too, as in Kafka (KIP-684)."""
    name = "ssl.client.auth"
    if config.listening.protocols.get(listener) is SecurityProtocol.SASL_SSL:
        own = f"listener.name.{listener.lower()}.{name}"
        if not any(own in layer for layer in config.layers):
            return "none"
    found = config.listener_value(listener, name)
    assert isinstance(found, str), found
    return found


def _store_type(given: str | None, key: str) -> str:
    found = (given or "JKS").upper()
    if found not in _TYPES:
        raise ConfigError(key, given, f"kafkapy reads {', '.join(_TYPES)}.")
    return found


def _versions(key: str, enabled: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [one for one in enabled if one not in VERSIONS]
    if unknown or not enabled:
        raise ConfigError(key, enabled, f"kafkapy speaks {' and '.join(VERSIONS)}.")
    return tuple(one for one in VERSIONS if one in enabled)


def _ciphers(
    key: str, suites: tuple[str, ...], versions: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """Java's names are the standard's, OpenSSL's are its own. Which suites TLS 1.3 uses cannot
    be chosen here: it is all three of them, or no TLS 1.3."""
    if not suites:
        return versions, ""
    modern = _TLS_1_3_SUITES & set(suites)
    if modern and modern != _TLS_1_3_SUITES and "TLSv1.3" in versions:
        raise ConfigError(
            key,
            suites,
            f"of TLS 1.3 name all suites ({', '.join(sorted(_TLS_1_3_SUITES))}) or none.",
        )
    older = [_openssl_name(key, one) for one in suites if one not in _TLS_1_3_SUITES]
    left = tuple(one for one in versions if (modern if one == "TLSv1.3" else older))
    if not left:
        raise ConfigError(key, suites, f"none of them belongs to {' or '.join(versions)}.")
    return left, ":".join(older)


def _openssl_name(key: str, suite: str) -> str:
    found = _SUITE.fullmatch(suite)
    if found is None:
        raise ConfigError(key, suite, "a cipher suite is TLS_<exchange>_WITH_<cipher>.")
    exchange, cipher = found["exchange"].replace("_", "-"), _BLOCK.sub(r"AES\1", found["cipher"])
    if cipher.startswith("CHACHA20"):
        cipher = cipher.removesuffix("_SHA256")
    name = cipher.replace("_CBC", "").replace("_", "-")
    return name if exchange == "RSA" else f"{exchange}-{name}"
