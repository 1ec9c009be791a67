"""kafkapy's own commands log in by client.properties at either server, as Kafka's tools do."""

import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.security.provider import FORGER
from compat_tests.security.servers import (
    OAUTHBEARER,
    USER,
    WAYS,
    Secured,
    Way,
    jaas,
    showing_tokens,
    token_jaas,
)

# One server of each kind serves them all.
pytestmark = pytest.mark.xdist_group("secured")


def properties(server: Secured, way: Way, path: Path, user: str = USER) -> str:
    files = server.certificates
    found = {"security.protocol": way.protocol}
    if way.mechanism == OAUTHBEARER:
        found |= {"sasl.mechanism": OAUTHBEARER, "sasl.jaas.config": token_jaas(user)}
        found |= showing_tokens(server.provider)
    elif way.mechanism is not None:
        found |= {"sasl.mechanism": way.mechanism, "sasl.jaas.config": jaas(way.mechanism, user)}
    if way.has_tls:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(files.authority)}
    if way.listener == "MTLS":
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(files.client.both)}
    path.write_text("".join(f"{key}={value}\n" for key, value in found.items()))
    return str(path)


def listed(server: Secured, way: Way, file: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kafkapy", "topics", "list", "--command-config", file]
    command += ["--bootstrap-server", server.address(way.listener)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_command_gets_in(secured: Secured, way: Way, tmp_path: Path) -> None:
    done = listed(secured, way, properties(secured, way, tmp_path / "client.properties"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("user", "told"), [(FORGER, "invalid_token"), ("nobody", "answered 401")])
def test_a_token_that_is_not_good_is_refused_and_one_that_is_not_issued_told(
    secured: Secured, user: str, told: str, tmp_path: Path
) -> None:
    """By the broker, and by the provider."""
    way = Way("OAUTH", OAUTHBEARER)
    done = listed(secured, way, properties(secured, way, tmp_path / "client.properties", user))
    assert done.returncode == 1
    assert told in done.stderr
    assert "secret" not in done.stderr
