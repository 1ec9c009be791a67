"""Command-line consoles of others, and Burrow, used as somebody would who looks after topics."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2 as httpx
import pytest

from exporter_tests.conftest import commit, program
from kafkapy.server.sockets.free_ports import free_ports
from kafkapy.testing import Broker
from tests.http.pages import HTTP

_SECONDS: Final = 60.0
_SECURED: Final = {
    **HTTP,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


class Tool:
    """A program with what it always takes; its home is the test's."""

    def __init__(self, home: Path, *command: str | Path) -> None:
        self._home = home
        self._command = command

    def __call__(self, *arguments: str, told: str = "") -> str:
        ran = subprocess.run(
            [*self._command, *arguments],
            input=told,
            cwd=self._home,
            env={**os.environ, "HOME": str(self._home)},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr)
        return ran.stdout + ran.stderr


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(_SECURED) as broker:
        yield broker


def test_kaf(kafka: Broker, tmp_path: Path) -> None:
    kaf = Tool(tmp_path, program("kaf"), "-b", kafka.bootstrap)
    assert kafka.bootstrap in kaf("node", "ls")
    kaf("topic", "create", "orders", "-p", "3", "-r", "1")
    assert kafka.topics() == {"orders": 3}
    assert "orders" in kaf("topics")
    kaf("produce", "orders", "-k", "key", told="hello\nworld\n")
    assert [one.value for one in kafka.records("orders")] == [b"hello", b"world"]
    read = kaf("consume", "orders", "--offset", "oldest", "--limit-messages", "2")
    assert "hello" in read
    assert "world" in read
    commit(kafka, "readers", [0, 0, 0])
    assert "readers" in kaf("groups")
    assert "Empty" in kaf("group", "describe", "readers")
    assert "Summed HighWatermark:  2" in kaf("topic", "describe", "orders")
    kaf("group", "delete", "readers")
    kaf("topic", "delete", "orders")
    assert kafka.topics() == {}


def test_kafkactl(kafka: Broker, tmp_path: Path) -> None:
    config = tmp_path / "config.yml"
    config.write_text(f"contexts:\n  default:\n    brokers:\n    - {kafka.bootstrap}\n")
    kafkactl = Tool(tmp_path, program("kafkactl"), "-C", config)
    assert kafka.bootstrap in kafkactl("get", "brokers")
    kafkactl("create", "topic", "orders", "--partitions", "2", "--replication-factor", "1")
    kafkactl("produce", "orders", "--key", "k", "--value", "v", "-p", "0")
    kafkactl("produce", "orders", "-p", "1", told="a\nb\n")
    read = kafkactl("consume", "orders", "--from-beginning", "--exit", "-o", "json")
    assert all(f'"Value": "{value}"' in read for value in "vab")
    kafkactl("create", "consumer-group", "billing", "--topic", "orders", "--oldest")
    assert kafka.lag("billing") == 3
    kafkactl(
        "reset", "consumer-group-offset", "billing", "--topic", "orders", "--newest", "--execute"
    )
    assert kafka.lag("billing") == 0
    kafkactl("alter", "topic", "orders", "--partitions", "4", "--config", "retention.ms=10000")
    told = json.loads(kafkactl("describe", "topic", "orders", "-o", "json"))
    assert len(told["Partitions"]) == 4
    assert {"Name": "retention.ms", "Value": "10000"} in told["Configs"]
    assert "node.id" in kafkactl("describe", "broker", "1")
    kafkactl("clone", "topic", "orders", "copied")
    kafkactl("clone", "consumer-group", "billing", "copied")
    assert {"billing", "copied"} <= {one.group_id for one in kafka.groups()}
    kafkactl("delete", "records", "orders", "--offset", "1=1")
    assert [one.value for one in kafka.records("orders")] == [b"v", b"b"]
    acl = ("--topic", "orders", "--operation", "read")
    kafkactl("create", "acl", *acl, "--principal", "User:carol", "--allow")
    assert "User:carol" in kafkactl("get", "acl")
    kafkactl("delete", "acl", "--topics", "--operation", "read", "--pattern", "literal")
    assert "User:carol" not in kafkactl("get", "acl")
    kafkactl("delete", "consumer-group", "billing")
    kafkactl("delete", "topic", "orders")
    assert set(kafka.topics()) == {"copied"}


_BURROW: Final = """
[httpserver.default]
address="127.0.0.1:{port}"
[client-profile.own]
kafka-version="3.6.0"
[cluster.local]
class-name="kafka"
servers=["{bootstrap}"]
client-profile="own"
offset-refresh=1
[consumer.local]
class-name="kafka"
cluster="local"
servers=["{bootstrap}"]
client-profile="own"
"""


def test_burrow_reads_groups_from_the_offsets_topic(node: Broker, tmp_path: Path) -> None:
    """It sees what is committed from its start on."""
    [port] = free_ports(1)
    text = _BURROW.format(port=port, bootstrap=node.bootstrap)
    (tmp_path / "burrow.toml").write_text(text)
    command: list[str | Path] = [program("Burrow"), "--config-dir", tmp_path]
    with open(tmp_path / "log", "wb") as log:
        running = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}/v3/kafka/local/consumer/billing/lag"
        status, deadline = dict[str, Any](), time.monotonic() + _SECONDS
        while status.get("totallag") != 135:
            assert time.monotonic() < deadline, status
            commit(node, "billing", [100, 60, 5])
            try:
                answer = httpx.get(url, trust_env=False, timeout=30)
                status = answer.json().get("status", {}) if answer.status_code == 200 else {}
            except httpx.TransportError:
                pass  # it starts
            time.sleep(0.2)
        worst = status["maxlag"]
        assert (worst["topic"], worst["partition"], worst["current_lag"]) == ("orders", 2, 95)
    finally:
        running.terminate()
        running.wait(30)
