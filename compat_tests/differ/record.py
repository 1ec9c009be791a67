"""Record one conversation of each client with Apache Kafka: some of its own tests.

python -m compat_tests.differ.record [CLIENT...]
"""

import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Final

from compat_tests.differ import conversations
from compat_tests.differ.conversations import Event
from compat_tests.differ.proxy import Proxy
from compat_tests.oracle import ApacheKafka, apache_kafka
from compat_tests.waiting import free_port
from kafkapy.protocol.framing import read_request_header

ROOT: Final = Path(__file__).resolve().parent.parent.parent

# The tests of each client that are its conversation: -k of pytest.
TALKS: Final = {
    "confluent_kafka": "headers_keep_order or (goes_on_from_its_commit) or "
    "offsets_follow_the_fate or added_partitions_take_records",
    "kafka_python": "headers_and_nulls or a_group_goes_on or partitions_grow or "
    "deleted_records_are_gone or offsets_are_committed_with",
    "aiokafka": "headers_and_nulls or a_group_goes_on or the_life_of_a_topic or "
    "offsets_are_committed_with",
    "java_4_4": "headers or by-time or delete-records or consumer-group or txn-offsets",
    "java_3_9": "headers or by-time or delete-records or group-admin or txn-offsets",
    "java_tools": "shows_keys_headers or starts_at_an_offset or the_tool_deletes_records or "
    "partitions_grow or configs_of_a_topic_are",
    "franz_go": "headers or delete-records or by-time or group-admin or exactly-once",
    "sarama": "headers or delete-records or by-time or group-admin or transactions",
    "kafka_go": "headers or by-time or topics or group",
    "kafkajs": "headers or by-time or topics or group or transactions",
    "kcat": "headers or found_by_time or goes_on_where_it_left or a_transaction_of_one_run",
    "spark_examples": "headers_keep_order or a_topic_added_while or bare",
}
# Where the tests of those are that are not in a folder of this suite.
_ELSEWHERE: Final = {"spark_examples": ("-p", "compat_tests.conftest", "spark_examples")}
# The broker talks to itself through its advertised address too: these are no clients.
_BROKERS_OWN: Final = ("SenderThread-1", "broker-1")


def main(clients: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        port = free_port()
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        with apache_kafka(Path(scratch), properties=advertised) as kafka:
            _record("warm-up", "kafka_python", kafka, port)  # the internal topics are made
            for client in clients:
                events = _without_the_broker(_record(client, client, kafka, port))
                file = conversations.save(client, events)
                print(f"{file.name}: {len(events)} frames, {file.stat().st_size} bytes")


def _record(title: str, client: str, kafka: ApacheKafka, port: int) -> list[Event]:
    events: list[Event] = []
    proxy = Proxy(("127.0.0.1", kafka.port), port, lambda *heard: events.append(Event(*heard)))
    tests = _ELSEWHERE.get(client, (f"compat_tests/{client}",))
    command = [sys.executable, "-m", "pytest", *tests, "-k", TALKS[client]]
    command += ["--target", "apache", "--bootstrap", f"apache=127.0.0.1:{port}", "-q", "-x"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    proxy.close()
    if done.returncode:
        raise RuntimeError(f"{title} did not pass:\n{done.stdout}{done.stderr}")
    return list(events)


def _without_the_broker(events: list[Event]) -> list[Event]:
    """Only connections of clients, numbered from 0 in the order they spoke."""
    said: dict[int, str] = {}
    for one in events:
        if one.is_request:
            header, _ = read_request_header(one.frame[4:])
            said.setdefault(one.connection, header.client_id or "")
    numbers: dict[int, int] = defaultdict(lambda: len(numbers))
    return [
        one._replace(connection=numbers[one.connection])
        for one in events
        if one.connection in said and not said[one.connection].endswith(_BROKERS_OWN)
    ]


if __name__ == "__main__":
    main(sys.argv[1:] or list(TALKS))
