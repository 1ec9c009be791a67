"""The latest offset of each key, for a bounded number of keys.

A round of cleaning fills one map from the dirty part of a log and asks it about every
record. Keys are kept by a 16-byte digest; a key shorter than that stands for itself, so
that the common case hashes nothing, and no digest can be mistaken for one.

Kafka counts 24 bytes a key in its flat table; a dict entry here takes about 190, and the
operator's log.cleaner.dedupe.buffer.size is kept as memory, not as a number of keys. A
log with more distinct dirty keys than that is cleaned in several rounds.
"""

from hashlib import blake2b
from typing import Final

BYTES_PER_KEY: Final = 192
_DIGEST_SIZE: Final = 16


class OffsetMap:
    """`latest_offset` is how far the log is mapped: beyond it every record is kept."""

    __slots__ = ("_most_keys", "_offsets", "latest_offset")

    def __init__(self, memory_bytes: int, load_factor: float = 0.9) -> None:
        self._most_keys = max(int(memory_bytes * load_factor) // BYTES_PER_KEY, 1)
        self._offsets: dict[bytes, int] = {}
        self.latest_offset = -1

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def is_full(self) -> bool:
        return len(self._offsets) >= self._most_keys

    @property
    def fullness(self) -> float:
        return len(self._offsets) / self._most_keys

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[key if len(key) < _DIGEST_SIZE else _digest(key)] = offset

    def get(self, key: bytes) -> int:
        """-1 for a key that is not in the map."""
        return self._offsets.get(key if len(key) < _DIGEST_SIZE else _digest(key), -1)

    def mapped_up_to(self, offset: int) -> None:
        self.latest_offset = max(self.latest_offset, offset)


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_SIZE).digest()
