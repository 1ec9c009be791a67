"""Bytes as a person reads them: JSON, text, MessagePack, or hex for whatever else. What has a
registered schema is read by that (schema_values.py).

What is long is cut, and said to be. Only what is small is parsed: parsing a megabyte is one long
call that would hold the node, too.
"""

import json
from typing import Any, Final, NamedTuple

import msgpack

WAYS: Final = ("auto", "schema", "json", "text", "msgpack", "hex")
_MOST_PARSED: Final = 64 * 1024
_HEX_ROW: Final = 16


class Shown(NamedTuple):
    """`kind` is what it was read as; null is a record without one."""

    kind: str
    text: str
    size: int
    is_cut: bool
    # Of a value that a registered schema has read: its subject, version and id.
    schema: tuple[str, int, int] | None = None


NULL: Final = Shown("null", "null", 0, False)


def shown(
    data: bytes | None, way: str = "auto", most: int = 300, *, is_pretty: bool = False
) -> Shown:
    """`data` in at most `most` characters."""
    if data is None:
        return NULL
    for kind, read in _READERS:
        if way in ("auto", kind) and (kind != "msgpack" or way == kind or _may_be_msgpack(data)):
            text = read(data, most, is_pretty)
            if text is not None:
                return _cut(kind, text, data, most)
    text = hex_dump(data, most) if is_pretty else data[: most // 2 + 1].hex()
    return _cut("hex", text, data, most)


def hex_dump(data: bytes, most: int) -> str:
    rows = []
    for at in range(0, min(len(data), most // 4), _HEX_ROW):
        some = data[at : at + _HEX_ROW]
        letters = "".join(chr(one) if 32 <= one < 127 else "." for one in some)
        rows.append(f"{at:08x}  {some.hex(' '):<47}  {letters}")
    return "\n".join(rows)


def _cut(kind: str, text: str, data: bytes, most: int) -> Shown:
    is_cut = len(text) > most or (kind in ("text", "hex") and len(data) > most)
    return Shown(kind, text[:most], len(data), is_cut)


def _json(data: bytes, most: int, is_pretty: bool) -> str | None:
    if len(data) > _MOST_PARSED or data[:1] not in _JSON_STARTS:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return _dumped(found, is_pretty)


def _text(data: bytes, most: int, is_pretty: bool) -> str | None:
    some = data[: most * 4]
    try:
        text = some.decode()
    except UnicodeDecodeError as bad:
        # Only a letter that our own cut went through is no fault of the text's.
        if len(some) == len(data) or len(some) - bad.start > 3:
            return None
        text = some[: bad.start].decode()
    is_readable = all(one.isprintable() or one in "\n\r\t" for one in text[:1000])
    return text if is_readable else None


def _msgpack(data: bytes, most: int, is_pretty: bool) -> str | None:
    if len(data) > _MOST_PARSED:
        return None
    try:
        found = msgpack.unpackb(data, strict_map_key=False, timestamp=1)
        return _dumped(found, is_pretty)
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException):
        return None


def _may_be_msgpack(data: bytes) -> bool:
    """Unasked, only maps and lists are taken for it: any byte is a number in MessagePack."""
    first = data[0] if data else 0
    return 0x80 <= first <= 0x9F or first in (0xDC, 0xDD, 0xDE, 0xDF)


def _dumped(found: Any, is_pretty: bool) -> str:
    return json.dumps(found, ensure_ascii=False, indent=2 if is_pretty else None, default=_other)


def _other(found: Any) -> str:
    return found.hex() if isinstance(found, bytes) else str(found)


_JSON_STARTS: Final = frozenset(bytes((one,)) for one in b'{["-0123456789tfn \n\r\t')
_READERS: Final = (("json", _json), ("text", _text), ("msgpack", _msgpack))
