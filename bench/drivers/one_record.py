"""One record a request over many connections, each waiting for its answer: {"rate", ...}.

Raw sockets and a prepared request: the client costs as little as it can.
"""

import json
import select
import socket
import struct
import sys
import time
from typing import Any

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batch import NewRecord, build_batch
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import encode_request

_VERSION = 9


def request(topic: str, record_bytes: int, acks: int) -> bytes:
    batch = build_batch([NewRecord(None, b"x" * record_bytes, int(time.time() * 1000))])
    body = {
        "transactional_id": None,
        "acks": acks,
        "timeout": 30_000,
        "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
    }
    head = request_head(ApiKey.PRODUCE, _VERSION, 7, "bench")
    return frame(head, encode_request(ApiKey.PRODUCE, _VERSION, body))


def connect(bootstrap: str) -> socket.socket:
    host, _, port = bootstrap.rpartition(":")
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def run(given: dict[str, Any]) -> dict[str, float]:
    wire = request(given["topic"], given["record_bytes"], given["acks"])
    socks = {one.fileno(): one for one in (connect(given["bootstrap"])
                                           for _ in range(given["connections"]))}  # fmt: skip
    poller = select.epoll()
    for fd, sock in socks.items():
        sock.setblocking(False)
        poller.register(fd, select.EPOLLIN)
        sock.send(wire)
    count, began = 0, time.perf_counter()
    ends = began + given["seconds"]
    while (now := time.perf_counter()) < ends:
        for fd, _ in poller.poll(1):
            answer = socks[fd].recv(65536)
            if not answer:
                raise SystemExit("the broker closed a connection")
            assert struct.unpack(">i", answer[:4])[0] == len(answer) - 4, "one whole answer"
            count += 1
            socks[fd].send(wire)
    return {"seconds": now - began, "records": count}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
