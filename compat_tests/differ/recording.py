"""Frames that real clients send: one of each client, API and version, as files.

    python -m compat_tests.differ.recording        rewrites tests/fixtures/frames/*.bin

A proxy stands between the clients and Apache Kafka, which advertises the proxy's address.
The name of a file tells the client, the API's key and the version; its bytes are the frame
with its size, as it was on the wire. The codec's tests decode and mutate them. The broker
talks to itself through its advertised address too: AddPartitionsToTxn 5 and WriteTxnMarkers
are its own.
"""

import selectors
import socket
import struct
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from compat_tests.aiokafka import test_aiokafka
from compat_tests.confluent_kafka import test_groups, test_transactions
from compat_tests.confluent_kafka import test_records as confluent_records
from compat_tests.kafka_python import test_admin as kafka_python_admin
from compat_tests.kafka_python import test_groups as kafka_python_groups
from compat_tests.oracle import apache_kafka
from compat_tests.waiting import free_port

FRAMES = Path(__file__).resolve().parent.parent.parent / "tests" / "fixtures" / "frames"
# Larger ones (a Produce of many records) add bytes but no layout.
_LARGEST = 2000

Key = tuple[str, int, int]


class Recorder:
    """Forwards every connection to one server and keeps the first small frame of a kind."""

    def __init__(self, server: tuple[str, int], port: int) -> None:
        self.client = ""
        self.frames: dict[Key, bytes] = {}
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._server)
        except ConnectionRefusedError:  # the server has ended before the client
            client.close()
            return
        pending = b""
        with client, server, selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in selector.select():
                    assert isinstance(key.fileobj, socket.socket)
                    try:
                        data = key.fileobj.recv(65536)
                        key.data.sendall(data)
                    except OSError:
                        return
                    if not data:
                        return
                    if key.fileobj is client:
                        pending = self._keep(pending + data)

    def _keep(self, data: bytes) -> bytes:
        while len(data) >= 8:
            size, api_key, version = struct.unpack_from(">ihh", data)
            if len(data) < 4 + size:
                break
            if size <= _LARGEST:
                self.frames.setdefault((self.client, api_key, version), data[: 4 + size])
            data = data[4 + size :]
        return data


def conversations(broker: str) -> dict[str, list[Callable[[], None]]]:
    """What each client says: some of its tests, which are conversations already."""
    return {
        "confluent_kafka": [
            lambda: confluent_records.test_headers_keep_order_duplicates_and_nulls(broker, "c1"),
            lambda: test_groups.test_a_group_reads_a_topic_and_goes_on_from_its_commit(
                broker, "c2", "g-c2", "classic"
            ),
            lambda: test_groups.test_a_group_reads_a_topic_and_goes_on_from_its_commit(
                broker, "c3", "g-c3", "consumer"
            ),
            lambda: test_transactions.test_offsets_follow_the_fate_of_their_transaction(
                broker, "c4", "g-c4", test_transactions.transactional(broker, "t-c4"), True
            ),
        ],
        "kafka_python": [
            lambda: kafka_python_admin.test_a_created_topic_has_one_id_wherever_it_is_told(
                broker, "k1"
            ),
            lambda: kafka_python_admin.test_partitions_grow_and_never_shrink(broker, "k2"),
            lambda: kafka_python_admin.test_configs_are_altered_and_bad_ones_refused(broker, "k3"),
            lambda: kafka_python_admin.test_deleted_records_are_gone(broker, "k4"),
            lambda: kafka_python_admin.test_active_producers_are_described(broker, "k5"),
            lambda: kafka_python_groups.test_a_group_goes_on_from_its_commit(broker, "k6", "g-k6"),
            lambda: kafka_python_groups.test_transactions_are_listed_and_described(broker, "k7"),
            lambda: kafka_python_groups.test_offsets_are_committed_with_the_transaction(
                broker, "k8", "g-k8"
            ),
        ],
        "aiokafka": [
            lambda: test_aiokafka.test_the_life_of_a_topic(broker, 1, "a1"),
            lambda: test_aiokafka.test_a_group_goes_on_from_its_commit(broker, "a2", "g-a2"),
            lambda: test_aiokafka.test_offsets_are_committed_with_the_transaction(
                broker, "a3", "g-a3"
            ),
            lambda: test_aiokafka.test_seek_and_offsets_by_time(broker, "a4"),
        ],
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        port = free_port()
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        with apache_kafka(Path(scratch), properties=advertised) as kafka:
            recorder = Recorder(("127.0.0.1", kafka.port), port)
            for client, talks in conversations(f"127.0.0.1:{port}").items():
                recorder.client = client
                for talk in talks:
                    talk()
            recorder.close()
    FRAMES.mkdir(parents=True, exist_ok=True)
    for (client, api_key, version), frame in recorder.frames.items():
        (FRAMES / f"{client}-{api_key:02}-v{version}.bin").write_bytes(frame)
    print(f"{len(recorder.frames)} frames in {FRAMES}")


if __name__ == "__main__":
    main()
