import importlib
import io
import struct
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from kio.serial import entity_writer

from kafkapy.protocol.handwritten.fetch_response import FetchedPartition, pack_fetch_response

VERSIONS = range(4, 19)
TOPIC_ID = UUID("11223344-5566-7788-99aa-bbccddeeff00")


class Slice:
    """A FileSlice over nothing."""

    def __init__(self, data: bytes) -> None:
        self.length = len(data)
        self._data = data

    def read(self) -> bytes:
        return self._data

    def release(self) -> None:
        pass


def by_kio(version: int, topics: Any, endpoints: Any = ()) -> bytes:
    """The same frame by kio's writer, headed by hand, with the slices' bytes in place."""
    module = importlib.import_module(f"kio.schema.fetch.v{version}.response")

    def partition(one: FetchedPartition) -> Any:
        given: dict[str, Any] = {
            "partition_index": one.index,
            "error_code": next(code for code in module.ErrorCode if int(code) == one.error_code),
            "high_watermark": one.high_watermark,
            "last_stable_offset": one.last_stable_offset,
            "aborted_transactions": None
            if one.aborted_transactions is None
            else tuple(
                module.AbortedTransaction(producer_id=pid, first_offset=offset)
                for pid, offset in one.aborted_transactions
            ),
            "records": b"".join(
                piece.read() if isinstance(piece, Slice) else bytes(piece)  # type: ignore[arg-type]  # bytes
                for piece in one.slices
            ),
        }
        if version >= 5:
            given["log_start_offset"] = one.log_start_offset
        if version >= 11:
            given["preferred_read_replica"] = one.preferred_read_replica
        if version >= 12:
            if one.diverging_epoch is not None:
                epoch, end_offset = one.diverging_epoch
                given["diverging_epoch"] = module.EpochEndOffset(epoch=epoch, end_offset=end_offset)
            if one.current_leader is not None:
                node_id, epoch = one.current_leader
                given["current_leader"] = module.LeaderIdAndEpoch(
                    leader_id=node_id, leader_epoch=epoch
                )
            if one.snapshot_id is not None:
                end_offset, epoch = one.snapshot_id
                given["snapshot_id"] = module.SnapshotId(end_offset=end_offset, epoch=epoch)
        return module.PartitionData(**given)

    def topic(name: str, topic_id: UUID, partitions: Any) -> Any:
        identity = {"topic_id": topic_id} if version >= 13 else {"topic": name}
        return module.FetchableTopicResponse(
            **identity, partitions=tuple(map(partition, partitions))
        )

    given: dict[str, Any] = {
        "responses": tuple(topic(*one) for one in topics),
        "throttle_time": timedelta(milliseconds=3),
    }
    if version >= 7:
        given |= {"error_code": module.ErrorCode(0), "session_id": 12}
    if version >= 16:
        given["node_endpoints"] = tuple(
            module.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in endpoints
        )
    out = io.BytesIO()
    entity_writer(module.FetchResponse)(out, module.FetchResponse(**given))
    head = struct.pack(">i", 99) + (b"\0" if version >= 12 else b"")
    return struct.pack(">i", len(head) + len(out.getvalue())) + head + out.getvalue()


def packed(version: int, topics: Any, endpoints: Any = ()) -> list[Any]:
    return pack_fetch_response(
        version,
        99,
        error_code=0,
        session_id=12,
        throttle_time_ms=3,
        topics=topics,
        node_endpoints=endpoints,
    )


def joined(pieces: list[Any]) -> bytes:
    return b"".join(piece.read() if isinstance(piece, Slice) else piece for piece in pieces)


def full_partition() -> FetchedPartition:
    return FetchedPartition(
        2,
        6,
        100,
        90,
        10,
        [(7, 40), (8, 50)],
        3,
        [Slice(b"x" * 100), Slice(b"y" * 70_000)],
        (4, 55),
        (1, 9),
        (60, 5),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_every_field_is_written_as_kio_writes_it(version: int) -> None:
    plain = FetchedPartition(0, 0, 5, 5, 0, None, -1, [b"abc", memoryview(b"def")])
    none_aborted = FetchedPartition(1, 0, 5, 5, 0, [])
    refused = FetchedPartition(9, 3)
    topics = [
        ("a", TOPIC_ID, [plain, full_partition(), none_aborted]),
        ("b" * 200, None, [refused] * 130),
        ("c", TOPIC_ID, []),
    ]
    endpoints = [(4, "host-4", 9092, None), (5, "host-5", 19092, "rack-5")]
    assert joined(packed(version, topics, endpoints)) == by_kio(version, topics, endpoints)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_answer_is_one_piece(version: int) -> None:
    (piece,) = packed(version, [])
    assert piece == by_kio(version, [])


def test_slices_are_passed_through_and_the_bytes_between_them_joined() -> None:
    one, two = Slice(b"1" * 10), Slice(b"2" * 20)
    parts = [FetchedPartition(0, slices=[one, two]), FetchedPartition(1, slices=[b"3", b"4"])]
    pieces = packed(12, [("t", None, parts)])
    assert [type(piece) for piece in pieces] == [bytes, Slice, Slice, bytes]
    assert pieces[1] is one
    assert pieces[2] is two
    assert struct.unpack(">i", pieces[0][:4]) == (len(joined(pieces)) - 4,)


def test_a_pair_that_says_unknown_is_not_written() -> None:
    unknown = FetchedPartition(0, diverging_epoch=(-1, -1), current_leader=(-1, -1))
    assert packed(16, [("t", TOPIC_ID, [unknown])]) == packed(
        16, [("t", TOPIC_ID, [FetchedPartition(0)])]
    )
