"""By hand and by kio's schemas: the same."""

from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.handwritten.fetch_request import decode_fetch_request
from kafkapy.protocol.handwritten.fetch_response import FetchedPartition, pack_fetch_response
from kafkapy.protocol.handwritten.replica_fetch import (
    FIRST_VERSION,
    ReplicaRow,
    pack_replica_fetch,
    read_replica_answer,
)
from kafkapy.protocol.messages import decode_request

VERSIONS = range(FIRST_VERSION, 19)
ONE, TWO = UUID(int=1 << 70), UUID(int=2 << 70)
ROWS = {ONE: [ReplicaRow(0, 3, 100, 2, 5, 1000), ReplicaRow(7, 4, 0, -1, 0, 99)], TWO: []}


def packed(**changes: object) -> bytes:
    fields = {
        "replica_id": 2,
        "broker_epoch": 77,
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 10_000,
        "session": (9, 4),
        "topics": {ONE: ROWS[ONE]},
        "forgotten": {},
    }
    return pack_replica_fetch(**{**fields, **changes})  # type: ignore[arg-type]  # as named above


@pytest.mark.parametrize("version", VERSIONS)
def test_kio_reads_what_is_packed(version: int) -> None:
    body = packed(forgotten={TWO: [3, 5]})
    request = decode_request(ApiKey.FETCH, version, memoryview(body))
    assert (request.session_id, request.session_epoch, request.max_bytes) == (9, 4, 10_000)
    state = request.replica_state
    assert (state.replica_id, state.replica_epoch) == (2, 77)
    (topic,) = request.topics
    assert topic.topic_id == ONE
    assert [one.fetch_offset for one in topic.partitions] == [100, 0]
    assert [one.last_fetched_epoch for one in topic.partitions] == [2, -1]
    (gone,) = request.forgotten_topics_data
    assert (gone.topic_id, list(gone.partitions)) == (TWO, [3, 5])


@pytest.mark.parametrize("forgotten", [{}, {TWO: [3]}])
@pytest.mark.parametrize("version", VERSIONS)
def test_leaders_read_it_alike_the_quick_way_and_the_long_one(
    version: int, forgotten: dict[UUID, list[int]]
) -> None:
    view = decode_fetch_request(version, memoryview(packed(forgotten=forgotten)))
    assert (view.replica_id, view.replica_epoch, view.session_id) == (2, 77, 9)
    ((name, topic_id, rows),) = view.topics
    assert (name, topic_id) == (None, ONE)
    assert [tuple(row[:6]) for row in rows] == [tuple(row) for row in ROWS[ONE]]
    assert [tuple(one) for one in view.forgotten] == [
        (None, topic, tuple(indexes)) for topic, indexes in forgotten.items()
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_is_read_as_it_was_packed(version: int) -> None:
    rows = [
        FetchedPartition(0, 0, 50, 40, 5, slices=(b"records",)),
        FetchedPartition(1, 6, current_leader=(3, 8)),
        FetchedPartition(2, 0, 9, 9, 0, (), diverging_epoch=(4, 8), snapshot_id=(1, 1)),
        FetchedPartition(3, 0, 9, 9, 0, ((5, 6), (7, 8)), slices=(b"more",)),
    ]
    frame = b"".join(
        part
        for part in pack_fetch_response(
            version,
            1,
            topics=[(None, ONE, rows), (None, TWO, [])],
            error_code=0,
            session_id=12,
            node_endpoints=((3, "h", 9, None),) if version >= 16 else (),
        )
        if isinstance(part, bytes)
    )
    view = memoryview(frame)[4:]
    _, at = read_response_head(ApiKey.FETCH, version, view)
    answer = read_replica_answer(view[at:])
    assert (answer.error_code, answer.session_id) == (0, 12)
    (topic_id, found), (other_id, none) = answer.topics
    assert (topic_id, other_id, none) == (ONE, TWO, [])
    assert [bytes(row.records) for row in found] == [b"records", b"", b"", b"more"]
    assert [row.error_code for row in found] == [0, 6, 0, 0]
    assert [row.diverging for row in found] == [None, None, (4, 8), None]
    assert (found[0].high_watermark, found[0].log_start) == (50, 5)


@given(st.binary(max_size=200))
def test_only_corrupt_comes_out_of_hostile_bytes(data: bytes) -> None:
    with suppress(Corrupt):
        read_replica_answer(memoryview(data))
