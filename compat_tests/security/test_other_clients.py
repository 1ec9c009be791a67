"""franz-go, sarama, KafkaJS and Kafka's Java clients log in by each mechanism that they know, over
TLS and not, and are refused alike, on both servers."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests import programs
from compat_tests.installation import JAVA_CLIENTS, Unavailable
from compat_tests.security.servers import MECHANISMS, PASSWORD, USER, WAYS, Secured, Way, jaas

# One server of each kind serves them all; each is a process, and two are a JVM.
pytestmark = [pytest.mark.xdist_group("secured"), pytest.mark.slow]
_HERE: Final = Path(__file__).parent.parent


def go(name: str) -> Callable[[], list[str]]:
    return lambda: [*programs.go_program(_HERE / name), "login"]


def node() -> list[str]:
    command = programs.node_program(_HERE / "kafkajs")
    return [*command[:-1], str(_HERE / "kafkajs" / "login.js"), "login"]


def java(version: str) -> Callable[[], list[str]]:
    folder = _HERE / "java_clients"
    return lambda: programs.java_program(folder, JAVA_CLIENTS[version], "Login")


CLIENTS: Final[Mapping[str, Callable[[], list[str]]]] = {
    "franz-go": go("franz_go"),
    "sarama": go("sarama"),
    "KafkaJS": node,
    "Java 3.9": java("3.9.1"),
    "Java 4.4": java("4.4.0"),
}


@pytest.fixture
def made(secured: Secured, topic: str) -> str:
    """A topic that is there: not every client has one made."""
    admin = AdminClient({"bootstrap.servers": secured.address("PLAINTEXT")})
    for done in admin.create_topics([NewTopic(topic, 1)]).values():
        done.result(30)
    return topic


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ran(
    client: str,
    server: Secured,
    way: Way,
    topic: str,
    directory: Path,
    *,
    password: str = PASSWORD,
    authority: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    try:
        command = CLIENTS[client]()
    except Unavailable as reason:
        pytest.skip(str(reason))
    authority = server.certificates.authority if authority is None else authority
    if client.startswith("Java"):
        file = directory / "client.properties"
        file.write_text(_properties(server, way, password, authority))
        command = [*command, str(file), topic]
    else:
        command = [*command, json.dumps(_order(server, way, topic, password, authority))]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


def _order(server: Secured, way: Way, topic: str, password: str, authority: Path) -> dict[str, str]:
    files = server.certificates
    order = {"bootstrap": server.address(way.listener), "topic": topic}
    if way.mechanism is not None:
        order |= {"mechanism": way.mechanism, "user": USER, "password": password}
    if way.has_tls:
        order["authority"] = str(authority)
    if way.listener == "MTLS":
        order |= {"certificate": str(files.certificate), "key": str(files.key)}
    return order


def _properties(server: Secured, way: Way, password: str, authority: Path) -> str:
    lines = [f"bootstrap.servers={server.address(way.listener)}"]
    lines += [f"security.protocol={way.protocol}"]
    if way.mechanism is not None:
        login = jaas(way.mechanism, USER, password)
        lines += [f"sasl.mechanism={way.mechanism}", f"sasl.jaas.config={login}"]
    if way.has_tls:
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={authority}"]
    if way.listener == "MTLS":
        client_pem = server.certificates.client_pem
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={client_pem}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_records_go_there_and_come_back(
    secured: Secured, client: str, way: Way, made: str, tmp_path: Path
) -> None:
    done = ran(client, secured, way, made, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_another_password_is_refused_and_the_reason_told(
    secured: Secured, client: str, mechanism: str, made: str, tmp_path: Path
) -> None:
    way = Way("SASL_SSL", mechanism)
    done = ran(client, secured, way, made, tmp_path, password="another")
    assert done.returncode != 0
    assert "auth" in (done.stdout + done.stderr).lower()


def test_a_server_of_another_authority_is_not_believed(
    secured: Secured, client: str, made: str, tmp_path: Path
) -> None:
    other = secured.certificates.other_authority
    done = ran(client, secured, Way("SSL"), made, tmp_path, authority=other)
    assert done.returncode != 0
