"""The producer snapshot file: the documented example, Kafka's files, broken ones."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.log.producers.producer_state import BatchMetadata, ProducerEntry
from kafkapy.log.producers.snapshot_file import decode_snapshot, encode_snapshot

COMPACTION = Path(__file__).parents[2] / "fixtures" / "compaction"
EXAMPLE = bytes.fromhex(
    "0001 63e969dd 00000001 0000000000000fa0 0000 00000009 000000000000006d 00000009"
    "0000018bcfe56800 ffffffff ffffffffffffffff"
)


def example() -> ProducerEntry:
    batch = BatchMetadata(9, 109, 9, 1_700_000_000_000)
    return ProducerEntry(4000, 0, -1, 1_700_000_000_000, None, [batch])


def test_the_documented_example_is_written_and_read() -> None:
    assert encode_snapshot([example()]) == EXAMPLE
    assert decode_snapshot(EXAMPLE) == [example()]


def test_kafkas_files_are_read_and_written_byte_for_byte() -> None:
    seen = 0
    with zipfile.ZipFile(COMPACTION / "before.zip") as archive:
        for name in archive.namelist():
            if name.endswith(".snapshot"):
                data = archive.read(name)
                entries = decode_snapshot(data)
                assert encode_snapshot(entries) == data
                seen += len(entries)
    assert seen == 17


def test_only_the_last_batch_survives() -> None:
    entry = example()
    entry.batches.append(BatchMetadata(12, 112, 2, 1_700_000_000_000))
    (read,) = decode_snapshot(encode_snapshot([entry]))
    assert list(read.batches) == [entry.batches[-1]]


def test_no_producers_is_a_file_too() -> None:
    assert decode_snapshot(encode_snapshot([])) == []


ENTRIES = st.builds(
    ProducerEntry,
    producer_id=st.integers(0, 2**63 - 1),
    producer_epoch=st.integers(-1, 2**15 - 1),
    coordinator_epoch=st.integers(-1, 2**31 - 1),
    last_timestamp=st.just(5),
    transaction_first_offset=st.none() | st.integers(0, 2**63 - 1),
    batches=st.lists(
        st.builds(
            BatchMetadata,
            st.integers(-1, 2**31 - 1),
            st.integers(0, 2**63 - 1),
            st.integers(0, 2**31 - 1),
            st.just(5),
        ),
        max_size=1,
    ),
)


@given(st.lists(ENTRIES, max_size=5))
@settings(max_examples=50)
def test_any_entries_come_back(entries: list[ProducerEntry]) -> None:
    assert decode_snapshot(encode_snapshot(entries)) == entries


@given(st.binary(max_size=80) | st.integers(0, 8 * len(EXAMPLE) - 1).map(lambda bit: bit))
@settings(max_examples=150)
def test_broken_files_are_corrupt(broken: bytes | int) -> None:
    if isinstance(broken, int):
        data = bytearray(EXAMPLE)
        data[broken // 8] ^= 1 << broken % 8
        broken = bytes(data)
    with pytest.raises(Corrupt):
        decode_snapshot(broken)
