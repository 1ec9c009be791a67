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
from compat_tests.behaviours import covers
from compat_tests.installation import JAVA_CLIENTS, Unavailable, require
from compat_tests.security.provider import FORGER, STRANGER
from compat_tests.security.servers import (
    EACH_WAY,
    MECHANISMS,
    OAUTHBEARER,
    PASSWORD,
    USER,
    Secured,
    Way,
    jaas,
    showing_tokens,
    token_jaas,
)

# One server of each kind serves them all; each is a process, and two are a JVM.
pytestmark = [pytest.mark.xdist_group("secured"), pytest.mark.slow]
_HERE: Final = Path(__file__).parent.parent


def go(name: str) -> Callable[[], list[str]]:
    return lambda: [*programs.go_program(_HERE / name), "login"]


def node() -> list[str]:
    command = programs.node_program(_HERE / "kafkajs")
    return [*command[:-1], str(_HERE / "kafkajs" / "login.js"), "login"]


def java(version: str) -> Callable[[], list[str]]:
    return lambda: with_json(
        programs.java_program(_HERE / "java_clients", JAVA_CLIENTS[version], "Login")
    )


def with_json(command: list[str]) -> list[str]:
    """With what the clients' jar wants and does not bring, to read a provider's answers."""
    libs = require().libs
    jars = [str(jar) for name in ("jackson-*", "jose4j-*") for jar in libs.glob(f"{name}.jar")]
    at = command.index("-cp") + 1
    return [*command[:at], ":".join([command[at], *sorted(jars)]), *command[at + 1 :]]


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


_FOLDERS: Final = {
    "franz-go": "franz_go",
    "sarama": "sarama",
    "KafkaJS": "kafkajs",
    "Java 3.9": "java_3_9",
    "Java 4.4": "java_4_4",
}


@pytest.fixture(
    params=[pytest.param(one, marks=pytest.mark.client(_FOLDERS[one])) for one in CLIENTS]
)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ran(
    client: str,
    server: Secured,
    way: Way,
    topic: str,
    directory: Path,
    *,
    user: str = USER,
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
        file.write_text(_properties(server, way, user, password, authority))
        java, *rest = command
        command = [java, server.provider.java_option, *rest, str(file), topic]
    else:
        command = [*command, json.dumps(_order(server, way, topic, user, password, authority))]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


def _order(
    server: Secured, way: Way, topic: str, user: str, password: str, authority: Path
) -> dict[str, str]:
    files = server.certificates
    order = {"bootstrap": server.address(way.listener), "topic": topic}
    if way.mechanism is not None:
        order |= {"mechanism": way.mechanism, "user": user, "password": password}
    if way.mechanism == OAUTHBEARER:
        order["token"] = server.provider.token(user)
    if way.has_tls:
        order["authority"] = str(authority)
    if way.listener == "MTLS":
        order |= {"certificate": str(files.certificate), "key": str(files.key)}
    return order


def _properties(server: Secured, way: Way, user: str, password: str, authority: Path) -> str:
    lines = [f"bootstrap.servers={server.address(way.listener)}"]
    lines += [f"security.protocol={way.protocol}"]
    if way.mechanism == OAUTHBEARER:
        shown = {**showing_tokens(server.provider), "sasl.mechanism": OAUTHBEARER}
        shown["sasl.jaas.config"] = token_jaas(user)
        lines += [f"{key}={value}" for key, value in shown.items()]
    elif way.mechanism is not None:
        login = jaas(way.mechanism, user, password)
        lines += [f"sasl.mechanism={way.mechanism}", f"sasl.jaas.config={login}"]
    if way.has_tls:
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={authority}"]
    if way.listener == "MTLS":
        client_pem = server.certificates.client_pem
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={client_pem}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("way", EACH_WAY)
def test_records_go_there_and_come_back(
    secured: Secured, client: str, way: Way, made: str, tmp_path: Path
) -> None:
    done = ran(client, secured, way, made, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@covers("login-refused", "sasl-oauthbearer")
@pytest.mark.parametrize("user", [FORGER, STRANGER])
def test_a_token_that_is_not_good_is_refused_and_the_reason_told(
    secured: Secured, client: str, user: str, made: str, tmp_path: Path
) -> None:
    done = ran(client, secured, Way("OAUTH_SSL", OAUTHBEARER), made, tmp_path, user=user)
    assert done.returncode != 0
    said = (done.stdout + done.stderr).lower()
    if client == "KafkaJS":
        # It does not answer the refusal, but goes on with a request: Apache Kafka says in its
        # answer that it may not, kafkapy decodes nothing of it and hangs up.
        assert "current sasl state" in said or "closed connection" in said
    else:
        assert "auth" in said


@covers("login-refused")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_another_password_is_refused_and_the_reason_told(
    secured: Secured, client: str, mechanism: str, made: str, tmp_path: Path
) -> None:
    way = Way("SASL_SSL", mechanism)
    done = ran(client, secured, way, made, tmp_path, password="another")
    assert done.returncode != 0
    assert "auth" in (done.stdout + done.stderr).lower()


@covers("wrong-authority")
def test_a_server_of_another_authority_is_not_believed(
    secured: Secured, client: str, made: str, tmp_path: Path
) -> None:
    other = secured.certificates.other_authority
    done = ran(client, secured, Way("SSL"), made, tmp_path, authority=other)
    assert done.returncode != 0
