"""Files that Apache Kafka 4.3.1 wrote, and the records in them.

after-format/   what `kafka-storage format --standalone` leaves
first-start.log the beginning of the metadata log of a first start, with one topic created
every-record/   a node that was made to write almost every kind of metadata record; its two
                snapshots end at offsets 25 and 49 of the log beside them
"""

from collections.abc import Iterator
from pathlib import Path

from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.codec import decode_record
from kafkapy.kraft.records.control import ControlRecord, control_records
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.protocol.batches.batch import BatchHeader, Record, batches, records

HOME = Path(__file__).parent.parent / "fixtures" / "kraft"
LOGS = ("first-start.log", "every-record/00000000000000000000.log")
SNAPSHOTS = (
    "every-record/00000000000000000025-0000000001.checkpoint",
    "every-record/00000000000000000049-0000000001.checkpoint",
)
ALL = (
    *LOGS,
    *SNAPSHOTS,
    "after-format/bootstrap.checkpoint",
    "after-format/00000000000000000000-0000000000.checkpoint",
    "every-record/bootstrap.checkpoint",
)


def read(name: str) -> bytes:
    return (HOME / name).read_bytes()


def batches_of(name: str) -> Iterator[tuple[BatchHeader, bytes]]:
    data = read(name)
    for position, header in batches(data):
        yield header, data[position : position + header.size]


def framed_of(name: str) -> Iterator[Record]:
    for header, batch in batches_of(name):
        if not header.is_control:
            yield from records(batch)


def records_of(name: str) -> Iterator[tuple[int, MetadataRecord]]:
    for record in framed_of(name):
        assert record.value is not None
        yield record.offset, decode_record(record.value)


def control_of(name: str) -> list[ControlRecord]:
    return [
        record
        for header, batch in batches_of(name)
        if header.is_control
        for _, record in control_records(batch)
    ]


def image_of(name: str, upto: int = 2**63) -> MetadataImage:
    image = MetadataImage()
    for offset, record in records_of(name):
        if offset < upto:
            image.apply(record)
    return image
