import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.handwritten.produce_request import ProduceRequestView, decode_produce_request
from kafkapy.protocol.messages import decode_request, encode_request

VERSIONS = range(3, 14)
TOPIC_ID = UUID("11223344-5566-7788-99aa-bbccddeeff00")


def request(version: int, topics: Any, transactional_id: str | None = None) -> bytes:
    body = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout": 1500,
        "topic_data": [
            {
                "name": name,
                "topic_id": topic_id,
                "partition_data": [
                    {"index": index, "records": records} for index, records in partitions
                ],
            }
            for name, topic_id, partitions in topics
        ],
    }
    return encode_request(0, version, body)


def expected(version: int, topics: Any, transactional_id: str | None = None) -> Any:
    return ProduceRequestView(
        transactional_id,
        -1,
        1500,
        [
            (name if version < 13 else None, topic_id if version >= 13 else None, partitions)
            for name, topic_id, partitions in topics
        ],
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 61, 126, 127, 128, 16382, 16383, 16384, 2**21 - 1, 2**21])
@pytest.mark.parametrize("name", ["", "t", "näme", "t" * 126, "t" * 127])
@pytest.mark.parametrize("transactional_id", [None, "", "my-ïd", "i" * 126, "i" * 127])
def test_one_partition(version: int, size: int, name: str, transactional_id: str | None) -> None:
    topics = [(name, TOPIC_ID, [(7, bytes(size))])]
    raw = memoryview(request(version, topics, transactional_id))
    view = decode_produce_request(version, raw)
    assert view._replace(records_at=-1) == expected(version, topics, transactional_id)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transactional_id", [None, "my-id"])
def test_where_the_only_records_are_is_said(version: int, transactional_id: str | None) -> None:
    records = b"r" * 300
    raw = request(version, [("topic", TOPIC_ID, [(7, records)])], transactional_id)
    view = decode_produce_request(version, memoryview(raw))
    if version < 9:
        assert view.records_at == -1
    else:
        size = b"\xad\x02"  # 301 as an unsigned varint
        assert raw[view.records_at :] == size + records + bytes(3)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_beside_an_empty_topic_are_not_the_only_ones(version: int) -> None:
    """What is behind them is not always the same, so no lane begins there."""
    filled: Any = ("a", TOPIC_ID, [(0, b"x" * 100)])
    empty: Any = ("b", UUID(int=9), [])
    for topics in ([filled, empty], [empty, filled]):
        view = decode_produce_request(version, memoryview(request(version, topics)))
        assert view == expected(version, topics)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transactional_id", [None, "my-id"])
def test_other_shapes(version: int, transactional_id: str | None) -> None:
    shapes: list[list[Any]] = [
        [],
        [("a", TOPIC_ID, [])],
        [("a", TOPIC_ID, [(0, None)])],
        [("a", TOPIC_ID, [(0, b"x" * 100), (1, b"y" * 300)])],
        [("a", TOPIC_ID, [(0, b"x" * 100)]), ("b", UUID(int=9), [(0, b"y" * 300), (5, None)])],
    ]
    for topics in shapes:
        raw = memoryview(request(version, topics, transactional_id))
        view = decode_produce_request(version, raw)
        assert view == expected(version, topics, transactional_id)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_slices_of_the_frame(version: int) -> None:
    frame = bytearray(request(version, [("topic", TOPIC_ID, [(7, b"r" * 100)])]))
    view = decode_produce_request(version, memoryview(frame))
    records = view.topics[0][2][0][1]
    assert isinstance(records, memoryview)
    assert records.obj is frame


def test_tags_we_do_not_know_are_skipped() -> None:
    raw = request(9, [("topic", None, [(7, b"r" * 100)])])
    partition, topic, whole = raw[:-3], b"\x01\x05\x02ab", b"\x01\x07\x00"
    raw = partition + b"\x01\x09\x01x" + topic + whole
    assert decode_produce_request(9, raw) == expected(9, [("topic", None, [(7, b"r" * 100)])])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_cut_short_anywhere_is_corrupt(version: int) -> None:
    raw = memoryview(request(version, [("topic", TOPIC_ID, [(7, b"r" * 100)])]))
    for size in range(len(raw)):
        with pytest.raises(Corrupt):
            decode_produce_request(version, raw[:size])


@given(st.sampled_from(VERSIONS), st.sampled_from([None, "my-id"]), st.data())
def test_whatever_is_changed_the_short_cut_agrees_with_the_generic_decoder(
    version: int, transactional_id: str | None, data: st.DataObject
) -> None:
    one: list[Any] = [("topic", TOPIC_ID, [(7, b"r" * 150)])]
    many = [("a", TOPIC_ID, [(0, b"x" * 9), (1, b"y" * 3)]), ("b", UUID(int=9), [(0, b"z")])]
    raw = bytearray(request(version, data.draw(st.sampled_from([one, many])), transactional_id))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, 45))] = data.draw(st.integers(0, 255))
    try:
        view = decode_produce_request(version, memoryview(raw))
    except Corrupt:
        with pytest.raises(Corrupt):
            decode_request(0, version, memoryview(raw))
        return
    whole = decode_request(0, version, memoryview(raw))
    assert view.acks == whole.acks
    assert view.transactional_id == whole.transactional_id
    for (name, topic_id, partitions), topic in zip(view.topics, whole.topic_data, strict=True):
        assert name == getattr(topic, "name", None)
        assert topic_id == getattr(topic, "topic_id", None)
        assert partitions == [(one.index, one.records) for one in topic.partition_data]


def test_a_count_that_cannot_be_is_corrupt() -> None:
    raw = b"\0" + struct.pack(">hi", 1, 1000) + b"\xff\xff\xff\xff\x07" + bytes(60)
    with pytest.raises(Corrupt):
        decode_produce_request(9, raw)
