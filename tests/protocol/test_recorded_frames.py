"""Frames that real clients sent (compat_tests/differ/recording.py wrote them down)."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.messages import decode_request, encode_request

FRAMES = sorted((Path(__file__).parent.parent / "fixtures" / "frames").glob("*.bin"))


@pytest.mark.parametrize("file", FRAMES, ids=lambda file: file.stem)
def test_what_a_client_sent_is_what_we_would_send(file: Path) -> None:
    recorded = file.read_bytes()
    assert struct.unpack_from(">i", recorded) == (len(recorded) - 4,)
    frame = recorded[4:]
    header, size = read_request_header(frame)
    body = frame[size:]
    decoded = decode_request(header.api_key, header.api_version, body)
    assert encode_request(header.api_key, header.api_version, decoded) == body


@settings(max_examples=300)
@given(data=st.data())
def test_a_damaged_frame_is_corrupt_or_another_request_and_nothing_else(
    data: st.DataObject,
) -> None:
    frame = bytearray(data.draw(st.sampled_from(FRAMES)).read_bytes()[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(8, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(8, len(frame)))
    try:
        header, size = read_request_header(bytes(frame[:cut]))
        decode_request(header.api_key, header.api_version, bytes(frame[size:cut]))
    except Corrupt:
        return
