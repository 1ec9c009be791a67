"""What `write.py` puts into a directory, and `test_directories.py` finds in it."""

from pathlib import Path
from typing import Final, NamedTuple

ARCHIVE: Final = Path(__file__).parent / "from_0_1_0.tar.gz"


class Written(NamedTuple):
    partition: int
    key: bytes
    value: bytes | None
    codec: str = "none"
    at: int = 1_790_000_000_000  # of all: in September 2026


CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
FOREVER: Final = {"retention.ms": "-1"}
# topic -> partitions, settings
TOPICS: Final = {
    "plain": (2, FOREVER),
    "latest": (1, {"cleanup.policy": "compact"}),
    "paid": (1, FOREVER),
}
PLAIN: Final = [
    Written(index % 2, b"%s-%d" % (codec.encode(), index), b"value %d" % index * 9, codec)
    for codec in CODECS
    for index in range(6)
]
LATEST: Final = [Written(0, b"key %d" % (index % 4), b"%d" % index) for index in range(11)]
LATEST_GONE: Final = b"key 3"  # by a tombstone, after those
# Transactions, in this order.
COMMITTED: Final = [b"paid 1", b"paid 2"]
ABORTED: Final = [b"never 1", b"never 2"]
OPEN: Final = [b"perhaps"]
# group -> its protocol, offsets in `plain`
GROUPS: Final = {"classic": ("classic", {0: 7, 1: 3}), "modern": ("consumer", {0: 2, 1: 15})}
IN_TRANSACTION: Final = ("payments", {0: 11})
MESSAGE_MAX_BYTES: Final = "2000000"
