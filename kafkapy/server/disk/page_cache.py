"""Is a range of a file in memory, and bringing it there: so that a consumer that reads last
week's records waits for the disk, and nobody else does.

Where the system cannot tell (no preadv2, a file system without RWF_NOWAIT), everything
counts as there: then a cold read holds the loop for as long as the disk takes.
"""

import os
from contextlib import suppress
from typing import Final

# Asked about at this distance: the kernel reads ahead in stretches at least as long.
_STEP_BYTES: Final = 64 * 1024
_READ_BYTES: Final = 256 * 1024
_NO_WAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
_PROBE: Final = [bytearray(1)]


def is_cached(fd: int, position: int, length: int) -> bool:
    """Whether reading it would not wait for the disk, as far as samples can tell."""
    if _NO_WAIT is None:
        return True
    end = position + length
    try:
        for at in range(position, end, _STEP_BYTES):
            os.preadv(fd, _PROBE, at, _NO_WAIT)
        os.preadv(fd, _PROBE, end - 1, _NO_WAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True  # not supported here; or broken, as whoever reads it will find
    return True


def bring_in(fd: int, position: int, length: int) -> None:
    """Wait for the disk, on a worker thread. What cannot be read is found by who sends it."""
    end = position + length
    with suppress(OSError):
        while position < end and (data := os.pread(fd, min(_READ_BYTES, end - position), position)):
            position += len(data)
