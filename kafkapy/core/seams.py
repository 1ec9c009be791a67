"""The seams between the core and the world: Clock, Disk, Rng and a Journal (and core/network.py).

Everything from `broker` down reaches time, files, peers and chance through these and
nothing else. `server` implements them with Trio and the operating system, `sim` with a
virtual clock, a disk that tears and loses what was not flushed, and a seeded generator.

All callbacks run on the loop, one at a time: code behind the seams needs no locks.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from uuid import UUID

from kafkapy.core.errors import DiskFailed
from kafkapy.core.time import Instant

Bytes = bytes | bytearray | memoryview
Callback = Callable[[], None]
Flushed = Callable[[DiskFailed | None], None]


class Timer(Protocol):
    """A call that was asked for with `Clock.call_at`."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Two readings of time, both in milliseconds that look like those since the epoch.

    `now()`   never goes back and is never set; for what this process waits for: timers,
              deadlines, sessions, elections, parked requests, how long something took.
              It means nothing to another process, nor to this one's next life.
    `wall()`  what people's clocks say, and may step either way; for what is written down
              and what is held against that: timestamps of records, of transactions and of
              commits, retention, compaction lag, rolling, expiry of producers and ids.

    Never subtract one from the other. What is stored is `wall`; what is armed is `now`.
    """

    def now(self) -> Instant: ...

    def wall(self) -> Instant: ...

    def ticks(self) -> float:
        """Seconds since any moment, finely: for how long something took that takes less than a
        millisecond."""

    def call_at(self, when: Instant, then: Callback) -> Timer: ...

    def call_soon(self, then: Callback) -> None:
        """Run `then` after what is ready now: jobs.py yields so between slices."""


class FileSlice(Protocol):
    """A range of a file that a response carries; the file stays open until `release`."""

    length: int

    def read(self) -> bytes: ...

    def release(self) -> None: ...


class File(Protocol):
    """One file, named once. The operating system's handle behind it may come and go."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int: ...

    def append(self, buffers: Sequence[Bytes]) -> None:
        """All buffers, or DiskFailed with the size as it was before.

        - `size`, `read` and `slice` have it at once.
        - The file system has it when this returns or, within a turn (core/turn.py), at the
          latest before the turn's answers leave; and before anything else that is done on
          this disk after it. Until then a process that dies takes it along, and whatever
          was appended to this file after it.
        - Nothing of it is told to anybody before the file system has it.
        - If it cannot be written then, it is cut off, the turn is told (`Turn.failed`) and its
          answers do not leave. Whoever appended counts on what is lost: from then on this
          file raises DiskFailed whatever is asked of it.
        - Durable it is once a `flush` that was asked for after it has answered.
        """

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""

    def slice(self, position: int, length: int) -> FileSlice: ...

    def truncate(self, size: int) -> None: ...

    def flush(self, then: Flushed) -> None:
        """Make what is written so far durable, off the loop; `then` runs on the loop."""

    def flush_now(self) -> None: ...

    def close(self) -> None: ...


class Disk(Protocol):
    """Paths are absolute strings. A missing file is FileNotFoundError; all else DiskFailed,
    also that the directory is missing in which a file is to be made."""

    def open(self, path: str, *, create: bool = False) -> File: ...

    def read_file(self, path: str) -> bytes: ...

    def write_file(self, path: str, data: bytes) -> None:
        """Replace a small file whole: temporary name, flush, rename, flush of the directory."""

    def write_file_later(self, path: str, data: bytes, then: Flushed) -> None:
        """`write_file` off the loop. Of several waiting for one path the last one wins and
        answers all of them."""

    def list(self, directory: str) -> list[str]:
        """Names (not paths) in `directory`, sorted."""

    def exists(self, path: str) -> bool: ...

    def is_directory(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> Instant: ...

    def set_modified_ms(self, path: str, when: Instant) -> None: ...

    def make_directory(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, directory: str) -> None: ...

    def flush_directory(self, directory: str) -> None: ...

    def space(self, directory: str) -> tuple[int, int]:
        """Total and usable bytes of the volume that holds `directory`."""


Answered = Callable[[Any | Exception], None]


class OtherNodes(Protocol):
    """Calls to other nodes. `then` gets the decoded response, or the exception."""

    def call(
        self, node: int, api_key: int, version: int, body: Any, timeout_ms: int, then: Answered
    ) -> None: ...


class Journal(Protocol):
    """What happened, for people and machines: one line per event worth knowing."""

    def info(self, event: str, **facts: object) -> None: ...

    def warning(self, event: str, **facts: object) -> None: ...

    def error(self, event: str, **facts: object) -> None: ...


class Rng(Protocol):
    def below(self, limit: int) -> int:
        """A whole number in [0, limit)."""

    def uuid(self) -> UUID: ...
