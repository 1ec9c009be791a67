"""Single records of a log, in any order, within bounds."""

from random import Random

import pytest

from kafkapy.broker.relays.reading import Recent
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batch import NewRecord, build_batch
from kafkapy.protocol.compression import Codec
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
