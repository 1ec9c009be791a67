"""Has the disk begin to write what was appended, a few megabytes at a time.

Left to itself, Linux keeps what is written in memory until it is half a minute old or a tenth of
the memory, and then writes all of it at once: whoever appends meanwhile waits behind that for tens
of milliseconds, and so does the fsync of a segment that is full. Begun early, the same bytes go out
evenly. Nobody waits for it, and it promises nothing: what is durable, flushes alone say.

One stretch of one file is begun at a time, on a worker thread: a disk that does not keep up takes
no more than that one of the threads that flushes need. Nor is more begun than some hundred
megabytes a second: the rest of a burst may be deleted before it has to be written, and is left to
the system, as all of it is where there is no such call.
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any, Final

from kafkapy.core.seams import Callback

# Of a file so much at least and at most, some milliseconds of a disk's work, and the next no
# sooner than this later.
STRETCH_BYTES: Final = 8 * 1024 * 1024
LONGEST_BYTES: Final = 2 * STRETCH_BYTES
PACE_SECONDS: Final = 0.05
_BEGIN_ONLY: Final = 2  # SYNC_FILE_RANGE_WRITE, from linux/fs.h


class WriteBehind:
    """Of one disk. `run_in_thread(work, then)`: `then` runs on the loop."""

    def __init__(
        self,
        run_in_thread: Callable[[Callback, Callback], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run_in_thread = run_in_thread
        self._clock = clock
        self._is_beginning = False
        self._not_before = 0.0

    def begin(self, fd: int, position: int, end: int, then: Callback) -> bool:
        """With what is before `end`. The descriptor has to stay open until `then`. False: it is
        not time yet, and `then` will not come; ask again with the next append."""
        if self._is_beginning or _sync_file_range is None or self._clock() < self._not_before:
            return False
        self._is_beginning = True
        position = max(position, end - LONGEST_BYTES)
        self._not_before = self._clock() + PACE_SECONDS

        def work() -> None:
            # What fails here, the next flush says.
            _sync_file_range(fd, position, end - position, _BEGIN_ONLY)

        def begun() -> None:
            self._is_beginning = False
            then()

        self._run_in_thread(work, begun)
        return True


def _system_call() -> Any:
    """Linux's alone; ctypes lets go of the GIL around it."""
    try:
        call = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError, TypeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return call


_sync_file_range: Final = _system_call()
