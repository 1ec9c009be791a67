"""`python -m bench.rest`: records over HTTP, beside the same through a client of Kafka's.

One kafkapy of this environment as it is (interpreted; compiled: `PYTHONPATH=.compiled`). Records
a second, times, the node's processor time and its memory at the peak; what readers cost that read
nothing; and acknowledgements at 1,000/s, with HTTP under load and with nobody there. A table in
Markdown comes out. Load and node share one machine: look at the ratios.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple
from urllib.request import urlopen

from confluent_kafka.admin import AdminClient, NewTopic

from bench.load import kload
from bench.processes import forget_peak, usage
from compat_tests.targets import Kafkapy
from compat_tests.waiting import free_port

_RECORD_BYTES: Final = 100
_BATCH: Final = 100
_CONNECTIONS: Final = 4
_SLOW_READERS: Final = 50
_RATE: Final = 1000


class Figures(NamedTuple):
    what: str
    through: str
    records_a_second: float
    p50: float | None
    p99: float | None
    cores: float
    peak_mb: float

    def line(self) -> str:
        times = " | ".join("" if one is None else f"{one:.2f}" for one in (self.p50, self.p99))
        rate = f"{self.records_a_second:,.0f}"
        return (
            f"| {self.what} | {self.through} | {rate} | {times} "
            f"| {self.cores:.2f} | {self.peak_mb:.0f} |"
        )


class Bench:
    def __init__(self, node: Kafkapy, port: int, seconds: float) -> None:
        self._node = node
        self._port = port
        self._seconds = seconds
        self._admin = AdminClient({"bootstrap.servers": node.bootstrap})
        self._count = 0

    def topic(self) -> str:
        self._count += 1
        name = f"bench-{self._count}"
        for made in self._admin.create_topics([NewTopic(name, 1, 1)]).values():
            made.result(30)
        return name

    def measured(self, what: str, through: str, **given: Any) -> Figures:
        forget_peak(self._node.pid)
        before = usage(self._node.pid)
        found = self._client(**given)
        after = usage(self._node.pid)
        return Figures(
            what,
            through,
            found["records"] / found["seconds"],
            found.get("p50"),
            found.get("p99"),
            (after.cpu_seconds - before.cpu_seconds) / found["seconds"],
            after.peak_mb,
        )

    def rows(self) -> Iterator[Figures]:
        for what, batch, connections in (
            ("one record after the other", 1, 1),
            (f"batches of {_BATCH}, {_CONNECTIONS} at once", _BATCH, _CONNECTIONS),
        ):
            for through in ("http", "kafka"):
                yield self.measured(
                    f"write: {what}",
                    through,
                    kind=f"write-{through}",
                    topic=self.topic(),
                    batch=batch,
                    connections=connections,
                )
        topic = self.topic()
        filled = self._client(
            kind="write-kafka",
            topic=topic,
            batch=_BATCH,
            connections=100,
            record_bytes=_RECORD_BYTES,
        )
        for what, through, kind in (
            ("read: pages of 1,000", "http", "read-http"),
            ("read: server-sent events", "http", "follow-http"),
            ("read", "kafka", "read-kafka"),
        ):
            records = min(filled["records"], 50_000)
            yield self.measured(what, through, kind=kind, topic=topic, records=records)

    def slow_readers(self) -> tuple[float, float]:
        """The node's memory in MB, without readers that read nothing and with them."""
        topic = self.topic()
        self._client(kind="write-kafka", topic=topic, batch=100, connections=100, record_bytes=1000)
        forget_peak(self._node.pid)
        before = usage(self._node.pid).resident_mb
        path = f"/api/v1/topics/{topic}/partitions/0/stream?offset=0"
        with ExitStack() as stack:
            for _ in range(_SLOW_READERS):
                one = socket.create_connection(("127.0.0.1", self._port), timeout=60)
                stack.enter_context(one)
                one.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
                one.recv(1)
            self._until_idle()
            return before, usage(self._node.pid).peak_mb

    def acknowledgements(self) -> Mapping[str, float]:
        frames = kload.Frames.of_produce([(self.topic(), 0)], records=1, record_bytes=1024, acks=-1)
        found = kload.open_loop(
            self._node.bootstrap, frames, connections=1, rate=_RATE, seconds=self._seconds
        )
        return kload.latency(found, "ack")

    @contextmanager
    def under_load(self) -> Iterator[None]:
        """Batches written, a partition followed, metrics scraped, the console looked at."""
        written, stop = self.topic(), Event()
        seconds = self._seconds * 2 + 10
        with ExitStack() as stack:
            for kind in ("write-http", "follow-http"):
                given = {"kind": kind, "topic": written, "seconds": seconds, "records": 10**9}
                process = subprocess.Popen(
                    _command(self._given({**given, "batch": 10, "connections": 2})),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                stack.callback(process.wait)
                stack.callback(process.kill)
            looking = Thread(target=self._look, args=(stop,))
            looking.start()
            stack.callback(looking.join)
            stack.callback(stop.set)
            yield

    def _look(self, stop: Event) -> None:
        while not stop.wait(1.0):
            for path in ("/metrics", "/", "/console/topics"):
                with suppress(OSError), urlopen(f"http://127.0.0.1:{self._port}{path}") as answer:
                    answer.read()

    def _until_idle(self) -> None:
        """Until it has nothing left to do for those who read nothing."""
        spent = -1.0
        while (now := usage(self._node.pid).cpu_seconds) - spent > 0.02:
            spent = now
            time.sleep(0.5)

    def _client(self, **given: Any) -> dict[str, float]:
        done = subprocess.run(
            _command(self._given(given)), capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found: dict[str, float] = json.loads(done.stdout)
        return found

    def _given(self, given: Mapping[str, Any]) -> dict[str, Any]:
        own = {"bootstrap": self._node.bootstrap, "port": self._port, "seconds": self._seconds}
        return {"record_bytes": _RECORD_BYTES, **own, **given}


def _command(given: Mapping[str, Any]) -> list[str]:
    return [sys.executable, "-m", "bench.clients.rest", json.dumps(given)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.rest", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of each row")
    parsed = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="kafkapy-bench-") as folder:
        listeners = f"http://127.0.0.1:{port}"
        node = Kafkapy(Path(folder), {"http.listeners": listeners})
        node.start()
        try:
            bench = Bench(node, port, parsed.seconds)
            _report(bench)
        finally:
            node.stop()
    return 0


def _report(bench: Bench) -> None:
    print("| records of 100 bytes | through | a second | p50 ms | p99 ms | cores | peak MB |")
    print("|---|---|---|---|---|---|---|")
    for row in bench.rows():
        print(row.line(), flush=True)
    before, after = bench.slow_readers()
    print(
        f"\n{_SLOW_READERS} readers of a stream that read nothing: {before:.0f} MB before, ", end=""
    )
    print(f"{after:.0f} MB with them at the peak.\n")
    if (missing := kload.why_not()) is not None:
        print(f"Without acknowledgements at a rate: {missing}")
        return
    print(f"| acknowledged at {_RATE:,}/s | p50 ms | p99 ms | p99.9 ms |\n|---|---|---|---|")
    alone = bench.acknowledgements()
    with bench.under_load():
        beside = bench.acknowledgements()
    for what, found in (("nobody on HTTP", alone), ("HTTP under load", beside)):
        times = " | ".join(f"{found[name]:.2f}" for name in ("p50", "p99", "p99.9"))
        print(f"| {what} | {times} |")


if __name__ == "__main__":
    sys.exit(main())
