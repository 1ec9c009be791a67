"""Lists that every broker has a part of, when one of them does not answer."""

import json
from collections.abc import Iterator

import pytest

from kafkapy.cli.finding import PARTIAL
from kafkapy.cli.main import main
from kafkapy.core.errors import ErrorCode
from kafkapy.testing import Cluster

Told = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    with Cluster(2, {"offsets.topic.num.partitions": "8"}) as cluster:
        cluster.create_topic("orders")
        yield cluster


@pytest.fixture(autouse=True)
def no_faults(kafka: Cluster) -> Iterator[None]:
    yield
    for node in kafka.nodes.values():
        node.faults.clear()


def run(kafka: Cluster, *arguments: str) -> int:
    return main([*arguments, "--bootstrap-server", kafka.bootstrap])


def consumed(kafka: Cluster, groups: list[str], told: Told) -> None:
    for group in groups:
        to_end = ("groups", "reset-offsets", group, "--topic", "orders", "--to-latest")
        assert run(kafka, *to_end) == 0
    told.readouterr()


def listed(told: Told) -> set[str]:
    return {json.loads(line)["group"] for line in told.readouterr().out.splitlines()}


@pytest.mark.parametrize("trouble", ["disconnect", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_groups_of_those_that_answer_are_listed_and_the_other_is_named(
    kafka: Cluster, capfd: Told, trouble: str
) -> None:
    groups = [f"g{number}" for number in range(12)]
    consumed(kafka, groups, capfd)
    assert run(kafka, "groups", "list", "--json") == 0
    assert listed(capfd) == set(groups)
    parts = []
    for silent in kafka.nodes:
        fault = kafka.node(silent).faults.on("ListGroups")
        fault.disconnect() if trouble == "disconnect" else fault.error(trouble)
        assert run(kafka, "groups", "list", "--json") == PARTIAL
        told = capfd.readouterr()
        parts.append({json.loads(line)["group"] for line in told.out.splitlines()})
        assert f"kafkapy: broker {silent}: " in told.err
        assert "not in the list" in told.err
        kafka.node(silent).faults.clear()
    assert all(parts)
    assert parts[0] | parts[1] == set(groups)
    assert not parts[0] & parts[1]


def test_transactions_of_those_that_answer_are_listed(kafka: Cluster, capfd: Told) -> None:
    kafka.node(2).faults.on("ListTransactions").disconnect()
    assert run(kafka, "transactions", "list") == PARTIAL
    told = capfd.readouterr()
    assert "no transactional ids" in told.out
    assert "kafkapy: broker 2: the broker at" in told.err


def test_where_nobody_answers_there_is_no_list(kafka: Cluster, capfd: Told) -> None:
    kafka.faults.on("ListGroups").disconnect()
    assert run(kafka, "groups", "list") == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert "broker 1: " in told.err
    assert "broker 2: " in told.err
    kafka.faults.clear()


def test_what_is_refused_to_all_is_no_gap(kafka: Cluster, capfd: Told) -> None:
    kafka.node(2).faults.on("ListGroups").error(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert run(kafka, "groups", "list") == 1
    assert "GROUP_AUTHORIZATION_FAILED" in capfd.readouterr().err
