"""Which partition of an internal topic a group or a transactional id lives on.

Kafka takes Java's `String.hashCode`, so that every broker and every client agrees:

    partition = abs(hash(key)) % partitions        abs(-2**31) = 0
"""

import struct
from functools import lru_cache


# Each request of a member or a producer names its group or id: the same ones again and again.
@lru_cache(maxsize=4096)
def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, signed 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for (unit,) in struct.iter_unpack(">H", units):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - 0x100000000 if code & 0x80000000 else code


def partition_for(key: str, partition_count: int) -> int:
    code = java_hash(key)
    return (0 if code == -0x80000000 else abs(code)) % partition_count
