"""`kafkapy users` and `kafkapy tokens` against a real broker: who logs in by what they make."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.broker.config.security.jaas import SCRAM_MODULE
from kafkapy.cli.main import main
from kafkapy.cli.security import users
from kafkapy.testing import Broker

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SECURE://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT,"
    "CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "delegation.token.secret.key": "a secret of all nodes",
    "connection.failed.authentication.delay.ms": "1",
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users.sys, "stdin", io.StringIO("her secret\n"))  # type: ignore[attr-defined]


def run(kafka: Broker, *arguments: str, login: Path | None = None) -> int:
    where = ["--bootstrap-server", kafka.bootstrap]
    if login is not None:
        port = kafka._call(lambda broker: broker.endpoints.broker[1].port)
        where = ["--bootstrap-server", f"127.0.0.1:{port}", "--command-config", str(login)]
    return main([*arguments, *where])


def rows(
    kafka: Broker,
    capfd: pytest.CaptureFixture[str],
    *arguments: str,
    login: Path | None = None,
) -> list[dict[str, Any]]:
    capfd.readouterr()
    assert run(kafka, *arguments, "--json", login=login) == 0, capfd.readouterr().err
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def properties(path: Path, user: str, password: str, more: str = "") -> Path:
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={SCRAM_MODULE} required username="{user}" password="{password}"{more};\n'
    )
    return path


@pytest.mark.usefixtures("typed")
def test_users_come_and_go(kafka: Broker, capfd: pytest.CaptureFixture[str]) -> None:
    add = ("users", "add", "bob", "--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512")
    dry = rows(kafka, capfd, *add, "--dry-run")
    assert rows(kafka, capfd, "users", "list", "bob") == []
    assert rows(kafka, capfd, *add) == dry
    assert rows(kafka, capfd, "users", "list", "bob") == dry
    assert [row["mechanism"] for row in dry] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    one = ("users", "remove", "bob", "--mechanism", "SCRAM-SHA-256")
    assert rows(kafka, capfd, *one, "--dry-run") == dry[:1]
    assert rows(kafka, capfd, *one) == dry[:1]
    assert rows(kafka, capfd, "users", "remove", "bob") == dry[1:]
    assert run(kafka, "users", "remove", "bob") == 1
    assert "bob has no such credential" in capfd.readouterr().err


def test_nobody_gets_an_empty_password(
    kafka: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users.sys, "stdin", io.StringIO(""))  # type: ignore[attr-defined]
    assert run(kafka, "users", "add", "carol") == 1
    assert "empty password" in capfd.readouterr().err


@pytest.mark.usefixtures("typed")
def test_a_token_lives_from_its_making_to_its_end(
    kafka: Broker, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(kafka, "users", "add", "alice") == 0
    alice = properties(tmp_path / "alice", "alice", "her secret")
    renewer = ("--renewer", "User:bob", "--max-lifetime-ms", "3600000")
    (shown_only,) = rows(kafka, capfd, "tokens", "create", *renewer, "--dry-run", login=alice)
    assert (shown_only["renewers"], shown_only["max_lifetime_ms"]) == (["User:bob"], 3_600_000)
    assert rows(kafka, capfd, "tokens", "list", login=alice) == []
    (token,) = rows(kafka, capfd, "tokens", "create", *renewer, login=alice)
    assert (token["owner"], token["renewers"]) == ("User:alice", ["User:bob"])
    assert token["max_expires"] - token["issued"] == 3_600_000
    assert rows(kafka, capfd, "tokens", "list", login=alice) == [token]
    assert rows(kafka, capfd, "tokens", "list", "--owner", "User:eve", login=alice) == []
    holder = properties(tmp_path / "holder", token["token_id"], token["hmac"], ' tokenauth="true"')
    assert run(kafka, "topics", "list", login=holder) == 0
    capfd.readouterr()
    assert run(kafka, "tokens", "list", login=holder) == 1
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in capfd.readouterr().err
    shown = ("--hmac", token["hmac"])
    assert rows(kafka, capfd, "tokens", "renew", *shown, "--dry-run", login=alice) == [token]
    (renewed,) = rows(kafka, capfd, "tokens", "renew", *shown, "--period-ms", "600000", login=alice)
    assert token["issued"] < renewed["expires"] < token["expires"]
    assert run(kafka, "tokens", "list", login=alice) == 0
    assert run(kafka, "tokens", "expire", *shown, login=alice) == 0
    assert rows(kafka, capfd, "tokens", "list", login=alice) == []
    assert run(kafka, "topics", "list", login=holder) == 1
    assert "login refused" in capfd.readouterr().err


def test_whoever_has_not_logged_in_gets_no_token(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "tokens", "create") == 1
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in capfd.readouterr().err
