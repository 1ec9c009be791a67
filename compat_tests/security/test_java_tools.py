"""Apache Kafka's own tools log in by client.properties, and change who may."""

from pathlib import Path

import pytest

from compat_tests.behaviours import covers
from compat_tests.oracle import run_tool
from compat_tests.security.servers import (
    STORE_PASSWORD,
    USER,
    Secured,
    Way,
    jaas,
    row,
)

# One server of each kind serves them all.
_TIMEOUTS = "default.api.timeout.ms=15000\nrequest.timeout.ms=10000"
pytestmark = [pytest.mark.xdist_group("secured"), pytest.mark.client("java_tools")]


def properties(server: Secured, way: Way, path: Path, *, password: str | None = None) -> str:
    files = server.certificates
    lines = [f"security.protocol={way.protocol}", _TIMEOUTS]
    if way.mechanism is not None:
        login = jaas(way.mechanism) if password is None else jaas(way.mechanism, USER, password)
        lines += [f"sasl.mechanism={way.mechanism}", f"sasl.jaas.config={login}"]
    if way.has_tls:
        lines += [f"ssl.truststore.location={files.trusted_p12}", "ssl.truststore.type=PKCS12"]
        lines += [f"ssl.truststore.password={STORE_PASSWORD}"]
    if way.listener == "MTLS":
        lines += [f"ssl.keystore.location={files.client_p12}", "ssl.keystore.type=PKCS12"]
        lines += [f"ssl.keystore.password={STORE_PASSWORD}"]
    (path / "client.properties").write_text("\n".join(lines) + "\n")
    return str(path / "client.properties")


# Each costs the start of a JVM.
_SOME = (Way("SSL"), Way("MTLS"), Way("SASL_PLAINTEXT", "SCRAM-SHA-256"), Way("SASL_SSL", "PLAIN"))


@pytest.mark.parametrize("way", [pytest.param(way, id=str(way), marks=row(way)) for way in _SOME])
def test_a_topic_is_made_and_seen(secured: Secured, topic: str, tmp_path: Path, way: Way) -> None:
    where = ["--bootstrap-server", secured.address(way.listener)]
    where += ["--command-config", properties(secured, way, tmp_path)]
    made = run_tool("kafka-topics", *where, "--create", "--topic", topic, "--partitions", "1")
    assert made.returncode == 0, made.stdout + made.stderr


@covers("login-refused")
def test_who_has_another_password_is_told_so(secured: Secured, tmp_path: Path) -> None:
    way = Way("SASL_SSL", "SCRAM-SHA-512")
    where = ["--bootstrap-server", secured.address(way.listener)]
    where += ["--command-config", properties(secured, way, tmp_path, password="wrong")]
    told = run_tool("kafka-topics", *where, "--list")
    assert told.returncode != 0
    assert (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism SCRAM-SHA-512"
    ) in told.stdout + told.stderr


@covers("users", "sasl-scram")
def test_a_user_is_made_logs_in_and_is_gone(secured: Secured, tmp_path: Path) -> None:
    users = ["--bootstrap-server", secured.address("PLAINTEXT"), "--entity-type", "users"]
    users += ["--entity-name", "bob"]
    made = run_tool("kafka-configs", *users, "--alter", "--add-config",
                    "SCRAM-SHA-256=[iterations=8192,password=bobs]")  # fmt: skip
    assert "Completed updating config for user bob" in made.stdout, made.stderr
    told = run_tool("kafka-configs", *users, "--describe")
    assert "SCRAM-SHA-256=iterations=8192" in told.stdout, told.stderr
    way = Way("SASL_PLAINTEXT", "SCRAM-SHA-256")
    path = tmp_path / "bob.properties"
    path.write_text(
        f"security.protocol={way.protocol}\nsasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.jaas.config={jaas('SCRAM-SHA-256', 'bob', 'bobs')}\n{_TIMEOUTS}\n"
    )
    where = ["--bootstrap-server", secured.address(way.listener), "--command-config", str(path)]
    assert run_tool("kafka-topics", *where, "--list").returncode == 0
    gone = run_tool("kafka-configs", *users, "--alter", "--delete-config", "SCRAM-SHA-256")
    assert "Completed updating config for user bob" in gone.stdout, gone.stderr
    assert run_tool("kafka-topics", *where, "--list").returncode != 0
