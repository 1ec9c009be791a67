"""A batch through a hook, by itself."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import ErrorCode
from kafkapy.hooks import Place, ProduceHook, Record, Refuse
from kafkapy.hooks.allowance import Allowance
from kafkapy.hooks.batch import hooked
from kafkapy.hooks.guarded import Guarded
from kafkapy.log.append import RecordsRefused
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    build_batch,
    crc_is_valid,
    pack_batch,
    read_header,
    records,
)
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.protocol.compression.codecs import Codec

PLACE = Place("orders", 3)


class Quiet:
    def info(self, event: str, **facts: object) -> None: ...
    def warning(self, event: str, **facts: object) -> None: ...
    def error(self, event: str, **facts: object) -> None: ...


class By(ProduceHook):
    def __init__(self, change: Callable[[Record], object]) -> None:
        self._change = change

    def produced(self, record: Record, place: Place) -> Record:
        assert place == PLACE
        return self._change(record)  # type: ignore[return-value]


class OneHook:
    def __init__(self, change: Callable[[Record], object]) -> None:
        self._hook = By(change)

    def find(self, name: str) -> object:
        return self._hook

    def now_ns(self) -> int:
        return 0


def through(batch: bytes, change: Callable[[Record], object]) -> bytes:
    hook = Guarded(
        "it", ProduceHook, "produced", "orders", OneHook(change), Allowance(1, 1), Quiet()
    )
    steps = hooked(batch, hook, PLACE)
    while True:
        try:
            assert next(steps) >= 0
        except StopIteration as done:
            return bytes(done.value)


def new_records() -> st.SearchStrategy[list[NewRecord]]:
    content = st.none() | st.binary(max_size=20)
    return st.lists(
        st.builds(
            NewRecord,
            content,
            content,
            st.integers(0, 2**50),
            st.lists(st.tuples(st.text(max_size=5), content), max_size=3).map(tuple),
        ),
        min_size=1,
        max_size=20,
    )


def told(batch: bytes) -> list[tuple[object, ...]]:
    return [(one.offset, *one[1:5]) for one in records(batch)]


@given(new_records(), st.sampled_from(list(Codec)))
def test_what_stays_as_it_is_has_its_bytes(sent: Sequence[NewRecord], codec: Codec) -> None:
    batch = build_batch(sent, codec=codec)
    assert through(batch, lambda record: record) == batch


@given(new_records(), st.sampled_from(list(Codec)))
def test_what_is_changed_is_a_batch_of_the_same_producer(
    sent: Sequence[NewRecord], codec: Codec
) -> None:
    batch = build_batch(sent, codec=codec, producer_id=7, producer_epoch=2, base_sequence=11)
    changed = through(batch, lambda record: record._replace(key=b"k", timestamp=5, offset=99))
    before, after = read_header(batch), read_header(changed)
    assert crc_is_valid(changed, 0, after)
    for name in (
        "base_offset", "attributes", "last_offset_delta", "producer_id", "producer_epoch",
        "base_sequence", "record_count",
    ):  # fmt: skip
        assert getattr(after, name) == getattr(before, name), name
    assert (after.base_timestamp, after.max_timestamp) == (5, 5)
    assert told(changed) == [
        (number, 5, b"k", one.value, one.headers) for number, one in enumerate(sent)
    ]


@pytest.mark.parametrize(
    "rubbish",
    [
        None,
        (1, 2),
        Record(0, 0, b"", "text"),  # type: ignore[arg-type]
        Record(0, 0, bytearray(), b""),  # type: ignore[arg-type]
        Record(0, -2, b"", b""),
        Record(0, 2**63, b"", b""),
        Record(0, True, b"", b""),
        Record(0, 0, b"", b"", [("a", b"")]),  # type: ignore[arg-type]
        Record(0, 0, b"", b"", (("a", "b"),)),  # type: ignore[arg-type]
        Record(0, 0, b"", b"", (("\ud800", b""),)),
        Record(0, 0, b"", b"", (("a",),)),  # type: ignore[arg-type]
    ],
)
def test_rubbish_is_refused(rubbish: object) -> None:
    batch = build_batch([NewRecord(b"k", b"v", 1)])
    with pytest.raises(RecordsRefused) as refused:
        through(batch, lambda record: rubbish)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


def test_a_long_refusal_of_many_records_is_a_short_answer() -> None:
    """All are named: nobody may believe that one of them was written."""

    def refuse(record: Record) -> Record:
        raise Refuse("because " * 1_000)

    with pytest.raises(RecordsRefused) as refused:
        through(build_batch([NewRecord(b"k", b"v", 1)] * 20_000), refuse)
    errors = refused.value.record_errors
    assert [index for index, _ in errors] == list(range(20_000))
    assert errors[0][1].startswith("because")
    assert sum(len(words) for _, words in errors) <= 50_000


def test_what_cannot_be_unpacked_is_refused() -> None:
    """Readers more patient than kafkapy might see what no hook saw."""
    whole = build_batch([NewRecord(b"k", b"v", 1)] * 3)
    header = read_header(whole)
    broken = pack_batch(
        whole[HEADER_SIZE:],
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=2,
    )
    with pytest.raises(RecordsRefused) as refused:
        through(broken, lambda record: record)
    assert refused.value.code is ErrorCode.INVALID_RECORD


@given(st.data())
def test_no_bytes_make_it_raise_anything_else(data: st.DataObject) -> None:
    batch = bytearray(build_batch([NewRecord(b"k", b"value", 1)] * 3))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(batch) - 1))
        batch[at] = data.draw(st.integers(0, 255))
    try:
        made = through(bytes(batch), lambda record: record._replace(value=b"x"))
    except RecordsRefused:
        return
    # What is no batch is for whoever appends it to refuse.
    assert made == bytes(batch) or crc_is_valid(made, 0, read_header(made))
