"""The console clients, the perf tools and the offsets tool."""

import json
import re
from pathlib import Path

import pytest

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create
from compat_tests.java_tools.tools import failing, read, tool, write


@covers("produce-codecs", "subscribe")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_console_clients_exchange_records_of_every_codec(
    broker: str, topic: str, codec: str
) -> None:
    create(broker, topic)
    lines = [f"line {i} " + "x" * i for i in range(100)]
    write(broker, topic, "\n".join(lines), f"--compression-codec={codec}")
    assert read(broker, topic, 100) == lines


@covers("headers", "null-key-value", "create-time")
def test_the_console_consumer_shows_keys_headers_and_nulls(broker: str, topic: str) -> None:
    create(broker, topic)
    properties = ["parse.key=true", "parse.headers=true", "null.marker=NULL"]
    arguments = [word for each in properties for word in ("--reader-property", each)]
    lines = "a:1,b:2\tkey\tvalue\nc:3\tgone\tNULL\n"
    write(broker, topic, lines, *arguments)
    shown = ["print.key=true", "print.headers=true", "print.offset=true", "print.partition=true"]
    arguments = [word for each in shown for word in ("--formatter-property", each)]
    first, second = read(broker, topic, 2, *arguments)
    assert first == "Partition:0\tOffset:0\ta:1,b:2\tkey\tvalue"
    assert second == "Partition:0\tOffset:1\tc:3\tgone\tnull"


@covers("seek", "assignment")
def test_the_console_consumer_starts_at_an_offset(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, "\n".join(str(i) for i in range(10)))
    got = read(broker, topic, 3, "--partition", "0", "--offset", "7")
    assert got == ["7", "8", "9"]


@covers("acks", "idempotence")
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_perf_tool_produces_at_every_setting_of_acks(
    broker: str, topic: str, acks: str
) -> None:
    create(broker, topic)
    properties = [f"bootstrap.servers={broker}", f"acks={acks}"]
    sizes = ["--num-records", "2000", "--record-size", "500", "--throughput", "-1"]
    said = run_perf(topic, sizes, properties)
    assert "2000 records sent" in said
    offsets = tool("kafka-get-offsets", broker, "--topic", topic)
    assert offsets.strip() == f"{topic}:0:2000"


def run_perf(topic: str, sizes: list[str], properties: list[str]) -> str:
    from compat_tests.oracle import run_tool

    done = run_tool(
        "kafka-producer-perf-test", "--topic", topic, *sizes, "--producer-props", *properties
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@covers("perf-tools", "txn-commit")
def test_the_perf_tool_produces_in_transactions(broker: str, topic: str) -> None:
    create(broker, topic)
    sizes = ["--num-records", "500", "--record-size", "100", "--throughput", "2000"]
    sizes += ["--transaction-duration-ms", "100", "--transactional-id", f"perf-{topic}"]
    assert "500 records sent" in run_perf(topic, sizes, [f"bootstrap.servers={broker}"])


@covers("perf-tools", "subscribe")
def test_the_perf_tool_consumes_what_it_produced(broker: str, topic: str) -> None:
    create(broker, topic, partitions=2)
    sizes = ["--num-records", "5000", "--record-size", "1000", "--throughput", "-1"]
    run_perf(topic, sizes, [f"bootstrap.servers={broker}", "compression.type=lz4"])
    arguments = ["--topic", topic, "--num-records", "5000", "--timeout", "20000"]
    said = tool("kafka-consumer-perf-test", broker, *arguments)
    result = said.strip().splitlines()[-1].split(", ")
    assert int(result[4]) == 5000


@covers("perf-tools", "long-poll")
def test_the_latency_tool_runs_to_its_end(broker: str, topic: str) -> None:
    create(broker, topic)
    arguments = ["--topic", topic, "--num-records", "50", "--producer-acks", "1"]
    said = tool("kafka-e2e-latency", broker, *arguments, "--record-size", "100")
    assert re.search(r"Percentiles: 50th = \d+, 99th = \d+", said)


@covers("special-timestamps", "offsets-by-time")
def test_the_offsets_tool_knows_every_special_time(broker: str, topic: str) -> None:
    create(broker, topic, partitions=2)
    write(broker, topic, "1\n2\n3\n", "--reader-property", "parse.key=false")
    total = 0
    for when in ("earliest", "latest", "max-timestamp", "earliest-local", "0"):
        said = tool("kafka-get-offsets", broker, "--topic", topic, "--time", when)
        offsets = {line.split(":")[1]: line.split(":")[2] for line in said.split()}
        if when == "latest":
            total = sum(int(offset) for offset in offsets.values())
        if when in {"earliest", "earliest-local"}:
            assert offsets == {"0": "0", "1": "0"}
    assert total == 3


@covers("delete-records")
def test_the_tool_deletes_records(broker: str, topic: str, tmp_path: Path) -> None:
    create(broker, topic)
    write(broker, topic, "\n".join(str(i) for i in range(10)))
    wanted = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 6}]}
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(wanted))
    said = tool("kafka-delete-records", broker, "--offset-json-file", str(file))
    assert "low_watermark: 6" in said
    assert read(broker, topic, 4) == ["6", "7", "8", "9"]


@covers("too-large-refused")
def test_a_line_over_the_limit_is_refused(broker: str, topic: str) -> None:
    create(broker, topic, configs={"max.message.bytes": "1000"})
    said = failing("kafka-console-producer", broker, "--topic", topic, stdin="x" * 2000)
    assert "RecordTooLargeException" in said


@covers("keyless-compacted")
def test_a_line_without_a_key_is_refused_by_a_compacted_topic(broker: str, topic: str) -> None:
    create(broker, topic, configs={"cleanup.policy": "compact"})
    said = failing("kafka-console-producer", broker, "--topic", topic, stdin="no key\n")
    assert "InvalidRecordException" in said


@covers("perf-tools", "ordering")
def test_the_verifiable_clients_agree(broker: str, topic: str) -> None:
    create(broker, topic)
    arguments = ["--topic", topic, "--max-messages", "200"]
    said = tool("kafka-verifiable-producer", broker, *arguments)
    done = [json.loads(line) for line in said.splitlines()]
    assert {"acked": 200, "sent": 200}.items() <= done[-1].items()
    group = ["--group-id", f"group-{topic}", "--reset-policy", "earliest"]
    said = tool("kafka-verifiable-consumer", broker, *arguments, *group)
    consumed = [json.loads(line) for line in said.splitlines()]
    assert sum(each["count"] for each in consumed if each["name"] == "records_consumed") == 200
