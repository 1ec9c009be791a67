"""One row on one target, once: what a measurement may use.

def __call__(self, run: Run) -> Figures:
    topic = run.topic(partitions=10)
    with run.costs() as costs:
        records = send_much_to(run.bootstrap, topic, run.seconds(10))
    return costs.figures(records)
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.processes import Usage, forget_peak, machine_cpu_seconds, usage_of
from bench.row import LIMIT, Figures
from bench.servers import Server, Target, addresses, pids
from bench.wire import Wire


class Costs:
    """What the broker and the load spent between the ends of a `with run.costs()` block."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        for pid in pids:
            forget_peak(pid)
        self._before = usage_of(pids)
        self._load_before = _load_seconds()
        self._machine_before = machine_cpu_seconds()
        self._began = time.perf_counter()
        self.seconds = 0.0
        self._after: Usage = self._before
        self._load_after = self._load_before
        self._machine_after = self._machine_before

    def end(self) -> None:
        self.seconds = time.perf_counter() - self._began
        self._after = usage_of(self._pids)
        self._load_after = _load_seconds()
        self._machine_after = machine_cpu_seconds()

    @property
    def cpu_seconds(self) -> float:
        return self._after.cpu_seconds - self._before.cpu_seconds

    def figures(self, records: float, seconds: float | None = None) -> Figures:
        """Rate, broker CPU and memory. `seconds`: of the load proper, where a client took
        time to start; processor time that fell outside of it is counted all the same."""
        took = self.seconds if seconds is None else seconds
        load = self._load_after - self._load_before
        whole = self._machine_after - self._machine_before
        return {
            "records": records,
            "seconds": took,
            "rate": records / took,
            "cores": self.cpu_seconds / took,
            "cpu_s_per_million": self.cpu_seconds / records * 1e6,
            "resident_mb": self._after.resident_mb,
            "peak_mb": self._after.peak_mb,
            # Near 1 or above, with a broker far from a core: the load was the limit.
            "load_cores": load / took,
            # What had nothing to do with the bench: far from 0, the figures mean little.
            "other_cores": max(0.0, whole - load - self.cpu_seconds) / self.seconds,
        }


_CHUNK_BYTES = 1 << 20


class Run:
    def __init__(self, target: Target, directory: Path, *, length: float) -> None:
        self.target = target
        self.directory = directory
        # Of every time and number of records, this share is measured (1; quick: less).
        self.length = length
        self.started: list[Server] = []
        self._topics: list[str] = []
        self._stack = ExitStack()

    @property
    def server(self) -> Server:
        assert self.started, "the row starts its own servers: run.start(...)"
        return self.started[-1]

    @property
    def bootstrap(self) -> str:
        return self.server.bootstrap

    def seconds(self, full: float) -> float:
        return full * self.length

    def records(self, full: int) -> int:
        return int(full * self.length)

    @contextmanager
    def start(
        self, properties: Mapping[str, str] | None = None, nodes: int = 1
    ) -> Iterator[Server]:
        """A server of this target with an empty directory, for rows that start their own."""
        directory = self.directory / f"own-{len(self.started)}"
        server = self.target.make(directory, properties or {}, nodes)
        self.started.append(server)
        try:
            server.start()
            yield server
        finally:
            server.stop()
            self.forget_topics()

    def wire(self) -> Wire:
        """A connection to the server that asks anything of Kafka's protocol and waits."""
        return self._stack.enter_context(Wire(self.bootstrap))

    def topic(self, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """A new topic, whose partitions have their leaders; deleted when the row is done."""
        name = f"bench-{len(self._topics):03}-{time.monotonic_ns():016}"
        if self.target.name == LIMIT:
            return f"{name}-p{partitions}"  # has what it is asked for
        nodes = len(addresses(self.server))
        if nodes == 1:
            self.wire().create_topic(name, partitions, dict(configs or {}))
        else:
            with_two = {"min.insync.replicas": "2", **(configs or {})}
            self.wire().create_replicated(name, partitions, with_two, nodes)
        self._topics.append(name)
        return name

    def leaders(self, partitions: int) -> str:
        """Who leads each of a topic's partitions: what kload calls bootstrap."""
        nodes = addresses(self.server)
        return ",".join(nodes[one % len(nodes)] for one in range(partitions))

    def forget_topics(self) -> None:
        """They go with their servers."""
        self._topics.clear()

    def warm_memory(self, count_bytes: int) -> None:
        """Have so much memory at hand, for whoever fills it first pays for it.

        A virtual machine gives free memory back to its host and gets it again page by page:
        here 3 GB went into the page cache in 9 s, and in 1 to 2 s once a file of that size had
        just been deleted.
        """
        path = self.directory.with_name("memory")
        chunk = bytes(_CHUNK_BYTES)
        with path.open("wb", buffering=0) as file:
            for _ in range(count_bytes // _CHUNK_BYTES + 1):
                file.write(chunk)
        path.unlink()

    @contextmanager
    def costs(self) -> Iterator[Costs]:
        costs = Costs(pids(self.server))
        yield costs
        costs.end()

    def client(self, name: str, timeout_s: float = 300, **given: Any) -> dict[str, Any]:
        """Run bench/clients/NAME.py to its end; what it printed, as JSON."""
        done = subprocess.run(
            self._command(name, given),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"client {name}: {done.stderr.strip()[-1000:]}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    @contextmanager
    def beside(self, name: str, **given: Any) -> Iterator[None]:
        """Meanwhile such a client, which has more to do than there is time for."""
        started = subprocess.Popen(self._command(name, given), stdout=subprocess.DEVNULL)
        try:
            yield
            if started.poll() is not None:
                raise RuntimeError(f"client {name} ended before what it should disturb")
        finally:
            started.kill()
            started.wait()

    def _command(self, name: str, given: Mapping[str, Any]) -> list[str]:
        told = {"bootstrap": self.bootstrap, **given}
        return [sys.executable, "-m", f"bench.clients.{name}", json.dumps(told)]

    def close(self) -> None:
        """Delete the row's topics and let the disk come to rest, for the row after this."""
        with self._stack:
            if self._topics:
                self.wire().delete_topics(self._topics)
        os.sync()


def _load_seconds() -> float:
    """Processor time of the load: client processes that have ended, and this one."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
