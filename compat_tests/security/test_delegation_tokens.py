"""Apache Kafka's kafka-delegation-tokens, and a login by what it made, on both servers."""

import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from compat_tests.behaviours import covers
from compat_tests.oracle import run_tool
from compat_tests.security.servers import Secured, jaas

# One server of each kind serves them all.
pytestmark = [
    pytest.mark.xdist_group("secured"),
    pytest.mark.client("java_tools"),
    covers("delegation-tokens"),
]
_MECHANISM = "SCRAM-SHA-256"
_ROW = re.compile(
    r"^(?P<id>[\w-]{22})\s+(?P<hmac>[A-Za-z0-9+/]{86}==)\s+User:alice\b", re.MULTILINE
)


def properties(path: Path, login: str) -> list[str]:
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={_MECHANISM}\n"
        f"sasl.jaas.config={login}\ndefault.api.timeout.ms=15000\nrequest.timeout.ms=10000\n"
    )
    return ["--command-config", str(path)]


class Tokens:
    def __init__(self, server: Secured, directory: Path) -> None:
        self.where = ["--bootstrap-server", server.address("SASL_PLAINTEXT")]
        self.alice = properties(directory / "alice", jaas(_MECHANISM))
        self._directory = directory

    def run(self, *arguments: str) -> CompletedProcess[str]:
        return run_tool("kafka-delegation-tokens", *self.where, *self.alice, *arguments)

    def told(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def holder(self, token_id: str, hmac: str) -> list[str]:
        login = jaas(_MECHANISM, token_id, hmac, is_token=True)
        return [*self.where, *properties(self._directory / "holder", login)]


@pytest.fixture
def tokens(secured: Secured, tmp_path: Path) -> Tokens:
    return Tokens(secured, tmp_path)


def test_a_token_is_made_renewed_used_and_ended(tokens: Tokens) -> None:
    made = tokens.told(
        "--create", "--max-life-time-period", "3600000", "--renewer-principal", "User:bob"
    )
    row = _ROW.search(made)
    assert row is not None, made
    assert "User:bob" in made
    assert row["hmac"] in tokens.told("--describe", "--owner-principal", "User:alice")
    assert row["hmac"] not in tokens.told("--describe", "--owner-principal", "User:eve")
    tokens.told("--renew", "--renew-time-period", "600000", "--hmac", row["hmac"])
    holder = tokens.holder(row["id"], row["hmac"])
    assert run_tool("kafka-topics", *holder, "--list").returncode == 0
    more = run_tool("kafka-delegation-tokens", *holder, "--create", "--max-life-time-period", "-1")
    assert more.returncode != 0
    assert "DelegationTokenDisabledException" not in more.stdout + more.stderr
    assert "UnsupportedByAuthenticationException" in more.stdout + more.stderr
    tokens.told("--expire", "--expiry-time-period", "-1", "--hmac", row["hmac"])
    assert row["hmac"] not in tokens.told("--describe")
    assert run_tool("kafka-topics", *holder, "--list").returncode != 0
    gone = tokens.run("--renew", "--renew-time-period", "-1", "--hmac", row["hmac"])
    assert gone.returncode != 0
    assert "DelegationTokenNotFoundException" in gone.stdout + gone.stderr


def test_who_is_nobody_gets_none(secured: Secured, tmp_path: Path) -> None:
    path = tmp_path / "nobody"
    path.write_text("default.api.timeout.ms=15000\nrequest.timeout.ms=10000\n")
    where = ["--bootstrap-server", secured.address("PLAINTEXT"), "--command-config", str(path)]
    done = run_tool("kafka-delegation-tokens", *where, "--create", "--max-life-time-period", "-1")
    assert done.returncode != 0
    assert "UnsupportedByAuthenticationException" in done.stdout + done.stderr
