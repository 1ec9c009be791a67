"""DER (X.690), as far as certificates and keys need it: an element is a tag, a length and content;
that of a sequence is elements again.
"""

from collections.abc import Iterator


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        one, at = element(data, at)
        yield one


def element(data: bytes, at: int) -> tuple[tuple[int, bytes], int]:
    """(tag, content), and where the next one begins. IndexError past the end."""
    tag, length, at = data[at], data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if at + length > len(data):
        raise IndexError("past the end")
    return (tag, data[at : at + length]), at + length


def dotted(oid: bytes) -> str:
    first = min(oid[0] // 40, 2)
    numbers = [first, oid[0] - 40 * first]
    value = 0
    for byte in oid[1:]:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    return ".".join(map(str, numbers))
