"""A batch that unpacks to much is examined in slices: others are served meanwhile, and what comes
to the same partition waits behind it."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.broker.hooks.produce import MOST_EXAMINED
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Encoded, Later, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec, NewRecord, build_batch
from kafkapy.protocol.messages import decode_response
from tests.broker.produce.test_frame_cache import Kit
from tests.log.support import all_records

MIB = 1024 * 1024
NOW = 1_700_000_000_000
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def large(name: bytes, codec: Codec = Codec.GZIP, size: int = 8 * MIB) -> bytes:
    return build_batch([NewRecord(name, bytes(size), NOW)], codec=codec)


def small(name: bytes, codec: Codec = Codec.NONE) -> bytes:
    return build_batch([NewRecord(name, b"v", NOW)], codec=codec)


class World(Kit):
    def __init__(self) -> None:
        super().__init__()
        self.create("compacted", **{"cleanup.policy": "compact"})
        self.peer = Peer("PLAINTEXT", "test")

    def produce(
        self, batch: bytes, *, peer: Peer | None = None, topic: str = "compacted", **how: Any
    ) -> Any:
        return self.send(self.request(batch, 9, topic=topic, **how), peer or self.peer)

    def partition(self, index: int = 0, topic: str = "compacted") -> Partition:
        assert self.world.node is not None
        assert self.world.node.broker is not None
        partition = self.world.node.broker.partitions.get(topic, index)
        assert partition is not None
        return partition

    def keys(self, index: int = 0) -> list[bytes | None]:
        return [one.key for one in all_records(self.partition(index).log)]


def row(answer: Any) -> Any:
    if isinstance(answer, Later):
        assert answer.is_resolved
        answer = answer.answer
    assert isinstance(answer, Encoded)
    (whole,) = answer.parts
    assert isinstance(whole, bytes)
    body = decode_response(ApiKey.PRODUCE, 9, whole[9:])
    return body.responses[0].partition_responses[0]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.world.stop()


@pytest.mark.parametrize("codec", CODECS)
def test_others_are_served_while_it_is_unpacked(world: World, codec: Codec) -> None:
    bomb = world.produce(large(b"bomb", codec))
    assert isinstance(bomb, Later)
    assert not bomb.is_resolved
    assert row(world.produce(small(b"other"), index=1)).error_code == 0
    assert row(world.produce(small(b"other"), topic="orders")).error_code == 0
    assert not bomb.is_resolved
    world.world.clock.settle()
    assert row(bomb).error_code == 0
    assert world.keys() == [b"bomb"]
    assert world.partition().hook is None


def test_what_comes_to_the_same_partition_waits_behind_it(world: World) -> None:
    other = Peer("PLAINTEXT", "other")
    for times in range(2):  # the second time frames are known by their bytes
        first = [
            world.produce(large(b"1")),
            world.produce(small(b"2")),
            world.produce(small(b"3", Codec.ZSTD), peer=other),
            world.produce(large(b"4"), peer=other),
            world.produce(small(b"5")),
        ]
        assert not any(answer.is_resolved for answer in first)
        world.world.clock.settle()
        assert [row(answer).base_offset for answer in first] == list(
            range(5 * times, 5 * times + 5)
        )
    assert world.keys() == [b"1", b"2", b"3", b"4", b"5"] * 2


def test_a_small_batch_is_appended_when_its_request_is_handled(world: World) -> None:
    for codec in Codec:
        for _ in range(2):
            assert isinstance(world.produce(small(b"k", codec)), Encoded)


def test_what_is_wrong_with_it_is_answered_and_the_next_one_goes_in(world: World) -> None:
    keyless = build_batch(
        [NewRecord(b"k", bytes(2 * MIB), NOW), NewRecord(None, b"", NOW)], codec=Codec.ZSTD
    )
    refused = world.produce(keyless)
    good = world.produce(large(b"good"))
    world.world.clock.settle()
    assert row(refused).error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in row(refused).record_errors] == [1]
    assert row(good).error_code == 0
    assert world.keys() == [b"good"]


def test_leadership_lost_meanwhile_refuses_it(world: World) -> None:
    answer = world.produce(large(b"late"))
    partition = world.partition()
    partition.leader = 77
    world.world.clock.settle()
    assert row(answer).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


def test_an_idempotent_producers_retry_is_known_again(world: World) -> None:
    batch = build_batch(
        [NewRecord(b"k", bytes(2 * MIB), NOW)],
        codec=Codec.LZ4,
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
    )
    answers = [world.produce(batch), world.produce(batch)]
    world.world.clock.settle()
    assert [row(answer).base_offset for answer in answers] == [0, 0]
    assert world.partition().log.log_end_offset == 1


def test_only_so_many_are_unpacked_at_a_time_and_all_of_them_in_the_end(world: World) -> None:
    """More partitions than may be unpacked side by side."""
    world.create("many", **{"cleanup.policy": "compact"})
    topics = ["many", "compacted", "third", "fourth"]
    for name in topics[2:]:
        world.create(name, **{"cleanup.policy": "compact"})
    places = [(topic, index) for topic in topics for index in range(2)]
    assert len(places) > MOST_EXAMINED
    answers = [world.produce(large(b"k"), topic=topic, index=index) for topic, index in places]
    world.world.clock.settle()
    assert [row(answer).error_code for answer in answers] == [0] * len(places)
    assert all(world.partition(index, topic).hook is None for topic, index in places)
