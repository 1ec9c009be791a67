"""Single records of a log, in any order, within bounds."""

from random import Random

import pytest

from kafkapy.broker.relays.reading import Recent, read_committed
from kafkapy.core.errors import Corrupt
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import HEADER_SIZE, NewRecord, build_batch, pack_batch
from kafkapy.protocol.batches.records import encode
from kafkapy.protocol.compression.codecs import Codec
from tests.log.support import Home

PER_BATCH, BATCHES = 100, 20
COUNT = PER_BATCH * BATCHES


def filled(codec: Codec = Codec.NONE) -> PartitionLog:
    log = Home().open()
    for first in range(0, COUNT, PER_BATCH):
        new = [NewRecord(b"k", b"%d" % (first + one), 7 + one) for one in range(PER_BATCH)]
        log.append_as_leader(memoryview(build_batch(new, codec=codec)), leader_epoch=0)
    log.advance_high_watermark(COUNT)
    return log


def recent(most_bytes: int) -> Recent:
    found = Recent()
    found.most_bytes = most_bytes
    return found


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("most_bytes", [0, 4_000, 1 << 20])
def test_each_is_found_in_whatever_order(codec: Codec, most_bytes: int) -> None:
    log, one = filled(codec), recent(most_bytes)
    offsets = list(range(COUNT))
    Random(1).shuffle(offsets)
    for offset in offsets:
        record, cost_us = one.find(log, offset)
        assert record is not None
        assert (record.offset, record.value) == (offset, b"%d" % offset)
        assert record.timestamp == 7 + offset % PER_BATCH
        assert cost_us > 0
    assert one.find(log, COUNT)[0] is None


def test_what_is_kept_is_bounded_and_looking_in_it_is_cheap() -> None:
    log, one = filled(), recent(4_000)
    costs = [one.find(log, offset)[1] for offset in range(PER_BATCH)]
    assert costs[0] > 10 * max(costs[1:]), "the batch is read once"
    for offset in range(0, COUNT, PER_BATCH):
        one.find(log, offset)
    assert one.kept_bytes < 3 * 4_000
    assert one.find(log, COUNT - PER_BATCH)[1] == costs[1], "the last one is still there"
    assert one.find(log, 0)[1] > costs[1], "the first is not"


def test_what_is_deleted_is_not_found() -> None:
    log, one = filled(), recent(0)
    assert one.find(log, 20)[0] is not None
    log.advance_log_start_offset(150)
    assert one.find(log, 20)[0] is None
    assert one.find(log, 149)[0] is None
    found, _ = one.find(log, 150)
    assert found is not None


def cut_short(count: int, whole: int, codec: Codec = Codec.NONE) -> bytes:
    """A batch that says it has `count` records, of which `whole` can be read; its CRC is right."""
    packed = encode([NewRecord(b"k", b"%d" % one, 7) for one in range(whole)], 7)
    packed += b"\xfe" * 40
    return pack_batch(
        b"\x1f\x8b never packed" if codec is Codec.GZIP else packed,
        base_offset=0,
        leader_epoch=-1,
        attributes=int(codec),
        last_offset_delta=count - 1,
        base_timestamp=7,
        max_timestamp=7,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )


@pytest.mark.parametrize(
    ("batch", "readable"),
    [(cut_short(5, 2), [0, 1]), (cut_short(5, 0, Codec.GZIP), [])],
)
def test_what_nobody_can_read_is_passed_over(batch: bytes, readable: list[int]) -> None:
    log, garbage = Home().open(), list[int]()
    log.append_as_leader(memoryview(batch), leader_epoch=0)
    log.append_as_leader(memoryview(build_batch([NewRecord(b"k", b"5", 7)])), leader_epoch=0)
    log.advance_high_watermark(6)
    stretch = read_committed(log, 0, 1 << 20, lambda header, _: garbage.append(header.last_offset))
    assert [one.offset for one in stretch.records] == [*readable, 5]
    assert (stretch.next_offset, garbage) == (6, [4])
    one = recent(1 << 20)
    found = {offset: one.find(log, offset)[0] for offset in range(6)}
    assert [offset for offset, record in found.items() if record is not None] == [*readable, 5]


def test_a_batch_that_the_disk_has_changed_is_not_passed_over() -> None:
    home = Home()
    log = home.open()
    log.append_as_leader(memoryview(cut_short(5, 0, Codec.GZIP)), leader_epoch=0)
    log.advance_high_watermark(5)
    (name,) = (one for one in home.disk.list(log.directory) if one.endswith(".log"))
    home.disk.flip(f"{log.directory}/{name}", HEADER_SIZE + 5, 1)
    with pytest.raises(Corrupt):
        list(read_committed(log, 0, 1 << 20).records)
    with pytest.raises(Corrupt):
        recent(1 << 20).find(log, 0)
