"""What the node cannot count by itself: how long its loop keeps others waiting, and how long
Python's collector keeps everything."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import trio

from kafkapy.core.histogram import Histogram
from kafkapy.http.kafka.link import NodeLink

_PROBE_SECONDS: Final = 1.0


class Probe:
    """Asks the node's loop for nothing, now and then, and looks when the collector runs."""

    def __init__(self) -> None:
        self.delays = Histogram()
        self.pauses: dict[int, Histogram] = {}
        self._began = 0.0

    async def run(self, link: NodeLink) -> None:
        with self._watching_collector():
            while True:
                began = time.perf_counter()
                at = await link.call(time.perf_counter)
                self.delays.observe(max(0.0, at - began))
                await trio.sleep(_PROBE_SECONDS)

    @contextmanager
    def _watching_collector(self) -> Iterator[None]:
        gc.callbacks.append(self._collects)
        try:
            yield
        finally:
            gc.callbacks.remove(self._collects)

    def _collects(self, phase: str, info: dict[str, Any]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._began = now
            return
        pauses = self.pauses.get(info["generation"])
        if pauses is None:
            pauses = self.pauses[info["generation"]] = Histogram()
        pauses.observe(now - self._began)
