"""kafka-share-groups, kafka-groups and kafka-console-share-consumer.

The expected rows are written down once and hold for both servers.
"""

import json
import re

import pytest

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create
from compat_tests.confluent_kafka.test_share_groups import begin_at_the_start, fill
from compat_tests.java_tools.tools import failing, tool
from compat_tests.waiting import wait_for

pytestmark = pytest.mark.slow
GROUPS = "kafka-share-groups"


def console(broker: str, group: str, topic: str, count: int, *arguments: str) -> list[str]:
    limits = ["--max-messages", str(count), "--timeout-ms", "30000"]
    said = tool(
        "kafka-console-share-consumer", broker, "--topic", topic, "--group", group, *limits,
        *arguments,
    )  # fmt: skip
    return said.splitlines()


def offsets(broker: str, group: str) -> list[tuple[str, str, str]]:
    """Partition, start offset and lag as they are shown."""
    said = tool(GROUPS, broker, "--describe", "--group", group)
    return re.findall(rf"^{group}\s+\S+\s+(\d+)\s+(\S+)\s+(\S+)\s*$", said, re.MULTILINE)


@covers("share-groups")
def test_what_the_console_consumer_reads_is_read(broker: str, topic: str) -> None:
    create(broker, topic, partitions=1)
    begin_at_the_start(broker, topic)
    fill(broker, topic, 7)
    assert sorted(console(broker, topic, topic, 7)) == [str(number) for number in range(7)]
    wait_for("nothing is left", lambda: [row[2] for row in offsets(broker, topic)] == ["0"])
    fill(broker, topic, 2)
    assert console(broker, topic, topic, 2) == ["0", "1"]


@covers("share-groups")
def test_the_verifiable_share_consumer_accepts_what_it_reads(
    broker: str, topic: str, is_disturbed: bool
) -> None:
    create(broker, topic, partitions=1)
    fill(broker, topic, 9)
    limits = ["--max-messages", "9", "--offset-reset-strategy", "earliest"]
    said = tool(
        "kafka-verifiable-share-consumer", broker, "--topic", topic, "--group-id", topic, *limits
    )
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    read = sum(one["count"] for one in told if one["name"] == "records_consumed")
    acknowledged = sum(
        one["count"] for one in told if one["name"] == "offsets_acknowledged" and one["success"]
    )
    # What could not be acknowledged because a leader moved is read once more.
    assert acknowledged == 9, said
    assert read == 9 or (is_disturbed and read > 9), said
    wait_for("nothing is left", lambda: [row[2] for row in offsets(broker, topic)] == ["0"])


@covers("share-groups", "list-groups", "delete-group")
def test_the_life_of_a_share_group_as_its_tool_tells_it(broker: str, topic: str) -> None:
    create(broker, topic, partitions=2)
    begin_at_the_start(broker, topic)
    fill(broker, topic, 5)
    console(broker, topic, topic, 5)
    assert topic in tool(GROUPS, broker, "--list").split()
    said = tool(GROUPS, broker, "--describe", "--state", "--group", topic)
    assert re.search(rf"^{topic}\s+\S+\s+\(\d+\)\s+Empty\s+0\s*$", said, re.MULTILINE), said
    said = tool("kafka-groups", broker, "--list", "--share")
    assert re.search(rf"^{topic}\s+Share\s+share\s*$", said, re.MULTILINE), said
    how = ("--reset-offsets", "--all-topics", "--to-earliest", "--execute")
    said = tool(GROUPS, broker, "--group", topic, *how)
    assert re.findall(rf"^{topic}\s+{topic}\s+\d+\s+(\d+)\s*$", said, re.MULTILINE) == ["0", "0"]
    assert sorted(offsets(broker, topic)) == [("0", "0", "5"), ("1", "0", "0")]
    assert len(console(broker, topic, topic, 5)) == 5
    said = tool(GROUPS, broker, "--group", topic, "--delete-offsets", "--topic", topic)
    assert re.search(rf"^{topic}\s+Successful\s*$", said, re.MULTILINE), said
    assert offsets(broker, topic) == []
    tool(GROUPS, broker, "--group", topic, "--delete")
    assert topic not in tool(GROUPS, broker, "--list").split()
    assert "not found" in failing(GROUPS, broker, "--describe", "--group", topic)
