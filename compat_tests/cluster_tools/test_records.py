"""Records written to three replicas, read, deleted, and where they lie."""

import json
import re

import pytest

from compat_tests.cluster_tools.conftest import Hold
from compat_tests.cluster_tools.transcript import Told

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-tools")]

EACH_LEADS_ONE = "1:2:3,2:3:1,3:1:2"
# Keys decide the partition: as many for each on both servers.
KEYED = ("--max-messages", "300", "--acks", "-1", "--repeating-keys", "30")


def test_records_are_deleted_from_all_replicas(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create(told, "cut")
        told.prepare("kafka-verifiable-producer", "--topic", "cut", *KEYED)
        file = told.file("cut.json", rows("cut", {0: 10, 1: 11, 2: 12}))
        told.tool("kafka-delete-records", "--offset-json-file", file, in_order=False)
        told.tool("kafka-get-offsets", "--topic", "cut", "--time", "earliest")
        told.tool("kafka-get-offsets", "--topic", "cut")
        far = told.file("far.json", rows("cut", {0: 1_000_000}))
        told.tool("kafka-delete-records", "--offset-json-file", far)
        all_of_it = told.file("all.json", rows("cut", {2: -1}))
        told.tool("kafka-delete-records", "--offset-json-file", all_of_it)

    assert "partition: cut-1\tlow_watermark: 11" in hold(conversation)


def test_verifiable_clients_are_acknowledged_and_read_all(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create(told, "verified")
        answer = told.prepare("kafka-verifiable-producer", "--topic", "verified", *KEYED)
        lines = [json.loads(line) for line in answer.splitlines()]
        acked = [one for one in lines if one["name"] == "producer_send_success"]
        told.said += sorted(f"{one['partition']}@{one['offset']}" for one in acked)
        told.said.append(f"{lines[-1]['sent']} sent, {lines[-1]['acked']} acknowledged")
        for protocol in ("classic", "consumer"):
            answer = told.prepare(
                "kafka-verifiable-consumer", "--topic", "verified", "--group-id", protocol,
                "--max-messages", "300", "--reset-policy", "earliest",
                "--group-protocol", protocol,
            )  # fmt: skip
            lines = [json.loads(line) for line in answer.splitlines() if line.startswith("{")]
            read = sum(one["count"] for one in lines if one["name"] == "records_consumed")
            told.said.append(f"{read} read by the protocol {protocol}")
            group = ("--describe", "--group", protocol)
            told.tool("kafka-consumer-groups", *group, "--offsets", in_order=False)

    said = hold(conversation)
    assert "300 sent, 300 acknowledged" in said
    assert "300 read by the protocol consumer" in said


def test_performance_is_measured_with_all_replicas(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create(told, "fast")
        answer = told.prepare(
            "kafka-producer-perf-test", "--topic", "fast", "--num-records", "20000",
            "--record-size", "1024", "--throughput", "-1", "--command-property", "acks=all",
        )  # fmt: skip
        told.said.append(answer.splitlines()[-1].partition(",")[0])
        answer = told.prepare(
            "kafka-consumer-perf-test", "--topic", "fast", "--num-records", "20000",
            "--group", "fast-readers", "--from-latest",
            "--timeout", "1000",
        )  # fmt: skip
        told.said.append(answer.splitlines()[0])
        ends = told.prepare("kafka-get-offsets", "--topic", "fast").split()
        told.said.append(f"{sum(int(one.split(':')[2]) for one in ends)} records are there")
        # Each replica has all of it, as far as the tool can tell: as many bytes as its leader's.
        answer = told.prepare("kafka-log-dirs", "--describe", "--topic-list", "fast")
        found = json.loads(next(line for line in answer.splitlines() if line.startswith("{")))
        told.said += sorted(
            f"{row['partition']} on {one['broker']}, behind by {row['offsetLag']}"
            for one in found["brokers"]
            for row in one["logDirs"][0]["partitions"]
        )

    said = hold(conversation)
    assert "20000 records are there" in said
    assert "fast-2 on 1, behind by 0" in said


def test_a_consumer_reads_from_the_replica_in_its_rack(hold: Hold) -> None:
    """By what Java's consumer counts (KIP-392): whom the leader sent it to, -1 for nobody else."""

    def conversation(told: Told) -> None:
        told.tool("kafka-topics", "--create", "--topic", "near", "--replica-assignment", "1:2:3")
        told.prepare(
            "kafka-producer-perf-test", "--topic", "near", "--num-records", "2000",
            "--record-size", "1000", "--throughput", "-1", "--command-property", "acks=all",
        )  # fmt: skip
        for rack in ("rack-1", "rack-2", "rack-3", "nowhere"):
            answer = told.prepare(
                "kafka-consumer-perf-test", "--topic", "near", "--num-records", "2000",
                "--group", f"from-{rack}", "--print-metrics",
                "--command-property", f"client.rack={rack}",
            )  # fmt: skip
            sent_to = re.search(r":preferred-read-replica:.* : (-?\d+)", answer)
            told.said.append(f"{rack} reads from {sent_to[1] if sent_to else 'nobody'}")

    assert hold(conversation)[-4:] == [
        "rack-1 reads from -1",
        "rack-2 reads from 2",
        "rack-3 reads from 3",
        "nowhere reads from -1",
    ]


def test_transactions_and_directories_are_told_from_all_brokers(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create(told, "lies")
        for arguments in (("--topic-list", "lies"), ("--topic-list", "lies", "--broker-list", "2")):
            told.tool("kafka-log-dirs", "--describe", *arguments)
        told.tool("kafka-log-dirs", "--describe", "--broker-list", "2,9")
        told.prepare(
            "kafka-producer-perf-test", "--topic", "lies", "--num-records", "100",
            "--record-size", "100", "--throughput", "-1", "--transactional-id", "writer",
            "--transaction-duration-ms", "50",
        )  # fmt: skip
        known = ("kafka-transactions", "describe", "--transactional-id", "writer")
        told.until("it is over", *known, says=lambda text: "CompleteCommit" in text)
        answer = told.prepare("kafka-transactions", "list").splitlines()
        told.said += [answer[0], *(line.split()[0] for line in answer[1:])]
        told.tool("kafka-transactions", "find-hanging", "--topic", "lies", "--partition", "0")
        told.tool("kafka-transactions", "describe", "--transactional-id", "nobody")

    hold(conversation)


def create(told: Told, topic: str) -> None:
    told.tool("kafka-topics", "--create", "--topic", topic, "--replica-assignment", EACH_LEADS_ONE)
    told.until(
        "all lead", "kafka-topics", "--describe", "--topic", topic,
        says=lambda text: text.count("\tLeader: ") == 3 and "Leader: none" not in text,
    )  # fmt: skip


def rows(topic: str, offsets: dict[int, int]) -> str:
    partitions = [{"topic": topic, "partition": at, "offset": to} for at, to in offsets.items()]
    return json.dumps({"version": 1, "partitions": partitions})
