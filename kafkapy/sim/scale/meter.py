"""What the machines of a world cost: processor time by machine, and what held one for longest.

Everything that runs in a machine's process passes `Host.run`: a turn, a timer, a slice of a job.
So what one call of it takes is what a node's loop is held for. The simulated disk's and network's
own work is in it, and other processes' is not: it is the processor's time, not the wall's.
"""

import gc
import heapq
import os
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from sys import getsizeof
from time import thread_time
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.core.seams import Callback
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import TopicState
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.disk_image import Data, Directory

_KEPT: Final = 8
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# What is counted, besides files, directories and topics; whatever else is reached is not.
_PLAIN: Final = (bytes, bytearray, str, tuple, list, dict)


class Held(NamedTuple):
    ms: float
    who: str
    what: str


class Meter:
    def __init__(self) -> None:
        self.cpu: defaultdict[str, float] = defaultdict(float)
        self.longest: list[Held] = []
        self._depth = 0

    def run(self, who: str, then: Callback, run: Callback) -> None:
        if self._depth:
            run()
            return
        self._depth = 1
        # A timer forgets it when it fires.
        then = getattr(getattr(then, "__self__", None), "_then", None) or then
        began = thread_time()
        try:
            run()
        finally:
            self._depth = 0
            spent = thread_time() - began
            self.cpu[who] += spent
            longest = self.longest
            ms = spent * 1000
            if len(longest) < _KEPT:
                heapq.heappush(longest, Held(ms, who, _name(then)))
            elif ms > longest[0].ms:
                heapq.heapreplace(longest, Held(ms, who, _name(then)))

    def take(self) -> tuple[Mapping[str, float], list[Held]]:
        """What there was since the last time."""
        cpu, longest = self.cpu, sorted(self.longest, reverse=True)
        self.cpu, self.longest = defaultdict(float), []
        return cpu, longest


class MeasuredHost(Host):
    meter: Meter

    def run(self, then: Callback) -> None:
        self.meter.run(self.name, then, lambda: super(MeasuredHost, self).run(then))


def resident_bytes() -> int:
    """Of this process, once what is not reached any more is gone."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def disk_bytes(disk: SimDisk) -> int:
    """What a simulated disk takes of this process's memory: files, their durable images, names."""
    return _bytes_of(list(vars(disk).values()), (Data, Directory, *_PLAIN))


def image_bytes(image: MetadataImage, known: Collection[MetadataImage] = ()) -> int:
    """What an image takes, besides what it shares with those that are `known`."""
    kinds = (MetadataImage, TopicState, UUID, int, *_PLAIN)
    return _bytes_of([*known, image], kinds) - _bytes_of(list(known), kinds)


def _bytes_of(roots: list[Any], kinds: tuple[type, ...]) -> int:
    """Of all that is reached over objects of these kinds, each once."""
    seen: set[int] = set()
    left = roots
    size = 0
    while left:
        one = left.pop()
        if id(one) in seen or not isinstance(one, kinds):
            continue
        seen.add(id(one))
        size += getsizeof(one)
        if not isinstance(one, (bytes, bytearray, str, int)):
            left += gc.get_referents(one)
    return size


def _name(then: Any) -> str:
    """Of what was called: the timer's or the job's own, where it is one of those."""
    steps = getattr(getattr(then, "__self__", None), "_steps", None)
    if steps is not None:
        # Of compiled code a generator knows its class alone.
        return str(getattr(steps, "__qualname__", type(steps).__name__))
    func = getattr(then, "func", then)
    return str(getattr(func, "__qualname__", func))
