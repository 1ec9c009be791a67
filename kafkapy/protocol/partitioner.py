"""Where Kafka's own producers put a record with a key: murmur2 of the key (KIP-480)."""

from typing import Final

_MASK: Final = 0xFFFFFFFF
_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995


def partition_for_key(key: bytes, partition_count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


def murmur2(data: bytes) -> int:
    """Austin Appleby's MurmurHash2, 32 bits, with the seed of Kafka's clients."""
    mixed = _SEED ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        mixed = mixed * _M & _MASK ^ word
    tail = data[whole:]
    if tail:
        mixed = (mixed ^ int.from_bytes(tail, "little")) * _M & _MASK
    mixed = (mixed ^ mixed >> 13) * _M & _MASK
    return mixed ^ mixed >> 15
