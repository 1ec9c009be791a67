"""Records as a log has them."""

from kafkapy.protocol.batches.records import Record
from kafkapy.relays.rule import CANCEL, DELIVER_AT


def record(
    offset: int,
    key: bytes | None = None,
    value: bytes = b"v",
    timestamp: int = 0,
    **headers: bytes,
) -> Record:
    """Headers' names with `_` for `.`: kafkapy_delay_ms."""
    told = tuple((name.replace("_", "."), value) for name, value in headers.items())
    return Record(offset, timestamp, key, value, told)


def due_at(offset: int, due: int, key: bytes | None = None) -> Record:
    return Record(offset, 0, key, b"v", ((DELIVER_AT, b"%d" % due),))


def cancels(offset: int, key: bytes) -> Record:
    return Record(offset, 0, key, None, ((CANCEL, b"1"),))
