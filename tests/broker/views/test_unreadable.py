"""Batches that cannot be read, whatever their CRC says: who may not read the source sees nothing of
them, and everything behind them. And logs that cannot be read any more."""

from collections.abc import Iterator, Sequence

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    NewRecord,
    build_batch,
    pack_batch,
    read_header,
)
from tests.broker.views.reading import Views

SECRET = b"a secret of the source's"
EVENT = "view leaves out an unreadable batch"


@pytest.fixture(params=["false", "true", "value like '*secret*'"])
def views(request: pytest.FixtureRequest) -> Iterator[Views]:
    views = Views(str(request.param))
    yield views
    views.world.stop()


def of_payload(payload: bytes, count: int, base_timestamp: int = 1_000) -> bytes:
    """A batch as a client would send it."""
    return pack_batch(
        payload,
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=1_000,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )


def lying(new: Sequence[NewRecord], claimed: int) -> bytes:
    """Says another number of records than it has."""
    return of_payload(build_batch(new)[HEADER_SIZE:], claimed)


THREE = [NewRecord(b"k", SECRET, 1_000)] * 3
UNREADABLE = {
    "more than there are": lying(THREE, 4),
    "fewer than there are": lying(THREE, 2),
    "rubbish behind the first": of_payload(build_batch(THREE)[HEADER_SIZE:] + b"\x7f" + SECRET, 4),
    "a time beyond all time": of_payload(
        build_batch([NewRecord(b"k", b"other", 1_000), NewRecord(b"k", SECRET, 2**40)])[
            HEADER_SIZE:
        ],
        2,
        2**63 - 1,
    ),
}


@pytest.mark.parametrize("name", [name for name in UNREADABLE if "time" not in name])
def test_nothing_of_it_is_shown_and_all_behind_it(views: Views, name: str) -> None:
    views.append(b"one secret")
    views.partition().append(memoryview(UNREADABLE[name]))
    views.append(b"another secret")
    end = views.partition().log.high_watermark
    assert end == 2 + read_header(UNREADABLE[name]).record_count
    shown = [(one.offset, one.value) for one in views.consumed("shown")]
    whole = [(0, b"one secret"), (end - 1, b"another secret")]
    assert shown in ([], whole)
    everything = b""
    for start in range(end):
        everything += bytes(views.fetch("shown", start, max_wait=0).records or b"")
    assert SECRET not in everything


def test_a_time_beyond_all_time_ends_nothing(views: Views) -> None:
    """A client's would be refused: it is from a log that somebody else wrote."""
    partition = views.partition()
    copied = bytearray(UNREADABLE["a time beyond all time"])
    copied[12:16] = partition.leader_epoch.to_bytes(4, "big")
    partition.log.append_as_follower(memoryview(bytes(copied)))
    views.append(b"another secret")
    assert [one.offset for one in views.consumed("shown")] in ([], [1, 2], [0, 1, 2])


def test_the_journal_has_it_once(views: Views) -> None:
    for _ in range(20):
        views.partition().append(memoryview(UNREADABLE["more than there are"]))
    for _ in range(3):
        assert views.consumed("shown") == []
    (told,) = views.world.journal.said(EVENT)
    assert (told.facts["view"], told.facts["topic"], told.facts["offset"]) == ("shown", "orders", 0)
    assert SECRET.decode() not in str(told.facts)


def test_files_that_are_gone_are_not_asked_for(views: Views) -> None:
    """The partition has left this node; who reads has not heard of it yet."""
    views.append(b"one secret")
    views.world.broker.logs.delete(TopicPartition("orders", 0))
    views.world.clock.advance(120_000)
    assert views.partition().log.is_closed
    assert not views.fetch("shown", 0).records
