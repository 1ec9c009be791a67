"""The answer to a ConsumerGroupHeartbeat that changes nothing, v0-1, as a whole frame.

    size | i32 correlation id | 00 | i32 throttle time | i16 0 | 00 no message |
    member id | i32 member epoch | i32 heartbeat interval | ff no assignment | 00

Every other answer goes through the compiled encoder.
"""

from struct import Struct
from typing import Final

from kafkapy.protocol.varint import uvarint

_FIXED: Final = Struct(">iixihx")
_REST: Final = Struct(">iibx")


def pack_heartbeat_response(
    correlation_id: int, member_id: str, member_epoch: int, heartbeat_interval_ms: int
) -> bytes:
    text = member_id.encode()
    length = uvarint(len(text) + 1)
    size = _FIXED.size - 4 + len(length) + len(text) + _REST.size
    return b"".join(
        (
            _FIXED.pack(size, correlation_id, 0, 0),
            length,
            text,
            _REST.pack(member_epoch, heartbeat_interval_ms, -1),
        )
    )
