"""Reassignments and elections."""

import json

import pytest

from compat_tests.cluster_tools.conftest import Hold
from compat_tests.cluster_tools.transcript import CONTROLLERS, Told

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-tools")]

REASSIGN, PLAN = "kafka-reassign-partitions", "--reassignment-json-file"


def test_replicas_move_by_a_plan_with_a_throttle(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create_and_fill(told, "moved", "1:2,2:3")
        file = plan(told, "moved", {0: [3, 1], 1: [1, 2]})
        told.tool(REASSIGN, PLAN, file, "--execute", "--throttle", "10000000")
        told.until(
            "both have moved", REASSIGN, PLAN, file, "--verify", "--preserve-throttles",
            says=lambda text: text.count("is completed") == 2,
        )  # fmt: skip
        told.tool(REASSIGN, "--list")
        entity = ("--entity-type", "topics", "--entity-name", "moved")
        told.tool("kafka-configs", "--describe", *entity)
        told.tool("kafka-configs", "--describe", "--entity-type", "brokers")
        told.tool("kafka-topics", "--describe", "--topic", "moved")
        told.tool(REASSIGN, PLAN, file, "--verify")
        told.tool("kafka-configs", "--describe", *entity)
        elect = ("kafka-leader-election", "--election-type", "preferred")
        told.tool(*elect, "--topic", "moved", "--partition", "0")
        told.tool(*elect, "--topic", "moved", "--partition", "0")
        rows = [{"topic": "moved", "partition": at} for at in (1, 77)]
        file = told.file("elect.json", json.dumps({"partitions": rows}))
        told.tool(*elect, "--path-to-json-file", file)
        unclean = ("kafka-leader-election", "--election-type", "unclean")
        told.tool(*unclean, "--topic", "moved", "--partition", "0")
        told.until("both lead", *DESCRIBE, "moved", says=lambda text: "Leader: 3" in text)
        told.tool(*DESCRIBE, "moved")

    said = hold(conversation)
    assert any("follower.replication.throttled.replicas=0:3,1:1" in line for line in said)
    assert any("Leader: 3\tReplicas: 3,1" in line for line in said)


def test_a_move_under_way_is_listed_and_cancelled(hold: Hold) -> None:
    """A byte a second: it does not end by itself."""

    def conversation(told: Told) -> None:
        create_and_fill(told, "slow", "1:2,1:2")
        told.prepare(
            "kafka-producer-perf-test", "--topic", "slow", "--num-records", "3000",
            "--record-size", "1000", "--throughput", "-1", "--command-property", "acks=all",
        )  # fmt: skip
        file = plan(told, "slow", {0: [1, 3], 1: [1, 3]})
        told.tool(REASSIGN, PLAN, file, "--execute", "--throttle", "1")
        told.tool(REASSIGN, "--list")
        told.tool(REASSIGN, "--list", to=CONTROLLERS)
        told.tool(REASSIGN, PLAN, file, "--verify", "--preserve-throttles")
        told.tool(*DESCRIBE, "slow")
        told.tool("kafka-topics", "--describe", "--under-replicated-partitions", "--topic", "slow")
        other = plan(told, "slow", {0: [1, 2, 3]})
        told.tool(REASSIGN, PLAN, other, "--execute")
        told.tool(REASSIGN, PLAN, other, "--execute", "--additional", "--throttle", "2")
        told.tool(REASSIGN, "--list")
        told.tool("kafka-configs", "--describe", "--entity-type", "brokers")
        told.tool(REASSIGN, PLAN, file, "--cancel")
        told.tool(REASSIGN, "--list")
        told.until(
            "they are where they were", *DESCRIBE, "slow",
            says=lambda text: text.count("Replicas: 1,2\t") == 2,
        )  # fmt: skip
        told.tool(*DESCRIBE, "slow")
        told.tool("kafka-configs", "--describe", "--entity-type", "brokers")

    said = hold(conversation)
    assert any("slow-0: replicas: 1,3,2. adding: 3. removing: 2" in line for line in said)


def test_plans_that_cannot_be_are_refused(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        told.tool("kafka-topics", "--create", "--topic", "stays", "--replica-assignment", "1:2")
        unknown = plan(told, "stays", {0: [1, 9]})
        told.tool(REASSIGN, PLAN, unknown, "--execute")
        told.tool(REASSIGN, PLAN, unknown, "--execute", to=CONTROLLERS)
        missing = plan(told, "stays", {77: [1, 2]})
        for action in ("--execute", "--verify", "--cancel"):
            told.tool(REASSIGN, PLAN, missing, action)
        elect = ("kafka-leader-election", "--election-type", "preferred", "--topic")
        told.tool(*elect, "stays", "--partition", "77")
        told.tool(*elect, "no-such-topic", "--partition", "0")
        told.tool(*DESCRIBE, "stays")

    hold(conversation)


DESCRIBE = ("kafka-topics", "--describe", "--topic")


def create_and_fill(told: Told, topic: str, assignment: str) -> None:
    told.tool("kafka-topics", "--create", "--topic", topic, "--replica-assignment", assignment)
    told.prepare(
        "kafka-producer-perf-test", "--topic", topic, "--num-records", "500",
        "--record-size", "100", "--throughput", "-1", "--command-property", "acks=all",
    )  # fmt: skip


def plan(told: Told, topic: str, wanted: dict[int, list[int]]) -> str:
    rows = [{"topic": topic, "partition": at, "replicas": to} for at, to in wanted.items()]
    name = f"{topic}-{len(told.said)}.json"
    return told.file(name, json.dumps({"version": 1, "partitions": rows}))
