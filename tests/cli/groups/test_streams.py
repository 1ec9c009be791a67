"""`kafkapy groups` about streams groups, against a real broker in this process."""

import json
from typing import Any

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.finding import GROUP, coordinator
from kafkapy.cli.main import main
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

READS = {
    "subtopology_id": "0",
    "source_topics": ["orders"],
    "source_topic_regex": [],
    "state_changelog_topics": [],
    "repartition_sink_topics": [],
    "repartition_source_topics": [],
    "copartition_groups": [],
}


def join(kafka: Broker, group: str) -> None:
    tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    body = {
        "group_id": group,
        "member_id": "me",
        "member_epoch": 0,
        "endpoint_information_epoch": -1,
        "rebalance_timeout": 10_000,
        "topology": {"epoch": 0, "subtopologies": [READS]},
        "process_id": "here",
        "client_tags": [],
        "task_offsets": None,
        "task_end_offsets": None,
        **tasks,
    }
    with coordinator(kafka.bootstrap, GROUP, group):
        pass  # it is there
    with Client(kafka.bootstrap) as client:
        answer = client._ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, body)
    assert answer.error_code == 0, answer


def test_a_streams_group_is_described_with_who_reads_what(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Broker({"group.streams.initial.rebalance.delay.ms": "0"}) as kafka:
        kafka.create_topic("orders", 2)
        join(kafka, "app")
        arguments = ["groups", "describe", "app", "--bootstrap-server", kafka.bootstrap]
        assert main([*arguments, "--json"]) == 0
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        told = [(row["topic"], row["partition"], row["member"], row["end"]) for row in rows]
        assert told == [("orders", 0, "me", 0), ("orders", 1, "me", 0)]
        assert main(arguments) == 0
        assert "app: streams, Stable, 1 members" in capfd.readouterr().out
