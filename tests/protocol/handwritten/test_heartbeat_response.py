"""The answer to a heartbeat that changes nothing: the bytes that the schema asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.handwritten.heartbeat_response import pack_heartbeat_response
from kafkapy.protocol.messages import encode_response

HEARTBEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
int32 = st.integers(-(2**31), 2**31 - 1)


@pytest.mark.parametrize("version", [0, 1])
@given(
    correlation_id=int32,
    member_id=st.text(max_size=300),
    epoch=int32,
    interval_ms=st.integers(0, 2**31 - 1),
)
def test_it_is_written_as_the_schema_has_it(
    version: int, correlation_id: int, member_id: str, epoch: int, interval_ms: int
) -> None:
    body = {
        "throttle_time": 0,
        "error_code": 0,
        "error_message": None,
        "member_id": member_id,
        "member_epoch": epoch,
        "heartbeat_interval": interval_ms,
        "assignment": None,
    }
    head = response_head(HEARTBEAT, version, correlation_id)
    expected = frame(head, encode_response(HEARTBEAT, version, body))
    packed = pack_heartbeat_response(correlation_id, member_id, epoch, interval_ms)
    assert packed == expected
