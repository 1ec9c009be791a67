"""Text checkpoint files: small tables that are replaced whole (formats/log 2).

    0                        version
    2                        number of entries
    orders 0 1042            topic partition offset; or, per partition: epoch start-offset
    orders 1 7

A file that is malformed is a disk that lies: DiskFailed, and the directory goes offline.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Disk

_VERSION: Final = "0"


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return _encode(f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items())


def encode_epochs(epochs: Iterable[tuple[int, int]]) -> bytes:
    return _encode(f"{epoch} {start_offset}" for epoch, start_offset in epochs)


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Empty if there is no such file."""
    offsets = {}
    for line in _lines(disk, path):
        try:
            topic, partition, offset = line.split()
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            raise DiskFailed(path, f"malformed line in checkpoint: {line!r}") from None
    return offsets


def read_epochs(disk: Disk, path: str) -> list[tuple[int, int]]:
    """(epoch, start offset) as they stand; empty if there is no such file."""
    epochs = []
    for line in _lines(disk, path):
        try:
            epoch, start_offset = line.split()
            epochs.append((int(epoch), int(start_offset)))
        except ValueError:
            raise DiskFailed(path, f"malformed line in checkpoint: {line!r}") from None
    return epochs


def _encode(lines: Iterable[str]) -> bytes:
    rows = list(lines)
    return "".join(f"{row}\n" for row in (_VERSION, str(len(rows)), *rows)).encode()


def _lines(disk: Disk, path: str) -> list[str]:
    try:
        text = disk.read_file(path).decode()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise DiskFailed(path, "checkpoint is not text") from None
    if not text:
        return []
    version, *rest = text.splitlines()
    if version.strip() != _VERSION:
        raise DiskFailed(path, f"checkpoint of unknown version {version!r}")
    count, *rows = rest or [""]
    if not count.strip().isdigit() or int(count) != len(rows):
        raise DiskFailed(path, f"checkpoint says {count!r} entries and has {len(rows)}")
    return rows
