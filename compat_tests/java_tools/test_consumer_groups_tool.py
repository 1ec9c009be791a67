"""kafka-consumer-groups: every way to reset offsets, and all that it shows of a group.

The expected rows are written down once and hold for both servers, so the outputs are equal.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import TopicPartition

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create, delivered, producer
from compat_tests.confluent_kafka.test_groups import BOTH, committed, member, wait_for_split
from compat_tests.java_tools.tools import failing, tool

HOUR_MS = 3_600_000
START_MS = 1_700_000_000_000


class Row(NamedTuple):
    topic: str
    partition: int
    offset: int


def fill(broker: str, topic: str, group: str) -> None:
    """Ten records in each of two partitions, an hour apart, and the group at 4 and 6."""
    create(broker, topic, partitions=2, configs={"retention.ms": "-1"})
    records = [
        {
            "topic": topic,
            "value": b"%d" % number,
            "partition": partition,
            "timestamp": START_MS + number * HOUR_MS,
        }
        for number in range(10)
        for partition in range(2)
    ]
    delivered(producer(broker), records)
    with member(broker, group) as client:
        offsets = [TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 6)]
        client.commit(offsets=offsets, asynchronous=False)


def reset(broker: str, group: str, how: list[str], act: str) -> list[Row]:
    said = tool("kafka-consumer-groups", broker, "--group", group, "--reset-offsets", act, *how)
    found = re.findall(rf"^{group}\s+(\S+)\s+(\d+)\s+(\d+)\s*$", said, re.MULTILINE)
    return sorted(Row(topic, int(number), int(offset)) for topic, number, offset in found)


def both(broker: str, group: str, topic: str) -> tuple[int, int]:
    return tuple(committed(broker, group, topic, number).offset for number in (0, 1))  # type: ignore[return-value]  # a pair


@covers("alter-offsets", "offset-reset", "list-group-offsets")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        pytest.param(how.split(), expected, id=how.replace("--", "").replace(" ", "-"))
        for how, expected in (
            ("--shift-by 2", (6, 8)),
            ("--shift-by -20", (0, 0)),
            ("--to-latest", (10, 10)),
            ("--to-earliest", (0, 0)),
            ("--to-offset 7", (7, 7)),
            ("--to-offset 99", (10, 10)),
            ("--to-datetime 2023-11-15T01:13:20.000Z", (3, 3)),
            ("--to-datetime 2099-01-01T00:00:00.000Z", (10, 10)),
            ("--by-duration P3650D", (0, 0)),
            ("--by-duration PT1S", (10, 10)),
            ("--to-current", (4, 6)),
        )
    ],
)
def test_every_way_to_reset_offsets(
    broker: str, topic: str, group: str, how: list[str], expected: tuple[int, int]
) -> None:
    """A dry run says what would be, and nothing is; executed it is."""
    fill(broker, topic, group)
    rows = [Row(topic, number, offset) for number, offset in enumerate(expected)]
    assert reset(broker, group, ["--topic", topic, *how], "--dry-run") == rows
    assert both(broker, group, topic) == (4, 6)
    assert reset(broker, group, ["--topic", topic, *how], "--execute") == rows
    assert both(broker, group, topic) == expected


@covers("alter-offsets", "offset-reset", "describe-group")
@pytest.mark.slow
def test_a_plan_is_exported_and_executed_from_its_file(
    broker: str, topic: str, group: str, tmp_path: Path
) -> None:
    fill(broker, topic, group)
    what = ["--group", group, "--reset-offsets", "--to-current", "--topic", topic, "--export"]
    exported = tool("kafka-consumer-groups", broker, *what)
    assert {line.replace('"', "") for line in exported.split()} == {f"{topic},0,4", f"{topic},1,6"}
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,2\n{topic},1,5\n")
    rows = [Row(topic, 0, 2), Row(topic, 1, 5)]
    assert reset(broker, group, ["--from-file", str(plan)], "--execute") == rows
    rows = [Row(topic, 0, 3), Row(topic, 1, 6)]
    assert reset(broker, group, ["--all-topics", "--shift-by", "1"], "--execute") == rows
    said = tool("kafka-consumer-groups", broker, "--describe", "--group", group)
    for partition, at, lag in ((0, 3, 7), (1, 6, 4)):
        row = rf"^{group}\s+{topic}\s+{partition}\s+\S*\s*{at}\s+10\s+{lag}\s"
        assert re.search(row, said, re.MULTILINE), said


@covers("describe-group", "list-groups", "delete-group", "delete-offsets", "alter-offsets")
@pytest.mark.slow
@BOTH
def test_what_the_tool_shows_and_refuses_of_a_group_in_use(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic, partitions=2)
    asked = ["--describe", "--group", group]
    with member(broker, group, protocol, client_id="the-one") as client:
        client.subscribe([topic])
        wait_for_split([client], 2)
        said = tool("kafka-consumer-groups", broker, *asked, "--state", "--verbose")
        assert re.search(rf"{group}\s+127\.0\.0\.1:\d+\s+\(\d+\)\s+\S+\s+Stable\b", said), said
        said = tool("kafka-consumer-groups", broker, *asked, "--members", "--verbose")
        assert re.search(rf"{group}\s+\S+\s+/127\.0\.0\.1\s+the-one\s+2\s", said), said
        assert re.search(rf"{topic}(\(0,1\)|:0,1)", said), said
        said = failing("kafka-consumer-groups", broker, "--delete", "--group", group)
        assert "The group is not empty" in said
        where = ["--group", group, "--topic", topic, "--delete-offsets"]
        assert "actively subscribed" in failing("kafka-consumer-groups", broker, *where)
        where = ["--group", group, "--topic", topic, "--reset-offsets", "--to-earliest"]
        said = failing("kafka-consumer-groups", broker, *where, "--execute")
        assert "inactive" in said
    said = tool("kafka-consumer-groups", broker, "--list", "--state", "Empty")
    assert re.search(rf"^{group}\s", said, re.MULTILINE), said
    reset(broker, group, ["--topic", topic, "--to-earliest"], "--execute")
    said = tool("kafka-consumer-groups", broker, *where[:4], "--delete-offsets")
    assert said.count("Successful") >= 2, said
