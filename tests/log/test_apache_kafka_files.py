"""Files of a real Apache Kafka: we read them, rebuild them, and write the same bytes."""

from pathlib import Path

import pytest

from kafkapy.log.config import LogConfig
from kafkapy.log.directories.partition_metadata import read_topic_id
from kafkapy.log.names import SNAPSHOT
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import ProducerEntry
from kafkapy.log.producers.snapshot_file import decode_snapshot
from kafkapy.protocol.batches.batch import batches
from tests.log.support import Answers, Home, all_batches, files, offsets

FIXTURE = Path(__file__).parent.parent / "fixtures" / "partition" / "orders-0"
CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=300, retention_ms=-1)
END = 76


def _kafkas_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(FIXTURE.iterdir())}


def _written(suffix: str) -> bytes:
    return b"".join(data for name, data in _kafkas_files().items() if name.endswith(suffix))


def _producers(data: bytes) -> dict[int, ProducerEntry]:
    return {entry.producer_id: entry for entry in decode_snapshot(data)}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.disk.make_directory(home.path)
    for name, data in _kafkas_files().items():
        home.disk.write_file(f"{home.path}/{name}", data)
    return home


def _open(home: Home, *, is_clean: bool, recovery_point: int) -> PartitionLog:
    return home.open(CONFIG, is_clean=is_clean, recovery_point=recovery_point)


def test_a_cleanly_stopped_log_is_read_as_it_is(home: Home) -> None:
    log = _open(home, is_clean=True, recovery_point=END)
    assert (log.log_start_offset, log.log_end_offset) == (0, END)
    assert list(log.epochs) == [(0, 0)]
    assert log.topic_id == read_topic_id(home.disk, home.path)
    assert b"".join(data for _, data in all_batches(log)) == _written(".log")
    assert offsets(log) == list(range(END))
    assert log.size == len(_written(".log"))


def test_without_the_checkpoint_the_end_is_found_by_reading(home: Home) -> None:
    assert _open(home, is_clean=True, recovery_point=0).log_end_offset == END


def test_its_producers_and_aborted_transactions_are_known(home: Home) -> None:
    log = _open(home, is_clean=True, recovery_point=END)
    entries = {entry.producer_id: entry for entry in log.producers.active()}
    # Kafka's own producers expire after a day; these wrote in virtual time's past.
    snapshot = _kafkas_files()[f"{END:020d}{SNAPSHOT}"]
    assert entries.items() <= _producers(snapshot).items()
    aborted = log.aborted_transactions(0, END)
    assert len(aborted) == 2
    for producer_id, first_offset in aborted:
        first = next(h for h, _ in all_batches(log) if h.base_offset == first_offset)
        assert first.producer_id == producer_id


def test_every_index_entry_leads_to_its_batch(home: Home) -> None:
    log = _open(home, is_clean=True, recovery_point=END)
    for segment in log.segments:
        by_position = dict(segment.headers())
        for index in range(len(segment.offsets)):
            offset, position = segment.offsets[index]
            assert by_position[position].last_offset == offset


def test_recovery_rebuilds_the_same_files(home: Home) -> None:
    log = _open(home, is_clean=False, recovery_point=0)
    assert log.log_end_offset == END
    assert not log.recovered.is_notable
    ours, kafkas = files(home.disk, home.path), _kafkas_files()
    for name in kafkas:
        if not name.endswith(SNAPSHOT):
            assert ours[name] == kafkas[name], name


def test_appending_the_same_batches_writes_the_same_files() -> None:
    """Kafka as the leader of a partition, us as its follower."""
    home = Home()
    home.disk.make_directory("/meta")
    home.disk.write_file("/meta/partition.metadata", _kafkas_files()["partition.metadata"])
    topic_id = read_topic_id(home.disk, "/meta")
    log = home.open(CONFIG, topic_id=topic_id, producer_expiry_ms=2**62)
    data = memoryview(_written(".log")).toreadonly()
    for position, header in batches(data):
        log.append_as_follower(data[position : position + header.size])
    log.advance_high_watermark(END)
    answers = Answers()
    log.close(answers)
    assert answers.errors == [None]
    ours, kafkas = files(home.disk, home.path), _kafkas_files()
    assert sorted(ours) == sorted(kafkas)
    for name in kafkas:
        if name.endswith(SNAPSHOT):
            # Kafka writes producers in the order of a hash map.
            assert _producers(ours[name]) == _producers(kafkas[name]), name
        else:
            assert ours[name] == kafkas[name], name
