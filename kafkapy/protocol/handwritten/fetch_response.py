"""Fetch responses, v4-18, as pieces: bytes, and the slices of files that hold the records.

    throttle | v7: error, session | topics [ name (v13: uuid) | partitions
    [ index | error | high watermark | last stable offset | v5: log start offset
      | aborted transactions? | v11: preferred read replica | records
      | tags 0 diverging epoch, 1 current leader, 2 snapshot id ] ] | v16: tag 0 endpoints

The size in front counts the slices; whoever sends the pieces in order has sent the frame.
Records are never null, only empty, as Kafka's are.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final
from uuid import UUID

from kafkapy.core.seams import FileSlice
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import response_head
from kafkapy.protocol.varint import ONE_BYTE, uvarint

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_TWO_INT64: Final = Struct(">qq")
_TWO_INT64_AND_NO_TAGS: Final = Struct(">qqx")
_THROTTLE_ERROR_AND_SESSION: Final = Struct(">ihi")
# index, error code, high watermark, last stable offset (and log start offset); the
# flexible one goes on with no or no aborted transactions and the preferred replica.
_PARTITION_V4: Final = Struct(">ihqq")
_PARTITION: Final = Struct(">ihqqq")
_FLEXIBLE_PARTITION: Final = Struct(">ihqqqBi")
_EPOCH_AND_OFFSET: Final = Struct(">iqx")
_LEADER_AND_EPOCH: Final = Struct(">iix")
_OFFSET_AND_EPOCH: Final = Struct(">qix")
_ZERO_UUID: Final = bytes(16)
_NO_TAGS: Final = b"\0"
_IN_MEMORY: Final = (bytes, memoryview)
_UNKNOWN: Final = (-1, -1)  # the default of every tagged pair: not written

Slice = FileSlice | bytes | memoryview
NodeEndpoint = tuple[int, str, int, str | None]  # node id, host, port, rack


class FetchedPartition:
    """What is told about one partition. Pairs are in the order of their fields on the
    wire: diverging (epoch, end offset), leader (node id, epoch), snapshot (end offset,
    epoch); aborted transactions are (producer id, first offset)."""

    __slots__ = (
        "aborted_transactions",
        "current_leader",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "index",
        "last_stable_offset",
        "log_start_offset",
        "preferred_read_replica",
        "slices",
        "snapshot_id",
    )

    def __init__(
        self,
        index: int,
        error_code: int = 0,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted_transactions: Sequence[tuple[int, int]] | None = None,
        preferred_read_replica: int = -1,
        slices: Sequence[Slice] = (),
        diverging_epoch: tuple[int, int] | None = None,
        current_leader: tuple[int, int] | None = None,
        snapshot_id: tuple[int, int] | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.aborted_transactions = aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.slices = slices
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id


FetchedTopic = tuple[str | None, UUID | None, Sequence[FetchedPartition]]


def pack_fetch_response(
    version: int,
    correlation_id: int,
    *,
    topics: Sequence[FetchedTopic],
    error_code: int = 0,
    session_id: int = 0,
    throttle_time_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> list[bytes | FileSlice]:
    """The frame, with its size and header, in pieces."""
    frame = _Pieces()
    frame.add(response_head(ApiKey.FETCH, version, correlation_id))
    if version >= 7:
        frame.add(_THROTTLE_ERROR_AND_SESSION.pack(throttle_time_ms, error_code, session_id))
    else:
        frame.add(_INT32.pack(throttle_time_ms))
    if version >= 12:
        _add_flexible_topics(frame, version, topics)
        if version >= 16 and node_endpoints:
            frame.add(_endpoints(node_endpoints))
        else:
            frame.add(_NO_TAGS)
    else:
        _add_legacy_topics(frame, version, topics)
    return frame.end()


class _Pieces:
    """A frame under construction: runs of bytes, and slices between them."""

    __slots__ = ("_pieces", "add")

    def __init__(self) -> None:
        run: list[bytes | memoryview] = []
        self._pieces: list[list[bytes | memoryview] | FileSlice] = [run]
        self.add = run.append

    def add_slices(self, slices: Sequence[Slice]) -> None:
        for one in slices:
            if isinstance(one, _IN_MEMORY):
                self.add(one)
            else:
                run: list[bytes | memoryview] = []
                self._pieces += (one, run)
                self.add = run.append

    def end(self) -> list[bytes | FileSlice]:
        size = 0
        done: list[bytes | FileSlice] = []
        for piece in self._pieces:
            if not isinstance(piece, list):
                size += piece.length
                done.append(piece)
            elif piece:
                run = b"".join(piece)
                size += len(run)
                done.append(run)
        first = done[0]
        assert isinstance(first, bytes)
        done[0] = _INT32.pack(size) + first
        return done


def _length(slices: Sequence[Slice]) -> int:
    size = 0
    for one in slices:
        size += len(one) if isinstance(one, _IN_MEMORY) else one.length
    return size


def _add_flexible_topics(frame: _Pieces, version: int, topics: Sequence[FetchedTopic]) -> None:
    frame.add(uvarint(len(topics) + 1))
    for name, topic_id, partitions in topics:
        if version >= 13:
            identity = _ZERO_UUID if topic_id is None else topic_id.bytes
        else:
            assert name is not None, topics
            identity = _compact_string(name)
        frame.add(identity + uvarint(len(partitions) + 1))
        for partition in partitions:
            slices = partition.slices
            size = _length(slices)
            head = _flexible_partition(partition)
            frame.add(head + uvarint(size + 1))
            if size:
                frame.add_slices(slices)
            frame.add(_partition_tags(partition))
        frame.add(_NO_TAGS)


def _flexible_partition(partition: FetchedPartition) -> bytes:
    aborted = partition.aborted_transactions
    if not aborted:
        return _FLEXIBLE_PARTITION.pack(
            partition.index,
            partition.error_code,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log_start_offset,
            0 if aborted is None else 1,
            partition.preferred_read_replica,
        )
    return b"".join(
        (
            _fixed(partition),
            uvarint(len(aborted) + 1),
            *[_TWO_INT64_AND_NO_TAGS.pack(*one) for one in aborted],
            _INT32.pack(partition.preferred_read_replica),
        )
    )


def _partition_tags(partition: FetchedPartition) -> bytes:
    diverging, leader = partition.diverging_epoch, partition.current_leader
    snapshot = partition.snapshot_id
    if diverging is None and leader is None and snapshot is None:
        return _NO_TAGS
    tags = []
    for tag, form, pair in (
        (0, _EPOCH_AND_OFFSET, diverging),
        (1, _LEADER_AND_EPOCH, leader),
        (2, _OFFSET_AND_EPOCH, snapshot),
    ):
        if pair is not None and pair != _UNKNOWN:
            tags.append(ONE_BYTE[tag] + ONE_BYTE[form.size] + form.pack(*pair))
    return ONE_BYTE[len(tags)] + b"".join(tags)


def _endpoints(node_endpoints: Sequence[NodeEndpoint]) -> bytes:
    """The tag section of the whole response: tag 0, an array of structs."""
    rows = [uvarint(len(node_endpoints) + 1)]
    for node_id, host, port, rack in node_endpoints:
        text = b"\0" if rack is None else _compact_string(rack)
        rows += (_INT32.pack(node_id), _compact_string(host), _INT32.pack(port), text, _NO_TAGS)
    payload = b"".join(rows)
    return b"".join((b"\x01\0", uvarint(len(payload)), payload))


def _compact_string(text: str) -> bytes:
    data = text.encode()
    return uvarint(len(data) + 1) + data


def _add_legacy_topics(frame: _Pieces, version: int, topics: Sequence[FetchedTopic]) -> None:
    frame.add(_INT32.pack(len(topics)))
    for name, _, partitions in topics:
        assert name is not None, topics
        text = name.encode()
        frame.add(b"".join((_INT16.pack(len(text)), text, _INT32.pack(len(partitions)))))
        for partition in partitions:
            frame.add(_PARTITION_V4.pack(*_facts(partition)) if version == 4 else _fixed(partition))
            aborted = partition.aborted_transactions
            frame.add(_INT32.pack(-1 if aborted is None else len(aborted)))
            for one in aborted or ():
                frame.add(_TWO_INT64.pack(*one))
            if version >= 11:
                frame.add(_INT32.pack(partition.preferred_read_replica))
            frame.add(_INT32.pack(_length(partition.slices)))
            frame.add_slices(partition.slices)


def _facts(partition: FetchedPartition) -> tuple[int, int, int, int]:
    return (
        partition.index,
        partition.error_code,
        partition.high_watermark,
        partition.last_stable_offset,
    )


def _fixed(partition: FetchedPartition) -> bytes:
    return _PARTITION.pack(*_facts(partition), partition.log_start_offset)
