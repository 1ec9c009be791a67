"""Memory and latency against partitions and against connections."""

import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass

from bench.load import kload
from bench.processes import open_files, usage
from bench.row import P50, P99, RESIDENT, Figure, Figures, Row
from bench.run import Run
from bench.wire import request
from kafkapy.protocol.api_keys import ApiKey

_RATE = 1000
_METADATA = Figure("metadata_ms", "ms a Metadata of all")
_CREATE = Figure("create_s", "s to create them")
_BACK = Figure("restart_s", "s to start again")
_FULL_SECONDS = 8


@dataclass(frozen=True, slots=True)
class Partitions:
    """One topic of many partitions, each written to in turn at 1,000 records a second."""

    count: int

    def __call__(self, run: Run) -> Figures:
        with run.start() as server:
            began = time.perf_counter()
            topic = run.topic(self.count)
            created = time.perf_counter() - began
            found = _ack(run, topic, self.count)
            metadata = _metadata_ms(run)
            spent, files = usage(server.pid), open_files(server.pid)
            server.stop()
            began = time.perf_counter()
            server.start()
            again = time.perf_counter() - began
            figures = {"create_s": created, "restart_s": again, "metadata_ms": metadata}
        return {**figures, **found, "resident_mb": spent.resident_mb, "open_files": files}


@dataclass(frozen=True, slots=True)
class Connections:
    """Many clients that said hello and wait, while one writes 1,000 records a second."""

    count: int

    def __call__(self, run: Run) -> Figures:
        with run.start() as server, ExitStack() as stack:
            topic = run.topic()
            hello = request(ApiKey.API_VERSIONS, 0, {})
            for _ in range(self.count):
                host, _, port = run.bootstrap.rpartition(":")
                sock = stack.enter_context(socket.create_connection((host, int(port)), 30))
                sock.sendall(hello)
                if not sock.recv(65536):
                    raise RuntimeError("a connection was closed")
            found = _ack(run, topic, 1)
            resident = usage(server.pid).resident_mb
        return {**found, "resident_mb": resident}


def _ack(run: Run, topic: str, partitions: int) -> Figures:
    into = [(topic, each) for each in range(partitions)]
    frames = kload.Frames.of_produce(into, records=1, record_bytes=100, acks=-1)
    found = kload.open_loop(
        run.bootstrap,
        frames,
        connections=1,
        rate=_RATE,
        seconds=run.seconds(_FULL_SECONDS),
        warm_seconds=max(2.0, partitions / _RATE),
    )
    return kload.latency(found)


def _metadata_ms(run: Run) -> float:
    """The best of five: what is encoded once should not be paid five times."""
    wire, took = run.wire(), []
    for _ in range(5):
        began = time.perf_counter()
        wire.ask_raw(ApiKey.METADATA, 9, {"topics": None})
        took.append((time.perf_counter() - began) * 1000)
    return min(took)


ROWS = (
    *(
        Row(
            f"partitions-{count}",
            f"{count:,} partitions",
            Partitions(count),
            (RESIDENT, P50, P99, _METADATA, _CREATE, _BACK),
            starts_own=True,
        )
        for count in (100, 1_000, 10_000)
    ),
    *(
        Row(
            f"connections-{count}",
            f"{count:,} connections",
            Connections(count),
            (RESIDENT, P50, P99),
            starts_own=True,
        )
        for count in (100, 1_000, 5_000)
    ),
)
