"""Fetches that wait: what wakes them, what they are answered then, and what they leave behind."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.dispatch import dispatch
from kafkapy.broker.requests.request import Encoded, Later, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, batches, build_batch, records
from kafkapy.protocol.framing import request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.world.world import World

VERSION = 12
WAITS_MS = 500


class Kit:
    """A node with a topic of four partitions, and one consumer's connection to it."""

    def __init__(self) -> None:
        self.world = World(1)
        self.world.start()
        self.peer = Peer("PLAINTEXT", "127.0.0.1")
        topic = {"name": "read", "num_partitions": 4, "replication_factor": 1}
        self.world.ask(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 10_000})

    @property
    def turn(self) -> Any:
        return self.world.broker.turn

    def partition(self, index: int) -> Partition:
        found = self.world.broker.partitions.get("read", index)
        assert found is not None
        return found

    def append(self, index: int, value: bytes) -> None:
        self.partition(index).append(memoryview(build_batch([NewRecord(b"k", value)])))

    def fetch(
        self, offsets: dict[int, int], *, min_bytes: int = 1, max_bytes: int = 50 << 20
    ) -> Later | Encoded:
        rows = [
            {
                "partition": index,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "last_fetched_epoch": -1,
                "log_start_offset": -1,
                "partition_max_bytes": 1 << 20,
            }
            for index, offset in offsets.items()
        ]
        body = {
            "max_wait": WAITS_MS,
            "min_bytes": min_bytes,
            "max_bytes": max_bytes,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": "read", "partitions": rows}] if rows else [],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        raw = request_head(ApiKey.FETCH, VERSION, 1, "reader") + encode_request(1, VERSION, body)
        assert self.world.node is not None
        answer = dispatch(self.world.node, memoryview(raw), self.peer)[1]
        assert isinstance(answer, Later | Encoded)
        return answer

    def watched(self) -> list[int]:
        return [index for index in range(4) if self.partition(index).watchers]


def told(answer: Later | Encoded) -> dict[int, list[bytes | None] | ErrorCode]:
    """Partition -> the values it gave, or its error."""
    if isinstance(answer, Later):
        assert answer.is_resolved
        resolved = answer.answer
        assert isinstance(resolved, Encoded)
        answer = resolved
    whole = b"".join(part if isinstance(part, bytes) else part.read() for part in answer.parts)
    response = decode_response(ApiKey.FETCH, VERSION, whole[9:])
    return {
        row.partition_index: (
            ErrorCode(row.error_code)
            if row.error_code
            else [record.value for batch in _batches(row.records) for record in records(batch)]
        )
        for topic in response.responses
        for row in topic.partitions
    }


def _batches(data: bytes) -> Iterator[bytes]:
    for at, header in batches(data):
        yield data[at : at + header.size]


@pytest.fixture
def kit() -> Iterator[Kit]:
    kit = Kit()
    yield kit
    kit.world.stop()


def test_the_append_that_brings_enough_answers(kit: Kit) -> None:
    fetch = kit.fetch({0: 0, 1: 0})
    assert isinstance(fetch, Later)
    assert not fetch.is_resolved
    assert kit.watched() == [0, 1]
    kit.append(2, b"elsewhere")
    assert not fetch.is_resolved
    kit.append(1, b"one")
    assert told(fetch) == {0: [], 1: [b"one"]}
    assert kit.watched() == []
    assert kit.peer.on_close == []


def test_what_comes_in_one_turn_is_answered_together(kit: Kit) -> None:
    fetch = kit.fetch({0: 0, 1: 0, 2: 0})
    assert isinstance(fetch, Later)
    kit.turn.begin()
    kit.append(2, b"first")
    kit.append(0, b"second")
    kit.append(2, b"third")
    assert not fetch.is_resolved
    kit.turn.end()
    assert told(fetch) == {0: [b"second"], 1: [], 2: [b"first", b"third"]}


def test_it_waits_for_as_many_bytes_as_it_asked_for(kit: Kit) -> None:
    """What it found at first, and what woke it without being enough, is all in the answer."""
    kit.append(0, b"0")
    size = kit.partition(0).log.size
    fetch = kit.fetch({0: 0, 1: 0, 2: 0}, min_bytes=3 * size)
    assert isinstance(fetch, Later)
    kit.append(1, b"1")
    assert not fetch.is_resolved
    kit.append(2, b"2")
    assert told(fetch) == {0: [b"0"], 1: [b"1"], 2: [b"2"]}


def test_its_time_is_up(kit: Kit) -> None:
    kit.append(3, b"there")
    fetch = kit.fetch({0: 0, 3: 0}, min_bytes=1_000_000)
    assert isinstance(fetch, Later)
    kit.append(0, b"meanwhile")
    kit.world.clock.advance(WAITS_MS - 1)
    assert not fetch.is_resolved
    kit.world.clock.advance(1)
    assert told(fetch) == {0: [b"meanwhile"], 3: [b"there"]}
    assert kit.watched() == []


def test_a_partition_that_goes_away_answers(kit: Kit) -> None:
    fetch = kit.fetch({0: 0, 1: 0})
    lost = kit.partition(1)
    lost.retire()
    assert told(fetch) == {0: [], 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert kit.watched() == []
    assert not lost.watchers


def test_a_client_that_hangs_up_leaves_nothing_behind(kit: Kit) -> None:
    """Also if its answer was due at the end of this turn."""
    fetch = kit.fetch({0: 0, 1: 0})
    assert isinstance(fetch, Later)
    kit.turn.begin()
    kit.append(0, b"too late")
    for then in kit.peer.on_close:
        then()
    kit.turn.end()
    kit.world.clock.advance(WAITS_MS)
    assert not fetch.is_resolved
    assert kit.watched() == []


def test_a_fetch_that_names_nothing_need_not_wait(kit: Kit) -> None:
    assert told(kit.fetch({})) == {}


def test_more_bytes_than_it_would_take_are_not_waited_for(kit: Kit) -> None:
    kit.append(0, b"x" * 1000)
    assert told(kit.fetch({0: 0}, min_bytes=2**31 - 1, max_bytes=1000)) == {0: [b"x" * 1000]}
