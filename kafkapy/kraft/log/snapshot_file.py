"""One snapshot file, `<end offset>-<epoch>.checkpoint`: an image as record batches.

    control batch   SNAPSHOT_HEADER [KRAFT_VERSION KRAFT_VOTERS]
    data batches    the image's records, framed as in the log; offsets restart at 0
    control batch   SNAPSHOT_FOOTER

A file without its footer was not finished and is Corrupt. Reading and writing are
generators over batches, so that a large snapshot can be worked on in slices.
formats/metadata 4; KIP-630, KIP-853.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import File
from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.voters import VoterSet
from kafkapy.kraft.records.codec import decode_record, encode_record, version_to_write
from kafkapy.kraft.records.control import (
    ControlRecord,
    KRaftVersion,
    SnapshotFooter,
    SnapshotHeader,
    build_control_batch,
    control_records,
)
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    NewRecord,
    build_batch,
    crc_is_valid,
    read_header,
    records,
)

SUFFIX: Final = ".checkpoint"
# A batch is one step of the jobs that write and read it: some 1.5 ms and 1 ms.
RECORDS_PER_BATCH: Final = 128
# Kafka's own bound for a batch of the metadata log (MAX_BATCH_SIZE_BYTES).
MAX_BATCH_BYTES: Final = 8 * 1024 * 1024

_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class SnapshotId(NamedTuple):
    """`end_offset` is exclusive; `epoch` is that of the last record contained."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"


# Written when a directory is formatted: the first voters, never the state of a cluster.
BOOTSTRAP_SNAPSHOT: Final = SnapshotId(0, 0)


def snapshot_id(file_name: str) -> SnapshotId | None:
    match = _NAME.fullmatch(file_name)
    return None if match is None else SnapshotId(int(match[1]), int(match[2]))


class SnapshotBatch(NamedTuple):
    """One batch read: either control records or metadata records."""

    control: tuple[ControlRecord, ...]
    records: tuple[MetadataRecord, ...]


def snapshot_batches(
    image: Iterable[MetadataRecord],
    *,
    epoch: int,
    metadata_version: int,
    last_contained_timestamp: int,
    now: Instant,
    kraft_version: int = 0,
    voters: VoterSet | None = None,
) -> Iterator[bytes]:
    """The file, a batch at a time."""
    head: list[ControlRecord] = [
        SnapshotHeader(last_contained_log_timestamp=last_contained_timestamp)
    ]
    if kraft_version > 0:
        head.append(KRaftVersion(k_raft_version=kraft_version))
        if voters is not None:
            head.append(voters.to_record())
    yield build_control_batch(head, base_offset=0, leader_epoch=epoch, now=now)
    offset = len(head)
    source = iter(image)
    while some := list(islice(source, RECORDS_PER_BATCH)):
        framed = [
            NewRecord(
                value=encode_record(record, version_to_write(record, metadata_version)),
                timestamp=now,
            )
            for record in some
        ]
        yield build_batch(framed, base_offset=offset, leader_epoch=epoch)
        offset += len(framed)
    yield build_control_batch([SnapshotFooter()], base_offset=offset, leader_epoch=epoch, now=now)


def read_snapshot(file: File) -> Iterator[SnapshotBatch]:
    """Every batch, checked; Corrupt at the first that is not right, or without a footer.
    The file is closed at the end, and when the iterator is dropped."""
    try:
        yield from _batches(file)
    finally:
        file.close()


def _batches(file: File) -> Iterator[SnapshotBatch]:
    position, offset, finished = 0, 0, False
    while position < file.size:
        raw = file.read(position, HEADER_SIZE)
        header = read_header(raw)
        if finished or header.size > min(file.size - position, 2 * MAX_BATCH_BYTES):
            raise Corrupt(f"{file.path}: a batch of {header.size} bytes at {position}")
        raw = file.read(position, header.size)
        if len(raw) != header.size or not crc_is_valid(raw, 0, header):
            raise Corrupt(f"{file.path}: the CRC of the batch at {position} is wrong")
        if header.base_offset != offset:
            raise Corrupt(f"{file.path}: offset {header.base_offset} where {offset} should be")
        if header.is_control:
            control = tuple(record for _, record in control_records(raw))
            if position == 0 and not (control and isinstance(control[0], SnapshotHeader)):
                raise Corrupt(f"{file.path}: no snapshot header")
            finished = any(isinstance(record, SnapshotFooter) for record in control)
            yield SnapshotBatch(control, ())
        else:
            yield SnapshotBatch((), tuple(_decoded(raw, file.path)))
        position += header.size
        offset = header.next_offset
    if not finished:
        raise Corrupt(f"{file.path}: no snapshot footer, it was not written to its end")


def _decoded(batch: bytes, path: str) -> Iterator[MetadataRecord]:
    for record in records(batch):
        if record.value is None:
            raise Corrupt(f"{path}: record {record.offset} has no value")
        yield decode_record(record.value)
