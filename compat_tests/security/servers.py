"""A server of either kind with every sort of secured listener, and what clients need for each.

    PLAINTEXT        for the test's own preparations
    SASL_PLAINTEXT   PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
    SSL              the server has a certificate, clients need none
    MTLS             clients are known by theirs
    SASL_SSL         both
    OAUTH, OAUTH_SSL tokens of a provider (provider.py)
    BRIEF            as SASL_PLAINTEXT, for SESSION_MS at a time

Users: alice, by every mechanism. Certificates are made here and thrown away.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from compat_tests.behaviours import mark
from compat_tests.oracle import ApacheKafka
from compat_tests.security.provider import AUDIENCE, FORGER, STRANGER, Provider
from compat_tests.targets import APACHE, TEST_PROPERTIES, Kafkapy
from compat_tests.waiting import free_port
from kafkapy.testing.security.certificates import Authority, Certificate

USER: Final = "alice"
PASSWORD: Final = "alice's secret, with = and ,"
STORE_PASSWORD: Final = "changeit"
OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LISTENERS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL_SSL": "SASL_SSL",
    "OAUTH": "SASL_PLAINTEXT",
    "OAUTH_SSL": "SASL_SSL",
    "BRIEF": "SASL_PLAINTEXT",
}
# Neither server takes a login a second after the last.
SESSION_MS: Final = 2500
OAUTH_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_HANDLERS: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearer"
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Shown(NamedTuple):
    """A client's own certificate, apart from its key and together with it."""

    certificate: Path
    key: Path
    both: Path


class Certificates(NamedTuple):
    """Files, in the forms that clients want them."""

    authority: Path
    other_authority: Path
    trusted_p12: Path
    client: Shown
    client_p12: Path
    # Which the server does not take.
    strangers: Shown
    expired: Shown


class Secured(NamedTuple):
    bootstraps: dict[str, str]
    certificates: Certificates
    authority: Authority
    provider: Provider

    def address(self, listener: str) -> str:
        return self.bootstraps[listener]


class Way(NamedTuple):
    """How a client connects."""

    listener: str
    mechanism: str | None = None

    @property
    def protocol(self) -> str:
        return _LISTENERS[self.listener]

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    def __str__(self) -> str:
        return self.listener if self.mechanism is None else f"{self.listener}-{self.mechanism}"


WAYS: Final = (
    Way("SSL"),
    Way("MTLS"),
    *(Way("SASL_PLAINTEXT", one) for one in MECHANISMS),
    *(Way("SASL_SSL", one) for one in MECHANISMS),
    Way("OAUTH", OAUTHBEARER),
    Way("OAUTH_SSL", OAUTHBEARER),
)
_ROWS: Final = {
    "SSL": "tls",
    "MTLS": "mtls",
    "PLAIN": "sasl-plain",
    "SCRAM-SHA-256": "sasl-scram",
    "SCRAM-SHA-512": "sasl-scram",
    OAUTHBEARER: "sasl-oauthbearer",
}


def row(way: Way) -> pytest.MarkDecorator:
    """Which of the behaviours it is to get in by it."""
    return mark(_ROWS[way.mechanism or way.listener])


# For parametrize.
EACH_WAY: Final = [pytest.param(way, id=str(way), marks=row(way)) for way in WAYS]


# What a client may show where a certificate is asked for, and is not let in with.
BAD_CERTIFICATES: Final = ("none", "strangers", "expired")


def bad_certificate(server: Secured, whose: str) -> Shown | None:
    certificates = server.certificates
    return {"none": None, "strangers": certificates.strangers, "expired": certificates.expired}[
        whose
    ]


def token_jaas(client: str = USER, secret: str = PASSWORD) -> str:
    """By which Java asks the provider for tokens."""
    return f'{OAUTH_MODULE} required clientId="{client}" clientSecret="{secret}";'


def jaas(
    mechanism: str, user: str = USER, password: str = PASSWORD, *, is_token: bool = False
) -> str:
    more = ' tokenauth="true"' if is_token else ""
    return f'{_MODULES[mechanism]} required username="{user}" password="{password}"{more};'


