"""Groups and transactions through Apache Kafka's tools."""

import re

import pytest

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create
from compat_tests.java_tools.tools import failing, read, tool, write
from compat_tests.waiting import wait_for


@covers("commit", "describe-group", "list-groups")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_listed_and_described_with_its_offsets(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic)
    write(broker, topic, "1\n2\n3\n")
    settings = ["--command-property", f"group.protocol={protocol}"]
    settings += ["--command-property", "auto.offset.reset=earliest"]
    assert read(broker, topic, 2, "--group", group, *settings) == ["1", "2"]
    assert group in tool("kafka-consumer-groups", broker, "--list").split()
    said = tool("kafka-consumer-groups", broker, "--describe", "--group", group)
    assert re.search(rf"{group}\s+{topic}\s+0\s+\S*\s*2\s+3\s+1\s", said), said
    said = tool("kafka-consumer-groups", broker, "--describe", "--group", group, "--state")
    assert re.search(r"\sEmpty\s+0", said), said
    said = tool("kafka-groups", broker, "--list")
    assert re.search(rf"{group}\s+{protocol.capitalize()}\s+consumer", said), said


@covers("consumer-protocol", "subscribe")
def test_the_console_consumer_reads_with_the_consumer_protocol(
    broker: str, topic: str, group: str
) -> None:
    create(broker, topic, partitions=2)
    write(broker, topic, "1\n2\n3\n")
    settings = ["--command-property", "group.protocol=consumer", "--from-beginning"]
    got = read(broker, topic, 3, "--group", group, *settings)
    assert sorted(got) == ["1", "2", "3"]


@covers("alter-offsets", "offset-reset")
def test_offsets_are_reset_to_where_the_tool_is_told(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    write(broker, topic, "1\n2\n3\n4\n")
    read(broker, topic, 4, "--group", group, "--from-beginning")
    where = ["--group", group, "--topic", topic, "--execute", "--reset-offsets"]
    for how, expected in [
        (["--to-earliest"], 0),
        (["--to-offset", "3"], 3),
        (["--shift-by", "-2"], 1),
        (["--to-latest"], 4),
        (["--to-datetime", "2020-01-01T00:00:00.000"], 0),
    ]:
        said = tool("kafka-consumer-groups", broker, *where, *how)
        assert re.search(rf"{group}\s+{topic}\s+0\s+{expected}\b", said), said


@covers("delete-offsets", "delete-group")
def test_offsets_and_groups_are_deleted(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    write(broker, topic, "1\n")
    read(broker, topic, 1, "--group", group, "--from-beginning")
    where = ["--group", group, "--topic", topic, "--delete-offsets"]
    assert "Successful" in tool("kafka-consumer-groups", broker, *where)
    said = tool("kafka-consumer-groups", broker, "--delete", "--group", group)
    assert f"Deletion of requested consumer groups ('{group}') was successful." in said
    said = failing("kafka-consumer-groups", broker, "--describe", "--group", group)
    assert "not found" in said


@covers("txn-describe", "txn-commit")
def test_the_transactions_tool_lists_what_the_perf_tool_did(broker: str, topic: str) -> None:
    from compat_tests.java_tools.test_records import run_perf

    create(broker, topic)
    sizes = ["--num-records", "50", "--record-size", "100", "--throughput", "-1"]
    sizes += ["--transaction-duration-ms", "50", "--transactional-id", f"txn-{topic}"]
    run_perf(topic, sizes, [f"bootstrap.servers={broker}"])
    wait_for(
        "it is complete",
        lambda: complete(tool("kafka-transactions", broker, "list"), f"txn-{topic}"),
    )
    where = ["describe", "--transactional-id", f"txn-{topic}"]
    said = tool("kafka-transactions", broker, *where)
    assert re.search(rf"txn-{topic}\s.*CompleteCommit", said), said


def complete(listing: str, transactional_id: str) -> bool:
    return bool(re.search(rf"{transactional_id}\s.*CompleteCommit", listing))


@covers("txn-describe")
def test_no_transaction_hangs(broker: str) -> None:
    said = tool("kafka-transactions", broker, "find-hanging", "--broker-id", "1")
    assert len(said.strip().splitlines()) <= 1


@covers("share-groups")
def test_a_share_group_delivers_to_the_console_share_consumer(
    broker: str, topic: str, group: str
) -> None:
    create(broker, topic)
    write(broker, topic, "1\n2\n3\n")
    entity = ["--entity-type", "groups", "--entity-name", group]
    setting = ["--add-config", "share.auto.offset.reset=earliest"]
    tool("kafka-configs", broker, "--alter", *entity, *setting)
    arguments = ["--topic", topic, "--group", group, "--max-messages", "3"]
    said = tool("kafka-console-share-consumer", broker, *arguments, "--timeout-ms", "20000")
    assert said.split() == ["1", "2", "3"]
    assert group in tool("kafka-share-groups", broker, "--list").split()
