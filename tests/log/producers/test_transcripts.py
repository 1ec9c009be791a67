"""Random producers: the same answers, offset for offset, as Apache Kafka 4.3.1 gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafkapy.core.errors import Refused
from kafkapy.log.append import AppendInfo, Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.names import TRANSACTION_INDEX
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.batches.control_records import build_marker
from tests.log.cleaning.kit import DIRECTORY, START, Partition

PRODUCERS = Path(__file__).parents[2] / "fixtures" / "producers"


def data(
    partition: Partition, pid: int, epoch: int, sequence: int, count: int, transactional: int
) -> AppendInfo:
    batch = build_batch(
        [NewRecord(b"k", b"v", START)] * count,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=bool(transactional),
    )
    guard = None
    if transactional:
        guard = partition.log.producers.begin_verification(
            pid, epoch, sequence, supports_epoch_bump=False, now=partition.clock.now()
        )
    return partition.log.append_as_leader(memoryview(batch), leader_epoch=0, guard=guard)


def marker(
    partition: Partition, pid: int, epoch: int, commit: int, coordinator_epoch: int, version: int
) -> AppendInfo:
    batch = build_marker(
        is_commit=bool(commit),
        coordinator_epoch=coordinator_epoch,
        producer_id=pid,
        producer_epoch=epoch,
        timestamp=START,
    )
    return partition.log.append_as_leader(
        memoryview(batch),
        leader_epoch=0,
        origin=Origin.COORDINATOR,
        transaction_version=version,
    )


def answer(partition: Partition, kind: str, fields: list[int]) -> tuple[int, int]:
    """(error code, base offset), as the broker would send them."""
    try:
        if kind == "data":
            return 0, data(partition, *fields).first_offset
        marker(partition, *fields)
    except Refused as refused:
        return int(refused.code), -1
    finally:
        partition.log.advance_high_watermark(partition.log.log_end_offset)
    return 0, -1


@pytest.mark.parametrize("name", ["sequences", "transactions"])
def test_producers_get_the_answers_that_kafka_gave(name: str) -> None:
    transcript: dict[str, Any] = json.loads((PRODUCERS / f"{name}.json").read_text())
    partition = Partition(LogConfig())
    for number, (kind, *fields, code, offset) in enumerate(transcript["rows"]):
        assert (number, answer(partition, kind, fields)) == (number, (code, offset))
    indexes = [
        partition.disk.read_file(f"{DIRECTORY}/{file}")
        for file in partition.names(TRANSACTION_INDEX)
    ]
    assert b"".join(indexes).hex() == transcript["txnindex"]
