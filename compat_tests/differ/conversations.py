"""What a client and Apache Kafka said to each other, kept as bytes.

    python -m compat_tests.differ.record [CLIENT...]    rewrites conversations/*.bin

A file is compressed and holds, in the order the proxy heard them,

    connection u8 | 1 from the client, 0 from the server u8 | size u32 | frame

Recordings are kept, not made anew for each run: replaying then needs no Go, Node or Java
client, and what differs is the server's doing and never that a client took another turn.
They are made again when a client's pinned version changes.
"""

import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "conversations"
_EVENT: Final = Struct(">BBI")
# Names of the suite's topics and groups end so; a replay draws others of the same length.
_NAME: Final = re.compile(rb"(?<=-)[0-9a-f]{8}(?![0-9a-f])")


class Event(NamedTuple):
    """One frame, with its size."""

    connection: int
    is_request: bool
    frame: bytes


def save(client: str, events: Iterable[Event]) -> Path:
    data = b"".join(_EVENT.pack(*one[:2], len(one.frame)) + one.frame for one in events)
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{client}.bin"
    file.write_bytes(zlib.compress(data, 9))
    return file


def load(client: str) -> list[Event]:
    data = zlib.decompress((FOLDER / f"{client}.bin").read_bytes())
    events, position = [], 0
    while position < len(data):
        connection, is_request, size = _EVENT.unpack_from(data, position)
        position += _EVENT.size
        events.append(Event(connection, bool(is_request), data[position : position + size]))
        position += size
    return events


def recorded() -> list[str]:
    """The clients that have a recording."""
    return sorted(file.stem for file in FOLDER.glob("*.bin"))


def names(events: Iterable[Event]) -> set[bytes]:
    """The random ends of names that the client chose."""
    return {name for one in events if one.is_request for name in _NAME.findall(one.frame)}
