import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import (
    RequestHeader,
    frame,
    read_request_header,
    read_response_head,
    request_head,
    response_head,
)


@given(
    st.sampled_from(list(ApiKey)),
    st.integers(0, 20),
    st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(max_size=20),
)
def test_headers_are_read_back(
    api_key: ApiKey, version: int, correlation_id: int, client_id: str | None
) -> None:
    if api_key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return
    raw = request_head(api_key, version, correlation_id, client_id)
    header = RequestHeader(api_key, version, correlation_id, client_id)
    assert read_request_header(memoryview(raw + b"body")) == (header, len(raw))
    raw = response_head(api_key, version, correlation_id)
    assert read_response_head(api_key, version, raw + b"body") == (correlation_id, len(raw))


def test_the_client_id_has_a_legacy_length_in_flexible_headers_too() -> None:
    raw = struct.pack(">hhih", ApiKey.METADATA, 12, 7, 3) + b"abc" + b"\0"
    assert request_head(ApiKey.METADATA, 12, 7, "abc") == raw


def test_tags_of_a_flexible_header_are_skipped() -> None:
    raw = struct.pack(">hhih", ApiKey.METADATA, 12, 7, -1) + b"\x01\x21\x03abc"
    assert read_request_header(raw + b"x") == (RequestHeader(3, 12, 7, None), len(raw))


def test_the_response_header_of_api_versions_is_never_flexible() -> None:
    assert response_head(ApiKey.API_VERSIONS, 4, 7) == struct.pack(">i", 7)
    assert response_head(ApiKey.METADATA, 9, 7) == struct.pack(">ix", 7)


def test_controlled_shutdown_0_has_no_client_id() -> None:
    raw = struct.pack(">hhi", ApiKey.CONTROLLED_SHUTDOWN, 0, 7)
    assert read_request_header(raw) == (RequestHeader(7, 0, 7, None), 8)
    assert read_request_header(raw + b"\0\0\0\0") == (RequestHeader(7, 0, 7, None), 8)


def test_an_api_versions_of_the_future_still_has_a_readable_header() -> None:
    raw = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 7, -1) + b"\0"
    assert read_request_header(raw)[0].api_version == 99


def test_a_client_id_is_read_as_kafka_reads_it() -> None:
    """Apache Kafka answers these two, so they are no reason to hang up."""
    bad_utf8 = struct.pack(">hhih", 3, 1, 7, 2) + b"\xff\xfe"
    assert read_request_header(bad_utf8)[0].client_id == "\ufffd\ufffd"
    negative = struct.pack(">hhih", 3, 1, 7, -2)
    assert read_request_header(negative)[0].client_id is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0" * 7,
        struct.pack(">hhi", 3, 1, 7),
        struct.pack(">hhih", 3, 1, 7, 3) + b"ab",
        struct.pack(">hhih", 3, 12, 7, -1),
        struct.pack(">hhih", 95, 0, 7, -1),
        struct.pack(">hhih", -1, 0, 7, -1),
        struct.pack(">hhih", 3, 12, 7, -1) + b"\xff\xff\xff\xff\x07",
        struct.pack(">hhih", 3, 12, 7, -1) + b"\x01\x00\x09a",
    ],
)
def test_nonsense_is_corrupt(raw: bytes) -> None:
    with pytest.raises(Corrupt):
        read_request_header(memoryview(raw))


def test_a_response_that_is_cut_short_is_corrupt() -> None:
    for raw in (b"", b"\0\0\0"):
        with pytest.raises(Corrupt):
            read_response_head(ApiKey.METADATA, 1, raw)
    with pytest.raises(Corrupt):
        read_response_head(ApiKey.METADATA, 12, b"\0\0\0\1")


def test_a_frame_begins_with_the_size_of_the_rest() -> None:
    assert frame(b"head", b"body", b"", b"more") == b"\0\0\0\x0cheadbodymore"
