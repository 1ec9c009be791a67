"""Many producers of one record a request, their broker killed in the middle: whatever was
acknowledged is there, and where the acknowledgement said.

Such records come in the same moment and are written together (kafkapy/core/turn.py);
a client library would send them as one batch.
"""

import random
import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from compat_tests.confluent_kafka.clients import create, read
from compat_tests.confluent_kafka.test_durability import serves_again
from compat_tests.targets import Server
from compat_tests.waiting import PATIENCE_S
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import decode_response, encode_request

LIVES = 4
CONNECTIONS = 50
# A broker is killed when so many of its acknowledgements have arrived; more are on their way.
ACKNOWLEDGED = 1000
PARTITIONS = 2
_VERSION = 9
_HEAD_BYTES = 5  # of a response: correlation id, no tags
# Some are too large to be gathered.
_SIZES = (10, 100, 1000, 3000, 6000)

Where = tuple[int, int]  # partition, offset


class Producer:
    """One connection with one record on its way."""

    def __init__(self, address: str, topic: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self._topic = topic
        self._heard = b""
        self._sent = (-1, b"")

    def send(self, partition: int, value: bytes) -> None:
        self._heard = b""
        self._sent = partition, value
        records = build_batch([NewRecord(None, value, timestamp=int(1000 * time.time()))])
        rows = [{"index": partition, "records": records}]
        topic = {"name": self._topic, "partition_data": rows}
        body = {"transactional_id": None, "acks": 1, "timeout": 30_000, "topic_data": [topic]}
        head = request_head(ApiKey.PRODUCE, _VERSION, 1, "small")
        self.socket.sendall(frame(head, encode_request(ApiKey.PRODUCE, _VERSION, body)))

    def hear(self) -> tuple[Where, bytes] | None:
        """What was acknowledged, once all of the answer is there. OSError: nobody answers."""
        heard = self.socket.recv(4096)
        if not heard:
            raise ConnectionResetError
        self._heard += heard
        if len(self._heard) < 4 + int.from_bytes(self._heard[:4], "big"):
            return None
        body = memoryview(self._heard)[4 + _HEAD_BYTES :]
        row = decode_response(ApiKey.PRODUCE, _VERSION, body).responses[0].partition_responses[0]
        partition, value = self._sent
        if row.error_code:
            # Apache Kafka says that topics are there before its broker leads them.
            assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            self.send(partition, value)
            return None
        return (partition, row.base_offset), value


def test_small_records_that_were_acknowledged_survive_kill_9(own_server: Any, topic: str) -> None:
    server: Server = own_server()
    create(server.bootstrap, topic, partitions=PARTITIONS)
    dice = random.Random(1)
    values = (b"%d " % n + bytes(dice.choice(_SIZES)) for n in range(1_000_000))
    acknowledged: dict[Where, bytes] = {}
    for _ in range(LIVES):
        _live(server, topic, dice, values, acknowledged)
        server.start()
        serves_again(server, topic)
    for partition in range(PARTITIONS):
        offsets = [offset for where, offset in acknowledged if where == partition]
        found = read(server.bootstrap, topic, max(offsets) + 1, partition=partition)
        there = {message.offset(): message.value() for message in found}
        lost = [at for at in offsets if there.get(at) != acknowledged[partition, at]]
        assert not lost, f"of {len(offsets)} in partition {partition}"


def _live(
    server: Server,
    topic: str,
    dice: random.Random,
    values: Iterator[bytes],
    acknowledged: dict[Where, bytes],
) -> None:
    """Until the broker is dead and everything that it still said has been heard."""
    enough = len(acknowledged) + ACKNOWLEDGED
    is_dead = False
    with ExitStack() as stack:
        producers = [Producer(server.bootstrap, topic) for _ in range(CONNECTIONS)]
        waiting = {one.socket.fileno(): one for one in producers}
        for one in producers:
            stack.callback(one.socket.close)
            one.send(dice.randrange(PARTITIONS), next(values))
        while waiting:
            if len(acknowledged) >= enough and not is_dead:
                server.stop(how=signal.SIGKILL)
                is_dead = True
            ready, _, _ = select.select(list(waiting), [], [], PATIENCE_S)
            assert ready, "a broker that neither answers nor hangs up"
            for fd in ready:
                try:
                    heard = waiting[fd].hear()
                    if heard is not None:
                        where, value = heard
                        assert where not in acknowledged, "an offset that another record has"
                        acknowledged[where] = value
                        waiting[fd].send(dice.randrange(PARTITIONS), next(values))
                except OSError:
                    del waiting[fd]
