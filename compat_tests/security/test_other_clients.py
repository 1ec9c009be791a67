"""franz-go, sarama, KafkaJS and Kafka's Java clients log in by each mechanism that they know, over
TLS and not, and are refused alike, on both servers."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests import programs
from compat_tests.behaviours import covers
from compat_tests.installation import JAVA_CLIENTS, Unavailable, require
from compat_tests.security.provider import FORGER, STRANGER
from compat_tests.security.raw import Tokens
from compat_tests.security.servers import (
    BAD_CERTIFICATES,
    EACH_WAY,
    MECHANISMS,
    OAUTHBEARER,
    PASSWORD,
    USER,
    Secured,
    Shown,
    Way,
    bad_certificate,
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


def java(version: str, main: str = "Login") -> Callable[[], list[str]]:
    return lambda: with_json(
        programs.java_program(_HERE / "java_clients", JAVA_CLIENTS[version], main)
    )


def with_json(command: list[str]) -> list[str]:
    """With what the clients' jar wants and does not bring, to read a provider's answers."""
    libs = require().libs
    jars = [str(jar) for name in ("jackson-*", "jose4j-*") for jar in libs.glob(f"{name}.jar")]
    at = command.index("-cp") + 1
    return [*command[:at], ":".join([command[at], *sorted(jars)]), *command[at + 1 :]]


JAVA: Final = {"Java 3.9": "3.9.1", "Java 4.4": "4.4.0"}
CLIENTS: Final[Mapping[str, Callable[[], list[str]]]] = {
    "franz-go": go("franz_go"),
    "sarama": go("sarama"),
    "KafkaJS": node,
    **{title: java(version) for title, version in JAVA.items()},
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


class Login(NamedTuple):
    way: Way
    user: str
    password: str
    authority: Path
    certificate: Shown | None
    is_token: bool


def ran(
    client: str,
    server: Secured,
    way: Way,
    topic: str,
    directory: Path,
    *,
    user: str = USER,
    password: str = PASSWORD,
    is_token: bool = False,
    authority: Path | None = None,
    certificate: Shown | None = None,
    program: str = "Login",
) -> subprocess.CompletedProcess[str]:
    """`certificate`: what it shows as its own. `program`: another one, of Java's clients."""
    try:
        command = CLIENTS[client]() if program == "Login" else java(JAVA[client], program)()
    except Unavailable as reason:
        pytest.skip(str(reason))
    authority = server.certificates.authority if authority is None else authority
    login = Login(way, user, password, authority, certificate, is_token)
    if client.startswith("Java"):
        file = directory / "client.properties"
        file.write_text(_properties(server, login))
        jvm, *rest = command
        command = [jvm, server.provider.java_option, *rest, str(file), topic]
    else:
        command = [*command, json.dumps(_order(server, login, topic))]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


def _order(server: Secured, login: Login, topic: str) -> dict[str, str | bool]:
    way = login.way
    order: dict[str, str | bool] = {"bootstrap": server.address(way.listener), "topic": topic}
    if way.mechanism is not None:
        order |= {"mechanism": way.mechanism, "user": login.user, "password": login.password}
        order["isToken"] = login.is_token
    if way.mechanism == OAUTHBEARER:
        order["token"] = server.provider.token(login.user)
    if way.has_tls:
        order["authority"] = str(login.authority)
    if login.certificate is not None:
        shown = login.certificate
        order |= {"certificate": str(shown.certificate), "key": str(shown.key)}
    return order


def _properties(server: Secured, login: Login) -> str:
    way = login.way
    lines = [f"bootstrap.servers={server.address(way.listener)}"]
    lines += [f"security.protocol={way.protocol}"]
    if way.mechanism == OAUTHBEARER:
        shown = {**showing_tokens(server.provider), "sasl.mechanism": OAUTHBEARER}
        shown["sasl.jaas.config"] = token_jaas(login.user)
        lines += [f"{key}={value}" for key, value in shown.items()]
    elif way.mechanism is not None:
        line = jaas(way.mechanism, login.user, login.password, is_token=login.is_token)
        lines += [f"sasl.mechanism={way.mechanism}", f"sasl.jaas.config={line}"]
    if way.has_tls:
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={login.authority}"]
    if login.certificate is not None:
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={login.certificate.both}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("way", EACH_WAY)
def test_records_go_there_and_come_back(
    secured: Secured, client: str, way: Way, made: str, tmp_path: Path
) -> None:
    shown = secured.certificates.client if way.listener == "MTLS" else None
    done = ran(client, secured, way, made, tmp_path, certificate=shown)
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


@covers("mtls", "login-refused")
@pytest.mark.parametrize("whose", BAD_CERTIFICATES)
def test_without_a_good_certificate_nobody_is_let_in(
    secured: Secured, client: str, whose: str, made: str, tmp_path: Path
) -> None:
    shown = bad_certificate(secured, whose)
    done = ran(client, secured, Way("MTLS"), made, tmp_path, certificate=shown)
    assert done.returncode != 0


# The others have no way to say that what they show is a token: tokenauth=true (KIP-48).
KNOWS_TOKENS: Final = ("franz-go", "Java 3.9", "Java 4.4")


@covers("delegation-tokens")
@pytest.mark.parametrize(
    "client", [pytest.param(one, marks=pytest.mark.client(_FOLDERS[one])) for one in KNOWS_TOKENS]
)
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_token_logs_in_until_it_has_ended(
    secured: Secured, client: str, mechanism: str, made: str, tmp_path: Path
) -> None:
    def shows(id: str, hmac: str) -> subprocess.CompletedProcess[str]:
        way = Way("SASL_SSL", mechanism)
        return ran(client, secured, way, made, tmp_path, user=id, password=hmac, is_token=True)

    with Tokens(secured) as tokens:
        token = tokens.make()
        done = shows(token.id, token.hmac_text)
        assert done.returncode == 0, done.stdout + done.stderr
        assert shows(token.id, "another").returncode != 0
        tokens.end(token)
    ended = shows(token.id, token.hmac_text)
    assert ended.returncode != 0
    assert "auth" in (ended.stdout + ended.stderr).lower()
