"""Heartbeats of consumer groups (KIP-848), one large one or many: {"rate", ...}.

The members join, settle (`settled_seconds` from the first join on), and then send
heartbeats as fast as they are answered, each over one of a few connections. What a heartbeat
costs the broker is its processor time by rate.
"""

import json
import select
import socket
import struct
import sys
import time
from typing import Any

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

_API = ApiKey.CONSUMER_GROUP_HEARTBEAT
_VERSION = 1
_ROUNDS_TO_SETTLE = 20


class Member:
    """Owns at once what it is told to, and gives up what it is not told any more."""

    def __init__(self, group: str, topic: str, number: int) -> None:
        self.epoch = 0
        self.owned: tuple[Any, ...] = ()
        self._group, self._topic = group, topic
        self._member_id = f"member-{number}"

    def request(self, *, says_what_it_owns: bool) -> bytes:
        joins = self.epoch == 0
        body = {
            "group_id": self._group,
            "member_id": self._member_id,
            "member_epoch": self.epoch,
            "rebalance_timeout": 60_000 if joins else -1,
            "subscribed_topic_names": [self._topic] if joins else None,
            "topic_partitions": self.owned if says_what_it_owns or joins else None,
        }
        head = request_head(_API, _VERSION, 7, "bench")
        return frame(head, encode_request(_API, _VERSION, body))

    def hear(self, answer: memoryview) -> bool:
        """Whether anything is new."""
        _, body_at = read_response_head(_API, _VERSION, answer)
        heard = decode_response(_API, _VERSION, answer[body_at:])
        if heard.error_code:
            # The coordinator may not be there yet; anything else shows in the rounds.
            return True
        is_new = heard.member_epoch != self.epoch or heard.assignment is not None
        self.epoch = heard.member_epoch
        if heard.assignment is not None:
            self.owned = tuple(
                {"topic_id": one.topic_id, "partitions": one.partitions}
                for one in heard.assignment.topic_partitions
            )
        return is_new


def ask(sock: socket.socket, wire: bytes) -> memoryview:
    sock.sendall(wire)
    return memoryview(_receive(sock, struct.unpack(">i", _receive(sock, 4))[0])).toreadonly()


def _receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        if not got:
            raise SystemExit("the broker closed a connection")
        data += got
    return data


def connect(bootstrap: str) -> socket.socket:
    host, _, port = bootstrap.rpartition(":")
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def find_coordinator(sock: socket.socket, group: str) -> None:
    """Asked until it is there: the first question makes its topic."""
    find = {"key_type": 0, "coordinator_keys": [group]}
    head = request_head(ApiKey.FIND_COORDINATOR, 4, 7, "bench")
    wire = frame(head, encode_request(ApiKey.FIND_COORDINATOR, 4, find))
    for _ in range(_ROUNDS_TO_SETTLE):
        answer = ask(sock, wire)
        _, body_at = read_response_head(ApiKey.FIND_COORDINATOR, 4, answer)
        heard = decode_response(ApiKey.FIND_COORDINATOR, 4, answer[body_at:])
        if heard.coordinators[0].error_code == 0:
            return
        time.sleep(0.5)
    raise SystemExit("the group has no coordinator")


def settle(sock: socket.socket, members: list[Member]) -> tuple[int, float]:
    """Rounds of heartbeats, a second apart (targets are assigned no more often), until
    nobody hears anything new; and the seconds until the last of them heard something."""
    began = time.perf_counter()
    heard_at = 0.0
    for rounds in range(_ROUNDS_TO_SETTLE):
        if rounds:
            time.sleep(1.1)
        is_any_new = False
        for one in members:
            if one.hear(ask(sock, one.request(says_what_it_owns=True))):
                is_any_new = True
                heard_at = time.perf_counter() - began
        if not is_any_new:
            return rounds, heard_at
    raise SystemExit("the groups do not settle")


def run(given: dict[str, Any]) -> dict[str, float]:
    groups = [f"bench-{time.time_ns()}-{number}" for number in range(given["groups"])]
    members = [
        Member(groups[number % len(groups)], given["topic"], number)
        for number in range(given["members"])
    ]
    first = connect(given["bootstrap"])
    find_coordinator(first, groups[0])
    rounds, settled_seconds = settle(first, members)
    wires = [one.request(says_what_it_owns=False) for one in members]
    socks = {}
    for _ in range(given["connections"]):
        sock = connect(given["bootstrap"])
        socks[sock.fileno()] = sock
    poller = select.epoll()
    for number, (fd, sock) in enumerate(socks.items()):
        poller.register(fd, select.EPOLLIN)
        sock.send(wires[number % len(wires)])
    count, began = 0, time.perf_counter()
    ends = began + given["seconds"]
    while (now := time.perf_counter()) < ends:
        for fd, _ in poller.poll(1):
            answer = socks[fd].recv(65536)
            assert struct.unpack(">i", answer[:4])[0] == len(answer) - 4, "one whole answer"
            count += 1
            socks[fd].send(wires[count % len(wires)])
    return {
        "seconds": now - began,
        "records": count,
        "rounds_to_settle": rounds,
        "settled_seconds": settled_seconds,
    }


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
