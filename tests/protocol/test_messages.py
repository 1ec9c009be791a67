import random
import struct
import sys
import tracemalloc
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema
from kio.schema.index import api_key_map, schema_name_map

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_request_header, request_head
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    warm,
)
from kafkapy.protocol.schemas.schema import plan
from tests.protocol.samples import Samples

REQUESTS = [
    (api_key, version)
    for api_key, name in sorted(api_key_map.items())
    for version in sorted(schema_name_map[name])
    if (api_key, version) not in {(0, 0), (0, 1), (0, 2)}
]
HOSTILE_LENGTHS = [
    struct.pack(">i", 2**31 - 1),
    struct.pack(">i", 1_000_000),
    struct.pack(">h", 2**15 - 1),
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x40",
    b"\xff" * 12,
]


def test_a_request_is_kios_object() -> None:
    raw = encode_request(ApiKey.HEARTBEAT, 4, {"group_id": "g", "generation_id": 3})
    request = decode_request(ApiKey.HEARTBEAT, 4, memoryview(raw))
    of_kio: Any = load_request_schema(12, 4)
    assert type(request) is of_kio
    assert (request.group_id, request.generation_id, request.group_instance_id) == ("g", 3, None)


def test_bytes_behind_a_request_are_ignored_as_kafka_does() -> None:
    raw = encode_request(ApiKey.METADATA, 1, {"topics": []})
    assert decode_request(ApiKey.METADATA, 1, raw + b"xxxx").topics == ()


def test_tags_from_clients_of_the_future_are_skipped() -> None:
    raw = encode_request(ApiKey.METADATA, 12, {"topics": [{"name": "t"}]})
    request = decode_request(ApiKey.METADATA, 12, raw[:-1] + b"\x01\x21\x03abc")
    assert request.topics[0].name == "t"


def test_handlers_write_one_dict_for_all_versions() -> None:
    body = {
        "throttle_time": 5,
        "brokers": [{"node_id": 1, "host": "h", "port": 9092, "rack": None}],
        "cluster_id": "c",
        "controller_id": 1,
        "topics": [
            {
                "error_code": ErrorCode.NONE,
                "name": "t",
                "topic_id": UUID(int=5),
                "is_internal": False,
                "partitions": [
                    {
                        "error_code": 0,
                        "partition_index": 0,
                        "leader_id": 1,
                        "leader_epoch": 2,
                        "replica_nodes": [1],
                        "isr_nodes": [1],
                        "offline_replicas": [],
                    }
                ],
            }
        ],
        "error_code": 0,
    }
    for version in range(14):
        raw = encode_response(ApiKey.METADATA, version, body)
        response = decode_response(ApiKey.METADATA, version, raw)
        assert response.topics[0].name == "t"
        if version >= 3:
            assert response.throttle_time == timedelta(milliseconds=5)
        if version >= 10:
            assert response.topics[0].topic_id == UUID(int=5)
        assert hasattr(response, "error_code") == (version >= 13)


def test_a_key_that_no_version_has_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match=r"throttle_time_ms"):
        encode_response(ApiKey.HEARTBEAT, 4, {"throttle_time_ms": 0})
    with pytest.raises(AssertionError, match=r"topics.* has no field 'topic_name'"):
        encode_response(ApiKey.METADATA, 1, {"topics": [{"topic_name": "t"}]})


def test_what_is_missing_is_the_schemas_default() -> None:
    raw = encode_response(ApiKey.API_VERSIONS, 3, {})
    response = decode_response(ApiKey.API_VERSIONS, 3, raw)
    assert response.finalized_features_epoch == -1
    assert response.api_keys == ()
    assert raw == b"\0\0\x01\0\0\0\0\0"


def test_every_code_of_kafka_can_be_written() -> None:
    for code in ErrorCode:
        raw = encode_response(ApiKey.HEARTBEAT, 4, {"error_code": code})
        assert decode_response(ApiKey.HEARTBEAT, 4, raw).error_code is code


def test_versions_without_a_schema() -> None:
    for api_key, version in ((0, 2), (3, 99), (3, -1), (4, 0), (94, 0)):
        with pytest.raises(Corrupt, match="no request of API"):
            decode_request(api_key, version, b"")
        with pytest.raises(AssertionError):
            encode_response(api_key, version, {})


def test_warming_imports_what_requests_will_need() -> None:
    pieces = list(warm(ApiKey.LIST_GROUPS, 5))
    assert len(pieces) > 1
    assert "kio.schema.list_groups.v5.request" in sys.modules
    assert "kio.schema.list_groups.v5.response" in sys.modules


def valid_frame(api_key: int, version: int, seed: int) -> bytes:
    head = request_head(api_key, version, 7, "client")
    sample = Samples(seed).of(plan(load_request_schema(api_key, version), version))
    return head + encode_request(api_key, version, sample)


def read(frame: bytes | bytearray) -> Any:
    """What the server does with a frame; anything but Corrupt fails the test."""
    try:
        header, body_at = read_request_header(memoryview(frame))
        return decode_request(header.api_key, header.api_version, memoryview(frame)[body_at:])
    except Corrupt:
        return None


def spoiled(frame: bytes, chance: random.Random) -> bytearray:
    """Some bytes changed, removed, or replaced by an absurd length."""
    out = bytearray(frame[: chance.choice([60, 200, 2000, len(frame)])])
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(8, max(9, min(len(out), 120)))
        what = chance.randrange(4)
        if what == 0:
            out[at : at + 1] = bytes([chance.choice([0, 1, 2, 127, 128, 254, 255])])
        elif what == 1:
            del out[at : at + chance.randrange(1, 5)]
        elif what == 2:
            length = chance.choice(HOSTILE_LENGTHS)
            out[at : at + len(length)] = length
        else:
            out[at:at] = chance.randbytes(chance.randrange(1, 5))
    return out


@pytest.mark.parametrize("api_key", sorted(api_key_map), ids=lambda key: api_key_map[key])
def test_spoiled_requests_are_read_or_corrupt_and_nothing_else(api_key: int) -> None:
    chance = random.Random(api_key)
    for key, version in REQUESTS:
        if key == api_key:
            frames = [valid_frame(key, version, seed) for seed in range(3)]
            assert all(read(frame) is not None for frame in frames)
            for _ in range(60):
                read(spoiled(chance.choice(frames), chance))
            head = request_head(key, version, 7, None)
            for length in HOSTILE_LENGTHS:
                read(head + length * 3)
                read(head + bytes(chance.randrange(12)) + length * 2)


@given(st.sampled_from(REQUESTS), st.binary(max_size=60))
def test_any_bytes_are_read_or_corrupt_and_nothing_else(
    request: tuple[int, int], body: bytes
) -> None:
    api_key, version = request
    read(request_head(api_key, version, 7, None) + body)


@given(st.binary(max_size=40))
def test_any_header_is_read_or_corrupt_and_nothing_else(frame: bytes) -> None:
    read(frame)


def test_memory_is_bounded_by_the_bytes_there_are_whatever_lengths_claim() -> None:
    """A count is believed only if the bytes for so many elements are there."""
    chance = random.Random(5)
    frames = []
    for api_key, version in REQUESTS[::3]:
        frame = valid_frame(api_key, version, 1)[:300]
        for at in range(14, len(frame), 9):
            length = chance.choice(HOSTILE_LENGTHS)
            frames.append(frame[:at] + length + frame[at + len(length) :])
    for frame in frames:
        read(frame)  # schemas imported, decoders compiled
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for frame in frames:
            read(frame)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert len(frames) > 1000
    assert peak < 100_000
