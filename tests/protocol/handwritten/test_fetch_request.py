from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.handwritten import fetch_request
from kafkapy.protocol.handwritten.fetch_request import FetchRequestView, decode_fetch_request
from kafkapy.protocol.messages import decode_request, encode_request

VERSIONS = range(4, 19)
TOPIC_ID = UUID("11223344-5566-7788-99aa-bbccddeeff00")
SIMPLE: list[Any] = [("topic", TOPIC_ID, [(7, 3, 1 << 40, 2, 5, 1 << 20)])]
SHAPES: list[list[Any]] = [
    [],
    SIMPLE,
    [("a", TOPIC_ID, [])],
    [("näme", TOPIC_ID, [(0, -1, 0, -1, -1, 1), (1, 2, 3, 4, 5, 6)])],
    [("t" * 126, TOPIC_ID, [(0, -1, 0, -1, -1, 1)]), ("b", UUID(int=9), [(1, 2, 3, 4, 5, 6)])],
    [("t" * 249, TOPIC_ID, [(index, 0, index, 0, 0, 1) for index in range(300)])],
]


def request(version: int, topics: Any, *, rack: str = "", forgotten: Any = ()) -> bytes:
    body = {
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 50 << 20,
        "isolation_level": 1,
        "session_id": 77,
        "session_epoch": 3,
        "topics": [
            {
                "topic": name,
                "topic_id": topic_id,
                "partitions": [
                    {
                        "partition": index,
                        "current_leader_epoch": leader_epoch,
                        "fetch_offset": offset,
                        "last_fetched_epoch": last_epoch,
                        "log_start_offset": start,
                        "partition_max_bytes": max_bytes,
                    }
                    for index, leader_epoch, offset, last_epoch, start, max_bytes in rows
                ],
            }
            for name, topic_id, rows in topics
        ],
        "forgotten_topics_data": [
            {"topic": name, "topic_id": topic_id, "partitions": indexes}
            for name, topic_id, indexes in forgotten
        ],
        "rack_id": rack,
    }
    return encode_request(1, version, body)


def as_told(version: int, name: str, topic_id: UUID) -> tuple[str | None, UUID | None]:
    return (None, topic_id) if version >= 13 else (name, None)


def expected(version: int, topics: Any, forgotten: Any = (), rack: str = "") -> FetchRequestView:
    def row(index: int, leader: int, offset: int, last: int, start: int, most: int) -> Any:
        return (
            index,
            leader if version >= 9 else -1,
            offset,
            last if version >= 12 else -1,
            start if version >= 5 else -1,
            most,
        )

    told = partial(as_told, version)
    return FetchRequestView(
        -1, 500, 1, 50 << 20, 1,
        *((77, 3) if version >= 7 else (0, -1)),
        [(*told(name, one), [row(*each) for each in rows]) for name, one, rows in topics],
        [(*told(name, one), tuple(indexes)) for name, one, indexes in forgotten],
        rack=rack if version >= 11 else None,
    )  # fmt: skip


def plain(view: FetchRequestView) -> FetchRequestView:
    """With rows and lists as `expected` has them."""
    return view._replace(
        topics=[(name, one, [tuple(row[:6]) for row in rows]) for name, one, rows in view.topics],
        forgotten=[(name, one, tuple(indexes)) for name, one, indexes in view.forgotten],
    )


@pytest.fixture
def without_generated_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*_: object) -> None:
        raise AssertionError("not of the simple shape")

    monkeypatch.setattr(fetch_request, "decode_request", called)


@pytest.mark.usefixtures("without_generated_decoder")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("topics", SHAPES)
@pytest.mark.parametrize("rack", ["", "räck", "r" * 126])
def test_what_consumers_send_is_read_by_hand(version: int, topics: Any, rack: str) -> None:
    raw = memoryview(request(version, topics, rack=rack if version >= 11 else ""))
    assert plain(decode_fetch_request(version, raw)) == expected(version, topics, rack=rack)


@pytest.mark.parametrize("version", range(7, 19))
def test_forgotten_topics(version: int) -> None:
    forgotten = [("gone", TOPIC_ID, [0, 5]), ("too", UUID(int=3), [1])]
    rack = "r" * (200 if version >= 11 else 0)
    raw = request(version, SIMPLE, rack=rack, forgotten=forgotten)
    assert plain(decode_fetch_request(version, raw)) == expected(version, SIMPLE, forgotten, rack)


@pytest.mark.parametrize("version", range(15, 19))
def test_a_replica_says_who_it_is(version: int) -> None:
    body = {
        "replica_state": {"replica_id": 4, "replica_epoch": 1},
        "max_wait": 1,
        "min_bytes": 1,
        "max_bytes": 1,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    assert decode_fetch_request(version, encode_request(1, version, body)).replica_id == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_cut_short_anywhere_is_corrupt(version: int) -> None:
    raw = memoryview(request(version, SIMPLE))
    for size in range(len(raw)):
        with pytest.raises(Corrupt):
            decode_fetch_request(version, raw[:size])


@given(st.sampled_from(VERSIONS), st.sampled_from(SHAPES[:4]), st.data())
def test_whatever_is_changed_the_short_cut_agrees_with_the_generated_decoder(
    version: int, topics: Any, data: st.DataObject
) -> None:
    raw = bytearray(request(version, topics))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        view = decode_fetch_request(version, memoryview(raw))
    except Corrupt:
        with pytest.raises(Corrupt):
            decode_request(1, version, memoryview(raw))
        return
    whole = fetch_request._view(version, decode_request(1, version, memoryview(raw)))
    assert plain(view) == plain(whole)
