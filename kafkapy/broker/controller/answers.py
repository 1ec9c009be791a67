"""What a controller in another process told a client, as this broker can read it."""

from typing import Any

from kafkapy.broker.requests.request import Call, Encoded
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.messages import decode_response

_SIZE_BYTES = 4


def decoded(call: Call[Any], answer: Encoded) -> Any:
    """The response; the answer itself is not used up."""
    parts = [part for part in answer.parts if isinstance(part, bytes)]
    assert len(parts) == len(answer.parts), ("answers of controllers are in memory", call.api_key)
    frame = memoryview(b"".join(parts))[_SIZE_BYTES:]
    _, at = read_response_head(call.api_key, call.version, frame)
    return decode_response(call.api_key, call.version, frame[at:])
