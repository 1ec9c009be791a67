"""A classic group of many members: how long until all are in, and until all know that one left.

Every member has a connection and a task of its own, joins, synchronises (the leader assigns a
partition to each) and sends a heartbeat every `heartbeat_ms`; one that hears of a rebalance
joins again. {"join_seconds", "leave_seconds"}: from the first join until each member has the same
generation with all in it, and from a member's leave until all others have the next one.
"""

import asyncio
import json
import struct
import sys
import time
from typing import Any

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

_VERSIONS = {
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 3,
    ApiKey.HEARTBEAT: 3,
    ApiKey.LEAVE_GROUP: 2,
}
_SESSION_MS = 45_000
_PATIENCE_S = 120


class Member:
    """`generation` is the last that it has synchronised."""

    def __init__(self, group: "Group", number: int) -> None:
        self.generation = -1
        self.is_to_leave = False
        self._group = group
        self._number = number
        self._id = ""

    async def connect(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))

    async def live(self) -> float:
        """Until it is to leave; returns when it did."""
        while True:
            await self._join()
            while not await self._must_join_again():
                if self.is_to_leave:
                    leaving = {"group_id": self._group.id, "member_id": self._id}
                    left_at = time.perf_counter()
                    await self._ask(ApiKey.LEAVE_GROUP, leaving)
                    return left_at
                await asyncio.sleep(self._group.heartbeat_s)

    async def find_coordinator(self) -> None:
        """Asked until it is there: the first question makes its topic."""
        body = {"key_type": 0, "coordinator_keys": [self._group.id]}
        while (await self._ask(ApiKey.FIND_COORDINATOR, body)).coordinators[0].error_code:
            await asyncio.sleep(0.2)

    async def _join(self) -> None:
        while True:
            answer = await self._ask(
                ApiKey.JOIN_GROUP,
                {
                    "group_id": self._group.id,
                    "session_timeout": _SESSION_MS,
                    "rebalance_timeout": _SESSION_MS,
                    "member_id": self._id,
                    "group_instance_id": None,
                    "protocol_type": "consumer",
                    "protocols": [{"name": "range", "metadata": self._group.subscription}],
                },
            )
            self._id = answer.member_id or self._id
            if answer.error_code == ErrorCode.NONE and await self._sync(answer):
                return
            if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                await asyncio.sleep(0.1)

    async def _sync(self, joined: Any) -> bool:
        members = [one.member_id for one in joined.members]
        answer = await self._ask(
            ApiKey.SYNC_GROUP,
            {
                "group_id": self._group.id,
                "generation_id": joined.generation_id,
                "member_id": self._id,
                "group_instance_id": None,
                "assignments": [
                    {"member_id": one, "assignment": struct.pack(">i", at)}
                    for at, one in enumerate(members)
                ],
            },
        )
        if answer.error_code != ErrorCode.NONE:
            return False
        self.generation = joined.generation_id
        if members:
            self._group.sizes[self.generation] = len(members)
        self._group.look()
        return True

    async def _must_join_again(self) -> bool:
        body = {
            "group_id": self._group.id,
            "generation_id": self.generation,
            "member_id": self._id,
            "group_instance_id": None,
        }
        return bool((await self._ask(ApiKey.HEARTBEAT, body)).error_code)

    async def _ask(self, api: ApiKey, body: dict[str, Any]) -> Any:
        version = _VERSIONS[api]
        self._writer.write(
            frame(request_head(api, version, 7, "bench"), encode_request(api, version, body))
        )
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        answer = memoryview(await self._reader.readexactly(size))
        return decode_response(api, version, answer[read_response_head(api, version, answer)[1] :])


class Group:
    """The members, and when they were last of one mind."""

    def __init__(self, topic: str, count: int, heartbeat_s: float) -> None:
        name = topic.encode()
        self.id = f"bench-{time.time_ns()}"
        self.heartbeat_s = heartbeat_s
        # The consumer protocol's Subscription, v0.
        self.subscription = struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(">i", -1)
        self.sizes: dict[int, int] = {}
        self.members = [Member(self, number) for number in range(count)]
        self._is_of_one_mind = asyncio.Event()

    def look(self) -> None:
        generations = {one.generation for one in self.members}
        if len(generations) == 1 and self.sizes.get(*generations) == len(self.members):
            self._is_of_one_mind.set()

    async def settled(self, began: float) -> float:
        await asyncio.wait_for(self._is_of_one_mind.wait(), _PATIENCE_S)
        self._is_of_one_mind.clear()
        return time.perf_counter() - began


async def run(given: dict[str, Any]) -> dict[str, float]:
    group = Group(given["topic"], given["members"], given["heartbeat_ms"] / 1000)
    for one in group.members:
        await one.connect(given["bootstrap"])
    await group.members[0].find_coordinator()
    began = time.perf_counter()
    lives = [asyncio.create_task(one.live()) for one in group.members]
    join_seconds = await group.settled(began)
    group.members.pop().is_to_leave = True
    leave_seconds = await group.settled(await lives.pop())
    for life in lives:
        life.cancel()
    return {"join_seconds": join_seconds, "leave_seconds": leave_seconds}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(json.loads(sys.argv[1])))))
