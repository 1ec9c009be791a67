"""`--command-config`: what the tools make of a client.properties."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.cli import login
from kafkapy.cli.login import ClientSecurity
from kafkapy.cli.main import Failed, main
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="alice" password="secret";'
)
PLAIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS}


class Server:
    """Knows PLAIN, and one password."""

    def __init__(self, password: bytes = b"secret") -> None:
        self.heard: list[ApiKey] = []
        self._token = b"\0alice\0" + password

    def ask(self, api: ApiKey, version: int, body: dict[str, Any]) -> Any:
        self.heard.append(api)
        if api is ApiKey.SASL_HANDSHAKE:
            code = 0 if body["mechanism"] == "PLAIN" else 33
            return SimpleNamespace(error_code=code, mechanisms=["PLAIN"])
        is_right = body["auth_bytes"] == self._token
        said = None if is_right else "Authentication failed"
        return SimpleNamespace(error_code=0 if is_right else 58, error_message=said, auth_bytes=b"")


def test_a_login_by_password() -> None:
    server = Server()
    ClientSecurity(PLAIN).log_in(server.ask)
    assert server.heard == [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]


def test_without_sasl_nobody_logs_in() -> None:
    server = Server()
    ClientSecurity({"client.id": "whatever"}).log_in(server.ask)
    assert server.heard == []


def test_a_refusal_is_told_without_the_password() -> None:
    with pytest.raises(Failed, match="login refused: Authentication failed"):
        ClientSecurity(PLAIN).log_in(Server(b"another").ask)


def test_a_mechanism_that_the_broker_does_not_know() -> None:
    scram = ClientSecurity({**PLAIN, "sasl.mechanism": "SCRAM-SHA-256"})
    with pytest.raises(Failed, match="the broker knows PLAIN, not SCRAM-SHA-256"):
        scram.log_in(Server().ask)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"security.protocol": "TELNET"}, "expected PLAINTEXT"),
        ({**PLAIN, "sasl.mechanism": "GSSAPI"}, "kafkapy knows PLAIN"),
        ({**PLAIN, "sasl.jaas.config": "nonsense"}, "sasl.jaas.config: it must be"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/no/such"},
            "ssl.truststore.location",
        ),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(Failed, match=sentence):
        ClientSecurity(given)


def test_every_command_that_asks_a_broker_takes_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=PLAINTEXT\n")
    with Broker() as broker:
        asked = ["--bootstrap-server", broker.bootstrap, "--command-config", str(config)]
        for command in (["topics", "list"], ["groups", "list"], ["quotas", "describe"]):
            assert main([*command, *asked]) == 0
    config.write_text("security.protocol=TELNET\n")
    assert main(["topics", "list", "--command-config", str(config)]) == 1
    assert main(["topics", "list", "--command-config", str(tmp_path / "none")]) == 1
    assert "--command-config" in capfd.readouterr().err


def test_it_holds_for_one_command(tmp_path: Path) -> None:
    """Whoever calls `main` in a process of theirs asks other servers later."""
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SSL\n")
    assert main(["topics", "list", "--command-config", str(config)]) == 1
    assert login.chosen().protocol == "PLAINTEXT"


def test_who_asks_all_the_time_says_it_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKAPY_COMMAND_CONFIG", str(tmp_path / "nowhere.properties"))
    assert main(["topics", "list"]) == 1
    assert "--command-config" in capsys.readouterr().err
