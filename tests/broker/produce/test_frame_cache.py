"""A Produce whose frame is known leaves the same answer and the same log as any other."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.produce.frame_cache import MOST_FRAMES, FrameCache, KnownFrame
from kafkapy.broker.requests.dispatch import dispatch
from kafkapy.broker.requests.request import Answer, Encoded, Later, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import (
    STAMP_SIZE,
    Codec,
    NewRecord,
    batches,
    build_batch,
    records,
)
from kafkapy.protocol.framing import request_head
from kafkapy.protocol.handwritten.produce_request import ProduceRequestView
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.world.world import World

VERSIONS = range(9, 14)


class Kit:
    """A node with a topic, and connections to it."""

    def __init__(self) -> None:
        self.world = World(1)
        self.world.start()
        self.create("orders")

    def create(self, name: str, **configs: str) -> None:
        self.world.ask(
            ApiKey.CREATE_TOPICS,
            {
                "topics": [
                    {
                        "name": name,
                        "num_partitions": 2,
                        "replication_factor": 1,
                        "configs": [{"name": k, "value": v} for k, v in configs.items()],
                    }
                ],
                "timeout": 10_000,
            },
        )

    def topic_id(self, name: str) -> UUID:
        assert self.world.node is not None
        return self.world.node.image.topics_by_name[name].id

    def request(
        self,
        batch: bytes,
        version: int,
        *,
        topic: str = "orders",
        index: int = 0,
        acks: int = 1,
        correlation_id: int = 7,
        transactional_id: str | None = None,
    ) -> bytes:
        named: dict[str, Any] = (
            {"topic_id": self.topic_id(topic)} if version >= 13 else {"name": topic}
        )
        partition = {"index": index, "records": batch}
        body = {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout": 1000,
            "topic_data": [{**named, "partition_data": [partition]}],
        }
        head = request_head(ApiKey.PRODUCE, version, correlation_id, "busy")
        return head + encode_request(ApiKey.PRODUCE, version, body)

    def send(self, request: bytes, peer: Peer) -> Answer:
        assert self.world.node is not None
        return dispatch(self.world.node, memoryview(request).toreadonly(), peer)[1]

    def log_end(self, topic: str = "orders", index: int = 0) -> int:
        partition = self.world.broker.partitions.get(topic, index)
        assert partition is not None
        assert partition.log.high_watermark == partition.log.log_end_offset
        return partition.log.log_end_offset

    def batch(self, value: bytes = b"v", **how: Any) -> bytes:
        record = NewRecord(b"k", value, self.world.clock.now())
        return build_batch([record, record], **how)


@pytest.fixture
def kit() -> Iterator[Kit]:
    kit = Kit()
    yield kit
    kit.world.stop()


def peer() -> Peer:
    return Peer("PLAINTEXT", "127.0.0.1")


def _offset(value: int) -> bytes:
    return value.to_bytes(8, "big")


def offset_of(answer: Answer, version: int) -> tuple[int, int]:
    """(error code, base offset)."""
    assert isinstance(answer, Encoded), answer
    (whole,) = answer.parts
    assert isinstance(whole, bytes)
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    row = decode_response(ApiKey.PRODUCE, version, memoryview(whole)[9:])
    found = row.responses[0].partition_responses[0]
    return int(found.error_code), found.base_offset


def served_by_cache(kit: Kit, request: bytes, connection: Peer) -> bool:
    assert kit.world.node is not None
    frames = connection.frames
    return (
        frames is not None
        and frames.serve(kit.world.broker, memoryview(request).toreadonly()) is not None
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [1, 200, 20_000, 400_000])
def test_the_answer_is_the_long_ways_but_for_the_offset(kit: Kit, version: int, size: int) -> None:
    busy = peer()
    batch = kit.batch(bytes(size))
    first = kit.send(kit.request(batch, version, correlation_id=1), busy)
    second = kit.send(kit.request(batch, version, correlation_id=2), busy)
    long_way = kit.send(kit.request(batch, version, correlation_id=2), peer())
    assert [offset_of(one, version) for one in (first, second, long_way)] == [
        (0, 0),
        (0, 2),
        (0, 4),
    ]
    assert isinstance(second, Encoded)
    assert isinstance(long_way, Encoded)
    two, four = bytes(second.parts[0]), bytes(long_way.parts[0])  # type: ignore[arg-type]  # no slices
    assert two.replace(_offset(2), _offset(4)) == four
    assert kit.log_end() == 6


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_the_second_request_is_known(kit: Kit, version: int, acks: int) -> None:
    busy = peer()
    request = kit.request(kit.batch(), version, acks=acks)
    assert not served_by_cache(kit, request, busy)
    kit.send(request, busy)
    assert served_by_cache(kit, request, busy)
    assert kit.log_end() == 4


def test_records_in_known_frames_are_read_back_as_sent(kit: Kit) -> None:
    busy = peer()
    for codec in Codec:
        kit.send(kit.request(kit.batch(b"%d" % codec, codec=codec), 12), busy)
    answer = kit.world.ask(
        ApiKey.FETCH,
        {
            "max_wait": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "topics": [
                {
                    "topic": "orders",
                    "partitions": [
                        {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
                    ],
                }
            ],
        },
        version=12,
    )
    data = answer.responses[0].partitions[0].records
    found = [
        record
        for position, header in batches(data)
        for record in records(memoryview(data)[position : position + header.size])
    ]
    assert [(one.offset, one.value) for one in found] == [
        (2 * codec + at, b"%d" % codec) for codec in Codec for at in (0, 1)
    ]


def test_an_idempotent_producer_keeps_its_order_in_known_frames(kit: Kit) -> None:
    busy = peer()
    codes = []
    for sequence in (0, 2, 4, 4, 2, 9, 6):
        batch = kit.batch(producer_id=5, producer_epoch=0, base_sequence=sequence)
        codes.append(offset_of(kit.send(kit.request(batch, 12), busy), 12))
    out_of_order = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert codes == [(0, 0), (0, 2), (0, 4), (0, 4), (0, 2), out_of_order, (0, 6)]


class Transactions:
    """A producer of version 2 of the protocol: Produce 12 adds partitions by itself."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.connection = peer()
        # Who looks for the coordinator has its topic made.
        kit.world.ask(ApiKey.FIND_COORDINATOR, {"key_type": 1, "coordinator_keys": ["mine"]})
        shards = kit.world.broker.transactions.shards
        assert kit.world.clock.run_until(
            lambda: len(list(shards.active_shards())) == shards.partition_count, 5000
        )
        answer = kit.world.ask(
            ApiKey.INIT_PRODUCER_ID, {"transactional_id": "mine", "transaction_timeout": 5000}
        )
        assert answer.error_code == ErrorCode.NONE
        self.producer_id, self.epoch = int(answer.producer_id), int(answer.producer_epoch)

    def send(self, sequence: int, *, epoch: int | None = None) -> tuple[bool, int]:
        """Whether the cache served it, and the error."""
        request = self.request(sequence, self.epoch if epoch is None else epoch)
        frames = self.connection.frames
        view = memoryview(request).toreadonly()
        served = None if frames is None else frames.serve(self.kit.world.broker, view)
        if served is not None:
            return True, offset_of(served[1], 12)[0]
        answer = self.kit.send(request, self.connection)
        if isinstance(answer, Later):
            later = answer
            assert self.kit.world.clock.run_until(lambda: later.is_resolved, 5000)
            answer = later.answer
        return False, offset_of(answer, 12)[0]

    def request(self, sequence: int, epoch: int, transactional_id: str | None = "mine") -> bytes:
        batch = self.kit.batch(
            producer_id=self.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        return self.kit.request(batch, 12, transactional_id=transactional_id)

    def end(self) -> None:
        answer = self.kit.world.ask(
            ApiKey.END_TXN,
            {
                "transactional_id": "mine",
                "producer_id": self.producer_id,
                "producer_epoch": self.epoch,
                "committed": True,
            },
        )
        assert answer.error_code == ErrorCode.NONE
        self.epoch = int(answer.producer_epoch)


def test_a_transaction_begins_outside_of_the_cache_and_goes_on_in_it(kit: Kit) -> None:
    mine = Transactions(kit)
    for _ in range(2):
        assert [mine.send(sequence) for sequence in (0, 2, 4)] == [
            (False, ErrorCode.NONE),
            (True, ErrorCode.NONE),
            (True, ErrorCode.NONE),
        ]
        mine.end()
    assert kit.log_end() == 2 * (3 * 2 + 1)


def test_a_zombie_is_refused_though_its_frame_is_known(kit: Kit) -> None:
    mine = Transactions(kit)
    first = mine.epoch
    mine.send(0)
    mine.end()
    mine.send(0)
    assert mine.send(2, epoch=first) == (False, ErrorCode.INVALID_PRODUCER_EPOCH)


def test_a_request_that_names_no_transaction_cannot_add_to_one(kit: Kit) -> None:
    """The frame of the producer's plain requests is known, and the transaction is open."""
    mine = Transactions(kit)
    plainly = kit.request(kit.batch(), 12)
    kit.send(plainly, mine.connection)
    assert served_by_cache(kit, plainly, mine.connection)
    mine.send(0)
    answer = kit.send(mine.request(2, mine.epoch, transactional_id=None), mine.connection)
    assert offset_of(answer, 12)[0] == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_what_is_wrong_is_refused_as_ever(kit: Kit) -> None:
    busy = peer()
    kit.send(kit.request(kit.batch(), 12), busy)
    broken = bytearray(kit.batch())
    broken[-1] ^= 1
    code, _ = offset_of(kit.send(kit.request(bytes(broken), 12), busy), 12)
    assert code == ErrorCode.CORRUPT_MESSAGE
    assert kit.log_end() == 2


def test_partitions_have_frames_of_their_own(kit: Kit) -> None:
    busy = peer()
    for _ in range(3):
        for index in (0, 1):
            kit.send(kit.request(kit.batch(), 13, index=index), busy)
    assert (kit.log_end(index=0), kit.log_end(index=1)) == (6, 6)


def test_another_topic_of_the_same_name_is_never_written_to_by_an_old_frame(kit: Kit) -> None:
    busy = peer()
    kit.send(kit.request(kit.batch(), 12), busy)
    kit.world.ask(ApiKey.DELETE_TOPICS, {"topics": [{"name": "orders"}], "timeout": 1000})
    request = request_head(ApiKey.PRODUCE, 12, 7, "busy") + encode_request(
        ApiKey.PRODUCE,
        12,
        {
            "acks": 1,
            "timeout": 1000,
            "topic_data": [
                {
                    "name": "orders",
                    "partition_data": [{"index": 0, "records": kit.batch()}],
                }
            ],
        },
    )
    code, _ = offset_of(kit.send(request, busy), 12)
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    kit.create("orders")
    assert offset_of(kit.send(request, busy), 12) == (0, 0)
    assert served_by_cache(kit, request, busy)


def resolved(kit: Kit, answer: Answer) -> bytes:
    if isinstance(answer, Later):
        later = answer
        assert kit.world.clock.run_until(lambda: later.is_resolved, 5000)
        answer = later.answer
    assert isinstance(answer, Encoded), answer
    return b"".join(bytes(part) for part in answer.parts)  # type: ignore[arg-type]  # no slices


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize(
    "configs",
    [
        {"flush.messages": "1"},
        {"cleanup.policy": "compact"},
        {"compression.type": "lz4"},
        {"message.timestamp.type": "LogAppendTime"},
        {"message.timestamp.before.max.ms": "1000"},
    ],
    ids=lambda configs: next(iter(configs)),
)
def test_a_topic_that_asks_for_more_gets_it_from_known_frames_too(
    kit: Kit, configs: dict[str, str], acks: int
) -> None:
    kit.create("careful", **configs)
    node = kit.world.broker
    busy = peer()
    request = kit.request(kit.batch(), 12, topic="careful", acks=acks)
    resolved(kit, kit.send(request, busy))
    assert busy.frames is not None
    served = busy.frames.serve(node, memoryview(request).toreadonly())
    assert served is not None
    second = resolved(kit, served[1])
    third = resolved(kit, kit.send(request, peer()))
    assert second.replace(_offset(2), _offset(4), 1) == third
    partition = node.partitions.get("careful", 0)
    assert partition is not None
    data = _read(partition.log)
    assert [header.base_offset for _, header in batches(data)] == [0, 2, 4]
    whole = [data[at + STAMP_SIZE : at + header.size] for at, header in batches(data)]
    assert whole[0] == whole[1] == whole[2]


def _read(log: PartitionLog) -> bytes:
    found = log.read(0, 1 << 20, upper=log.log_end_offset)
    return b"".join(one.read() for one in found.slices)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize(
    "kind",
    [
        "crc",
        "large",
        "late",
        "sequence",
        "two",
        "cut off",
        "short",
        "old",
        "old and odd",
        "future format",
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(
    kit: Kit, kind: str, acks: int, version: int
) -> None:
    busy = peer()
    good = kit.batch()
    kit.send(kit.request(good, version, acks=acks), busy)
    now = kit.world.clock.now()
    broken = bytearray(good)
    if kind == "crc":
        broken[-1] ^= 1
    elif kind == "large":
        broken = bytearray(kit.batch(bytes(1 << 20)))
    elif kind == "late":
        broken = bytearray(build_batch([NewRecord(b"k", b"v", now + 7_200_000)]))
    elif kind == "sequence":
        kit.send(
            kit.request(kit.batch(producer_id=5, producer_epoch=0, base_sequence=0), version), busy
        )
        broken = bytearray(kit.batch(producer_id=5, producer_epoch=0, base_sequence=99))
    elif kind == "two":
        broken += good
    elif kind == "cut off":
        del broken[-1]
    elif kind == "short":
        broken[8:12] = (13).to_bytes(4)
    elif kind == "old":
        broken[16] = 1
    elif kind == "old and odd":
        broken[16] = 0
        broken[22] |= 0x10  # which says "transactional" in a batch of today's
    else:
        broken[16] = 3
    end = kit.log_end()
    request = kit.request(bytes(broken), version, acks=acks)
    known, anew = resolved(kit, kit.send(request, busy)), resolved(kit, kit.send(request, peer()))
    assert known == anew
    assert offset_of(Encoded((known,)), version)[0] != ErrorCode.NONE
    assert kit.log_end() == end
    is_no_batch = kind in ("short", "old", "old and odd", "future format")
    assert served_by_cache(kit, request, busy) != is_no_batch


def test_a_node_that_leads_no_more_says_so(kit: Kit) -> None:
    node = kit.world.broker
    busy = peer()
    request = kit.request(kit.batch(), 12)
    kit.send(request, busy)
    partition = node.partitions.get("orders", 0)
    assert partition is not None
    partition.go_offline()
    assert not served_by_cache(kit, request, busy)
    assert offset_of(kit.send(request, busy), 12) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


def test_an_acks_that_there_is_not_is_refused_again_and_again(kit: Kit) -> None:
    busy = peer()
    request = kit.request(kit.batch(), 12, acks=5)
    for _ in range(2):
        code, _offset = offset_of(kit.send(request, busy), 12)
        assert code == ErrorCode.INVALID_REQUIRED_ACKS


def test_no_other_api_is_taken_for_a_produce(kit: Kit) -> None:
    busy = peer()
    request = bytearray(kit.request(kit.batch(), 12))
    kit.send(bytes(request), busy)
    request[0] = 1
    assert not served_by_cache(kit, bytes(request), busy)
    assert kit.log_end() == 2


def test_what_is_remembered_of_a_connection_is_bounded(kit: Kit) -> None:
    partition = kit.world.broker.partitions.get("orders", 0)
    assert partition is not None
    frames = FrameCache(peer())
    body = ProduceRequestView(None, 1, 1000, [("orders", None, [])])
    for number in range(10 * MOST_FRAMES):
        frames.add(12, b"%d" % number, KnownFrame(12, "busy", body, partition, 0))
    assert len(frames._frames) <= MOST_FRAMES
