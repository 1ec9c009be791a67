"""Stores in each form that Kafka's users have them, and what is replaced while running."""

import os
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.server.tls.contexts import ListenerTls, Tls
from kafkapy.testing.security.certificates import Authority, Certificate
from tests.broker.handlers.journal import ToldJournal

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("server", hosts=("localhost",))
SECRET = "a-secret"
GIVEN = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "SSL://:9092,CONTROLLER://:9093",
    "listener.security.protocol.map": "SSL:SSL,CONTROLLER:PLAINTEXT",
    "security.inter.broker.protocol": "SSL",
}


def configured(**ssl_settings: object) -> BrokerConfig:
    given = {f"ssl.{key.replace('_', '.')}": str(value) for key, value in ssl_settings.items()}
    return BrokerConfig({**GIVEN, **given})


def own_certificate(tls: ListenerTls) -> bytes:
    """What a client is shown."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    ours = tls.server.wrap_bio(incoming, outgoing, server_side=True)
    theirs = client.wrap_bio(outgoing, incoming)
    for side in (theirs, ours, theirs, ours):
        with suppress(ssl.SSLError):  # it waits, or wants to see ours
            side.do_handshake()
    return theirs.getpeercert(binary_form=True) or b""


def der(one: Certificate) -> bytes:
    return ssl.PEM_cert_to_DER_cert(one.pem)


@pytest.mark.parametrize("password", [None, SECRET])
def test_pem_in_a_file(tmp_path: Path, password: str | None) -> None:
    path = SERVER.write(tmp_path / "server.pem", password)
    given = {} if password is None else {"key_password": password}
    config = configured(keystore_type="PEM", keystore_location=path, **given)
    assert own_certificate(ListenerTls(config, "SSL")) == der(SERVER)


def test_pem_in_the_settings_of_one_listener() -> None:
    prefix = "listener.name.ssl.ssl."
    config = BrokerConfig(
        {
            **GIVEN,
            f"{prefix}keystore.type": "PEM",
            f"{prefix}keystore.key": SERVER.key_pem(SECRET),
            f"{prefix}key.password": SECRET,
            f"{prefix}keystore.certificate.chain": SERVER.pem,
            f"{prefix}truststore.type": "PEM",
            f"{prefix}truststore.certificates": AUTHORITY.pem,
            f"{prefix}client.auth": "required",
        }
    )
    tls = ListenerTls(config, "SSL")
    assert own_certificate(tls) == der(SERVER)
    assert tls.server.verify_mode is ssl.CERT_REQUIRED
    assert tls.client.get_ca_certs()


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_pkcs12_also_under_the_name_that_java_gives_it(tmp_path: Path, kind: str) -> None:
    config = configured(
        keystore_type=kind,
        keystore_location=SERVER.write_pkcs12(tmp_path / "server.p12", SECRET),
        keystore_password=SECRET,
        truststore_type=kind,
        truststore_location=AUTHORITY.write_pkcs12(tmp_path / "trusted.p12", SECRET),
        truststore_password=SECRET,
        client_auth="required",
    )
    tls = ListenerTls(config, "SSL")
    assert own_certificate(tls) == der(SERVER)
    assert len(tls.server.get_ca_certs()) == 1


def refused(config: BrokerConfig) -> str:
    with pytest.raises(ConfigError) as raised:
        ListenerTls(config, "SSL")
    assert SECRET not in str(raised.value)
    assert "PRIVATE" not in str(raised.value)
    return str(raised.value)


def test_what_cannot_be_read_is_said_without_its_secrets(tmp_path: Path) -> None:
    pem = SERVER.write(tmp_path / "server.pem", SECRET)
    p12 = SERVER.write_pkcs12(tmp_path / "server.p12", SECRET)
    alone = tmp_path / "alone.pem"
    alone.write_text(SERVER.pem)
    other = tmp_path / "other.pem"
    other.write_text(SERVER.key_pem() + AUTHORITY.issue("x").pem)
    nonsense = tmp_path / "nonsense"
    nonsense.write_bytes(b"nonsense")

    def at(path: Path, **more: str) -> str:
        return refused(configured(keystore_type="PEM", keystore_location=path, **more))

    assert "cannot be used" in at(pem)
    assert "cannot be used" in at(pem, key_password="another")
    assert "cannot be read with this password" in at(p12, keystore_password="another")
    assert "no private key" in at(alone)
    assert "cannot be used" in at(other)
    assert "neither PEM nor PKCS12 nor JKS" in refused(configured(keystore_location=nonsense))
    assert "No such file" in at(tmp_path / "missing")


def test_a_file_that_is_replaced_is_what_the_next_client_is_shown(tmp_path: Path) -> None:
    path = SERVER.write(tmp_path / "server.pem")
    journal = ToldJournal()
    config = configured(keystore_type="PEM", keystore_location=path)
    tls = Tls(config, journal)
    of = tls.of("SSL")
    assert of is not None
    tls.refresh()
    assert own_certificate(of) == der(SERVER)
    renewed = AUTHORITY.issue("server", hosts=("localhost",))
    os.replace(renewed.write(tmp_path / "new.pem"), path)
    tls.refresh()
    assert own_certificate(of) == der(renewed)
    path.write_text("half of a")
    tls.refresh()
    tls.refresh()
    assert own_certificate(of) == der(renewed)
    AUTHORITY.issue("somebody else", hosts=("localhost",)).write(path)
    tls.refresh()
    assert own_certificate(of) == der(renewed)
    assert [event for event, _ in journal.told] == [
        "certificates renewed",
        "certificates not renewed",
        "certificates not renewed",
    ]


def test_a_setting_that_is_altered_counts_at_once(tmp_path: Path) -> None:
    first = SERVER.write(tmp_path / "first.pem")
    other = AUTHORITY.issue("server", hosts=("localhost",))
    second = other.write(tmp_path / "second.pem")
    config = configured(keystore_type="PEM", keystore_location=first)
    tls = Tls(config, ToldJournal())
    of = tls.of("SSL")
    assert of is not None
    name = "listener.name.ssl.ssl.keystore.location"
    config.alter(cluster={}, broker={name: str(second)})
    assert own_certificate(of) == der(other)
    config.alter(cluster={}, broker={name: str(tmp_path / "missing")})
    assert own_certificate(of) == der(other)
    config.alter(cluster={}, broker={})
    assert own_certificate(of) == der(SERVER)
