"""Short time slices: what the loop begins, it ends before others get its processor.

A round of the reactor takes some 10 us to some 100 us and sends several answers. On a
processor that it shares, Linux would let whoever the first of them wakes run at once, in the
middle of the round: all other answers wait for that. Whom the kernel gives shorter slices
(Linux 6.12 and later) is not interrupted by those with the usual ones, nor kept waiting for
theirs to end. That is no priority: its share of the processor stays what it is.

Slices are a thread's own; threads that it starts later have the same.
"""

import ctypes
import platform
from struct import Struct
from typing import Final

# A default slice is 0.7 ms to 2.8 ms, by the number of processors: shorter than any of them.
SLICE_NS: Final = 500_000

# sched_getattr and sched_setattr, of which glibc knows nothing before 2.41.
_NUMBERS: Final = {"x86_64": (315, 314), "aarch64": (275, 274), "riscv64": (275, 274)}
# struct sched_attr: size, policy, flags, nice, priority, and of these the first: runtime,
# deadline, period.
_ATTRIBUTES: Final = Struct("=IIQiIQQQ")
_SCHED_OTHER: Final = 0


def ask_for_short_slices() -> None:
    """For the calling thread. Where they cannot be had, everything stays as it is."""
    numbers = _NUMBERS.get(platform.machine())
    if numbers is None or platform.system() != "Linux":
        return
    get, set_ = numbers
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.size)
    system_call = ctypes.CDLL(None).syscall
    if system_call(get, 0, attributes, _ATTRIBUTES.size, 0) != 0:
        return
    size, policy, flags, nice, priority, *_ = _ATTRIBUTES.unpack(attributes.raw)
    # Who was given a policy for itself, real time say, keeps it.
    if policy == _SCHED_OTHER:
        _ATTRIBUTES.pack_into(attributes, 0, size, policy, flags, nice, priority, SLICE_NS, 0, 0)
        system_call(set_, 0, attributes, 0)
