"""Stores of every form that Kafka's users have take the place of a listener's, while it serves."""

import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from compat_tests.behaviours import covers
from compat_tests.security.servers import STORE_PASSWORD, USER, Secured
from compat_tests.waiting import wait_for
from kafkapy.testing.security.certificates import Authority, Certificate

# One server of each kind serves them all.
pytestmark = [pytest.mark.xdist_group("secured"), pytest.mark.client("confluent_kafka")]
FORMS: Final = ("PEM", "PKCS12", "JKS")
# Of an exchange that is answered at once or never.
_TIMEOUT_S: Final = 10.0
Alter = Callable[[str, dict[str, str]], None]


@pytest.fixture
def alter(secured: Secured) -> Iterator[Alter]:
    """alter(listener, settings of `ssl.`): as they were again after the test."""
    admin = AdminClient({"bootstrap.servers": secured.address("PLAINTEXT")})
    altered: set[str] = set()

    def change(entries: list[ConfigEntry]) -> None:
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=entries)
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(30)

    def to(listener: str, settings: dict[str, str]) -> None:
        named = {f"listener.name.{listener}.ssl.{key}": text for key, text in settings.items()}
        altered.update(named)
        kind = AlterConfigOpType.SET
        change([ConfigEntry(*one, incremental_operation=kind) for one in named.items()])

    yield to
    kind = AlterConfigOpType.DELETE
    change([ConfigEntry(name, None, incremental_operation=kind) for name in sorted(altered)])


def as_jks(store: Path) -> Path:
    """As keytool makes one of a PKCS12 store."""
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("no keytool on the PATH")
    made = store.with_suffix(".jks")
    command = [keytool, "-importkeystore", "-noprompt", "-srckeystore", str(store)]
    command += ["-srcstorepass", STORE_PASSWORD, "-destkeystore", str(made)]
    command += ["-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert made.read_bytes()[:4] == b"\xfe\xed\xfe\xed"
    return made


def key_store(form: str, own: Certificate, directory: Path) -> dict[str, str]:
    settings = {"keystore.type": form}
    if form == "PEM":
        return settings | {"keystore.location": str(own.write(directory / "own.pem"))}
    path = own.write_pkcs12(directory / "own.p12", STORE_PASSWORD)
    settings["keystore.location"] = str(path if form == "PKCS12" else as_jks(path))
    return settings | {"keystore.password": STORE_PASSWORD, "key.password": STORE_PASSWORD}


def trust_store(form: str, authorities: list[Authority], directory: Path) -> dict[str, str]:
    settings = {"truststore.type": form}
    path = directory / "all"
    if form == "PEM":
        path.write_text("".join(one.pem for one in authorities))
        return settings | {"truststore.location": str(path)}
    trusted = [
        pkcs12.PKCS12Certificate(one.certificate, b"authority %d" % number)
        for number, one in enumerate(authorities)
    ]
    sealed = BestAvailableEncryption(STORE_PASSWORD.encode())
    path.write_bytes(pkcs12.serialize_java_truststore(trusted, sealed))
    settings["truststore.location"] = str(path if form == "PKCS12" else as_jks(path))
    return settings | {"truststore.password": STORE_PASSWORD}


@covers("tls")
@pytest.mark.parametrize("form", FORMS)
def test_the_next_client_is_shown_another_certificate(
    secured: Secured, alter: Alter, form: str, tmp_path: Path
) -> None:
    host, _, port = secured.address("SSL").partition(":")
    renewed = secured.authority.issue("server", hosts=("localhost", "127.0.0.1"))
    alter("ssl", key_store(form, renewed, tmp_path))

    def is_shown() -> bool:
        return ssl.get_server_certificate((host, int(port)), timeout=_TIMEOUT_S) == renewed.pem

    wait_for("the renewed certificate", is_shown)


@covers("mtls")
@pytest.mark.parametrize("form", FORMS)
def test_the_next_client_is_believed_by_another_authority_too(
    secured: Secured, alter: Alter, form: str, tmp_path: Path
) -> None:
    """Beside the one that vouches for the server, and for who was believed before."""
    other = Authority("another authority")
    before = str(secured.certificates.client.certificate), str(secured.certificates.client.key)
    own = other.issue(USER)
    certificate, key = tmp_path / "own.crt", tmp_path / "own.key"
    certificate.write_text(own.pem)
    key.write_text(own.key_pem())
    after = str(certificate), str(key)
    assert not lets_in(secured, *after)
    alter("mtls", trust_store(form, [secured.authority, other], tmp_path))
    wait_for("the other authority", lambda: lets_in(secured, *after))
    assert lets_in(secured, *before)


def lets_in(server: Secured, certificate: str, key: str) -> bool:
    admin = AdminClient(
        {
            "bootstrap.servers": server.address("MTLS"),
            "security.protocol": "SSL",
            "ssl.ca.location": str(server.certificates.authority),
            "ssl.certificate.location": certificate,
            "ssl.key.location": key,
            "log_level": 0,
        }
    )
    try:
        return bool(admin.list_topics(timeout=3).brokers)
    except KafkaException as refused:
        assert refused.args[0].code() in (KafkaError._TRANSPORT, KafkaError._SSL), refused
        return False
