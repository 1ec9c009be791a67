"""A client's request on its way from the broker that got it to the controller (KIP-590).

    Envelope: the request as it came, without its size | who asks | from which address
    answer:   the response as it would have gone to the client, without its size

Who asks is a principal as Kafka's own broker writes it: i16 version 0, then type, name and
whether a delegation token vouched for it.
"""

from ipaddress import ip_address
from struct import Struct
from typing import Any, Final

from kafkapy.broker.requests.request import Call, Fields, Peer
from kafkapy.core.errors import Corrupt
from kafkapy.protocol.varint import read_uvarint, uvarint

_VERSION: Final = Struct(">h")
_SIZE: Final = Struct(">i")
_NO_TAGS: Final = b"\0"
_NOWHERE: Final = bytes(4)


def envelope_fields(request: memoryview, peer: Peer) -> Fields:
    return {
        "request_data": bytes(request),
        "request_principal": principal_bytes(peer.principal, is_by_token=peer.is_by_token),
        "client_host_address": address_bytes(peer.host),
    }


def unwrapped(answer: Any, call: "Call[Any]") -> tuple[bytes, ...]:
    """The frame for the client."""
    data = bytes(answer.response_data or b"")
    if data[:4] != _SIZE.pack(call.correlation_id):
        raise Corrupt(f"the controller answered another request than {call.correlation_id}")
    return (_SIZE.pack(len(data)) + data,)


def principal_bytes(principal: str, *, is_by_token: bool = False) -> bytes:
    """`principal` as people write it: type:name."""
    kind, _, name = principal.partition(":")
    texts = [text.encode() for text in (kind, name)]
    encoded = b"".join(uvarint(len(text) + 1) + text for text in texts)
    return _VERSION.pack(0) + encoded + bytes((is_by_token,)) + _NO_TAGS


def principal_from(data: bytes) -> tuple[str, bool]:
    """Who it is, and whether it was shown by a token; Corrupt if it is none."""
    try:
        (version,) = _VERSION.unpack_from(data)
        kind, at = _text(data, _VERSION.size)
        name, at = _text(data, at)
    except (IndexError, UnicodeDecodeError, Corrupt) as bad:
        raise Corrupt(f"a principal of {len(data)} bytes") from bad
    if version != 0 or at >= len(data):
        raise Corrupt(f"a principal of {len(data)} bytes in version {version}")
    return f"{kind}:{name}", data[at] != 0


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, at = read_uvarint(data, at)
    end = at + length - 1
    if not at <= end <= len(data):
        raise Corrupt(f"a text of {length - 1} bytes")
    return data[at:end].decode(), end


def address_bytes(host: str) -> bytes:
    try:
        return ip_address(host).packed
    except ValueError:
        return _NOWHERE


def address_from(data: bytes) -> str:
    try:
        return str(ip_address(data))
    except ValueError:
        raise Corrupt(f"a client address of {len(data)} bytes") from None