@contextmanager
def secured_server(target: str, directory: Path) -> Iterator[Secured]:
    directory.mkdir(parents=True, exist_ok=True)
    authority = Authority()
    server_pem = authority.issue("server", hosts=("localhost", "127.0.0.1"))
    ports = {name: free_port() for name in (*_LISTENERS, "CONTROLLER")}
    addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    properties = {
        **TEST_PROPERTIES,
        "listeners": ",".join(f"{name}://{where}" for name, where in addresses.items()),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,"
        + ",".join(f"{name}:{protocol}" for name, protocol in _LISTENERS.items()),
        "controller.quorum.voters": f"1@{addresses['CONTROLLER']}",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(server_pem.write(directory / "server.pem")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.write(directory / "authority.pem")),
        "listener.name.mtls.ssl.client.auth": "required",
        "delegation.token.secret.key": "a secret of all nodes",
        "listener.name.brief.connections.max.reauth.ms": str(SESSION_MS),
    }
    for listener in ("sasl_plaintext", "sasl_ssl", "brief"):
        for mechanism, module in _MODULES.items():
            users = f' user_{USER}="{PASSWORD}"' if mechanism == "PLAIN" else ""
            key = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            properties[key] = f"{module} required{users};"
    provider = Provider(dict.fromkeys((USER, FORGER, STRANGER), PASSWORD))
    for listener in ("oauth", "oauth_ssl"):
        properties |= taking_tokens(listener, provider)
    if target == APACHE:
        apache = ApacheKafka(
            directory / "server",
            properties=properties,
            port=ports["PLAINTEXT"],
            jvm_options=[provider.java_option],
        )
        server: ApacheKafka | Kafkapy = apache
    else:
        server = Kafkapy(directory / "server", properties)
    try:
        server.start()
        _add_users(addresses["PLAINTEXT"])
        yield Secured(addresses, _for_clients(authority, directory), authority, provider)
    finally:
        server.stop()
        provider.close()


def taking_tokens(listener: str, provider: Provider) -> dict[str, str]:
    """Of a listener's settings those by which it takes this provider's tokens, and nothing else."""
    prefix = f"listener.name.{listener}."
    own = f"{prefix}oauthbearer.sasl."
    return {
        f"{prefix}sasl.enabled.mechanisms": OAUTHBEARER,
        f"{own}jaas.config": f"{OAUTH_MODULE} required;",
        f"{own}server.callback.handler.class": f"{_HANDLERS}ValidatorCallbackHandler",
        f"{own}oauthbearer.jwks.endpoint.url": provider.keys_url,
        f"{own}oauthbearer.expected.audience": AUDIENCE,
        f"{own}oauthbearer.expected.issuer": provider.issuer,
    }


def showing_tokens(provider: Provider, prefix: str = "") -> dict[str, str]:
    """By which Java and nodes get tokens of theirs."""
    return {
        f"{prefix}sasl.login.callback.handler.class": f"{_HANDLERS}LoginCallbackHandler",
        f"{prefix}sasl.oauthbearer.token.endpoint.url": provider.token_url,
    }


def _add_users(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(30)


def _for_clients(authority: Authority, directory: Path) -> Certificates:
    client = authority.issue(USER)
    other = Authority()
    return Certificates(
        directory / "authority.pem",
        other.write(directory / "other.pem"),
        authority.write_pkcs12(directory / "trusted.p12", STORE_PASSWORD),
        _shown(client, directory / "client"),
        client.write_pkcs12(directory / "client.p12", STORE_PASSWORD),
        _shown(other.issue(USER), directory / "stranger"),
        _shown(authority.issue(USER, lasts=Authority.EXPIRED), directory / "expired"),
    )


def _shown(one: Certificate, at: Path) -> Shown:
    certificate, key = at.with_suffix(".crt"), at.with_suffix(".key")
    certificate.write_text(one.pem)
    key.write_text(one.key_pem())
    return Shown(certificate, key, one.write(at.with_suffix(".pem")))
