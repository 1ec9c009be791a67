"""Kafka's UUIDs: their text form, the ones with a meaning, and how new ones are drawn.

The text form is URL-safe base64 of the 16 bytes without padding, 22 characters. A new id
never starts with "-" (it could not follow a command line flag) and is never reserved.
Directory ids below 100 mean something other than a directory (KIP-858). formats/primitives 2.
"""

import base64
import binascii
from typing import Final
from uuid import UUID

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Rng

ZERO_UUID: Final = UUID(int=0)
METADATA_TOPIC_ID: Final = UUID(int=1)

# Directory ids that stand for a state of the replica.
MIGRATING: Final = UUID(int=0)  # the replica is from before directories had ids
UNASSIGNED: Final = UUID(int=1)  # its broker has not chosen a directory yet
LOST: Final = UUID(int=2)  # its directory is offline

_RESERVED_BELOW: Final = 100
_TEXT_LENGTH: Final = 22


def uuid_to_text(value: UUID) -> str:
    return base64.urlsafe_b64encode(value.bytes).decode("ascii").rstrip("=")


def uuid_from_text(text: str) -> UUID:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise Corrupt(f"{text!r} is not a UUID in base64") from None
    if len(raw) != 16 or len(text.rstrip("=")) != _TEXT_LENGTH:
        raise Corrupt(f"{text!r} is not a UUID in base64: {len(raw)} bytes, not 16")
    return UUID(bytes=raw)


def is_reserved_directory(value: UUID) -> bool:
    """Kafka compares the low half as a signed number, so the upper half of it is reserved too."""
    high, low = divmod(value.int, 1 << 64)
    return high == 0 and (low < _RESERVED_BELOW or low >= 1 << 63)


def new_uuid(rng: Rng) -> UUID:
    """For topics, directories, clusters and ACLs."""
    while True:
        drawn = rng.uuid()
        if not is_reserved_directory(drawn) and not uuid_to_text(drawn).startswith("-"):
            return drawn
