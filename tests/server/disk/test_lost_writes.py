"""A disk that fails under records which were gathered: no acknowledgement of them leaves."""

import errno
import gc
import io
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.seams import Bytes
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.server import run
from kafkapy.server.journal import Lines

TIMEOUT = 10_000


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """`serve` owns its process, and so its collector; this process is pytest's."""
    yield
    gc.unfreeze()
    gc.enable()


class Client:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.sock = socket.create_connection((host, int(port)), timeout=10)

    def send(self, api_key: ApiKey, version: int, body: dict[str, Any]) -> None:
        head = request_head(api_key, version, 1, "test")
        self.sock.sendall(frame(head, encode_request(api_key, version, body)))

    def produce(self) -> None:
        partition = {"index": 0, "records": build_batch([NewRecord(None, b"v", timestamp=0)])}
        topic = {"name": "t", "partition_data": [partition]}
        body = {"transactional_id": None, "acks": 1, "timeout": TIMEOUT, "topic_data": [topic]}
        self.send(ApiKey.PRODUCE, 9, body)

    def hears(self) -> bytes:
        """A whole answer, or nothing if the connection has ended."""
        try:
            size = self.sock.recv(4, socket.MSG_WAITALL)
            return self.sock.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        except ConnectionResetError:
            return b""

    def produced(self) -> int:
        self.produce()
        return self.code_of_produce()

    def code_of_produce(self) -> int:
        """Of the answer that comes; -1 if none does."""
        answer = self.hears()
        if not answer:
            return -1
        body = decode_response(ApiKey.PRODUCE, 9, memoryview(answer)[5:])
        return int(body.responses[0].partition_responses[0].error_code)


class Disk:
    """Full for one partition, from when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self._real = os.pwritev
        monkeypatch.setattr(os, "pwritev", self._pwritev)

    def _pwritev(self, fd: int, buffers: Sequence[Bytes], position: int) -> int:
        if self.is_full and "/t-0/" in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._real(fd, buffers, position)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the names of open files")
def test_nobody_is_told_that_lost_records_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, codes = play(tmp_path, Disk(monkeypatch), directories=("one", "two"))
    assert codes[:2] == [-1, -1]
    assert codes[2] == ErrorCode.KAFKA_STORAGE_ERROR
    assert "log directory offline" in told
    assert "connections closed" in told
    assert "count=3" in told  # the third client's, too


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the names of open files")
def test_with_its_only_directory_a_node_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kafka does, though its metadata log has a directory of its own."""
    with pytest.RaisesGroup(
        pytest.RaisesExc(DiskFailed, match="No space left"), flatten_subgroups=True
    ):
        play(tmp_path, Disk(monkeypatch), directories=("one",))


def play(home: Path, disk: Disk, directories: tuple[str, ...]) -> tuple[str, list[int]]:
    """Two clients produce at once to a disk that is full, and then one more: what the node's
    journal tells, and the codes they hear."""
    codes: list[int] = []

    def begin(client: Client) -> None:
        topic = {"name": "t", "num_partitions": 1, "replication_factor": 1}
        client.send(ApiKey.CREATE_TOPICS, 5, {"topics": [topic], "timeout": TIMEOUT})
        client.hears()
        while code := client.produced():  # until it has a leader
            assert code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def connected(serving: run.Serving) -> Client:
        client = Client(serving.address)
        stack.callback(client.sock.close)
        return client

    async def main() -> None:
        stop, serving = trio.Event(), list[run.Serving]()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: run.serve(config, Lines(journal), serving.append, stop=stop))
            while not serving:
                await trio.lowlevel.checkpoint()
            clients = [connected(serving[0]) for _ in range(3)]
            for client in clients:
                await trio.to_thread.run_sync(begin, client)
            disk.is_full = True
            for client in clients[:2]:
                client.produce()  # on the loop: both are there when it looks
            for client in clients[:2]:
                codes.append(await trio.to_thread.run_sync(client.code_of_produce))
            if len(directories) == 1:
                await trio.sleep_forever()  # the node ends by itself
            codes.append(await trio.to_thread.run_sync(connected(serving[0]).produced))
            stop.set()

    journal = io.StringIO()
    config = BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "metadata.log.dir": str(home / "metadata"),
            "log.dirs": ",".join(str(home / name) for name in directories),
        }
    )
    with ExitStack() as stack:
        trio.run(main)
    return journal.getvalue(), codes
