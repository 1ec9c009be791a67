"""Frees the blocks of deleted files: one file after the other, a little at a time.

Freeing a gigabyte at once keeps the kernel busy for a few hundred milliseconds, and with it
whoever writes to the same disk: a deleted topic of 1.2 GB held up the producers of others
for 130 to 300 ms. Cut off piece by piece, with a pause as long as the piece took, it is not
noticed. The name is gone before; a node that dies in between leaves nothing behind.
"""

import os
import time
from collections import deque
from functools import partial
from typing import Final

from kafkapy.server.disk.files import RunInThread

_PIECE_BYTES: Final = 16 * 1024 * 1024


class Reaper:
    """`free` on the loop; the work on a thread."""

    def __init__(self, run_in_thread: RunInThread) -> None:
        self._run_in_thread = run_in_thread
        self._waiting: deque[tuple[int, int]] = deque()
        self._is_busy = False
        self._is_stopped = False

    def free(self, fd: int, size: int) -> None:
        """The only descriptor of a file that has no name any more."""
        self._waiting.append((fd, size))
        if not self._is_busy:
            self._next()

    def stop(self) -> None:
        """Free at once what is left, a thread's piece excepted."""
        self._is_stopped = True
        while self._waiting:
            os.close(self._waiting.popleft()[0])

    def _next(self) -> None:
        self._is_busy = bool(self._waiting)
        if self._is_busy:
            self._run_in_thread(partial(self._free, *self._waiting.popleft()), self._next)

    def _free(self, fd: int, size: int) -> None:
        try:
            while size > _PIECE_BYTES and not self._is_stopped:
                size -= _PIECE_BYTES
                began = time.perf_counter()
                os.ftruncate(fd, size)
                time.sleep(time.perf_counter() - began)
        except OSError:
            pass  # closing it frees the rest, if the disk can
        finally:
            os.close(fd)
