"""`kafkapy acls` against a real broker in this process."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture(autouse=True)
def no_acls(kafka: Broker) -> None:
    assert run(kafka, "remove", "--all") == 0


def run(kafka: Broker, *arguments: str) -> int:
    return main(["acls", *arguments, "--bootstrap-server", kafka.bootstrap])


def rows(kafka: Broker, capfd: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capfd.readouterr()
    assert run(kafka, *arguments, "--json") == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_acls_are_added_listed_and_removed(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert rows(kafka, capfd, "list") == []
    add = ("add", "--allow", "User:alice", "--operation", "read,describe", "--topic", "orders")
    dry = rows(kafka, capfd, *add, "--dry-run")
    assert rows(kafka, capfd, "list") == []
    assert rows(kafka, capfd, *add) == dry
    found = rows(kafka, capfd, "list")
    assert {row["operation"] for row in found} == {"read", "describe"}
    assert found[1] == {
        "resource": "topic",
        "pattern": "literal",
        "name": "orders",
        "principal": "User:alice",
        "host": "*",
        "operation": "read",
        "permission": "allow",
    }
    remove = ("remove", "--topic", "orders", "--operation", "read")
    assert rows(kafka, capfd, *remove, "--dry-run") == [found[1]]
    assert len(rows(kafka, capfd, "list")) == 2
    assert rows(kafka, capfd, *remove) == [found[1]]
    assert rows(kafka, capfd, "list") == [found[0]]


def test_prefixes_hosts_denials_and_the_cluster(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    host = ("--host", "10.0.0.1", "--host", "10.0.0.2")
    run(
        kafka, "add", "--deny", "User:*", "--operation", "all", "--topic", "a-", "--prefixed", *host
    )
    run(kafka, "add", "--allow", "User:bob", "--operation", "cluster-action", "--cluster")
    run(kafka, "add", "--allow", "User:bob", "--operation", "write", "--transactional-id", "t")
    assert len(rows(kafka, capfd, "list")) == 4
    assert len(rows(kafka, capfd, "list", "--topic", "a-1")) == 0
    matching = rows(kafka, capfd, "list", "--topic", "a-1", "--matching")
    assert {(row["pattern"], row["host"]) for row in matching} == {
        ("prefixed", "10.0.0.1"),
        ("prefixed", "10.0.0.2"),
    }
    ofbob = rows(kafka, capfd, "list", "--principal", "User:bob")
    assert {row["resource"] for row in ofbob} == {"cluster", "transactional-id"}
    assert rows(kafka, capfd, "list", "--cluster")[0]["name"] == "kafka-cluster"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", "--allow", "User:a", "--operation", "read"), "name a resource"),
        (("add", "--allow", "a", "--operation", "read", "--topic", "x"), "no colon"),
        (("add", "--allow", "User:a", "--operation", "fly", "--topic", "x"), "expected one of"),
        (("remove",), "say --all"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    kafka: Broker, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    capfd.readouterr()
    assert run(kafka, *arguments) == 1
    assert sentence in capfd.readouterr().err


def test_without_an_authorizer_there_is_nothing_to_add_to(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Broker() as plain:
        assert run(plain, "list") == 1
    assert "SECURITY_DISABLED" in capfd.readouterr().err
