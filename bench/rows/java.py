"""Apache Kafka's own perf tools as clients: kafka-producer-perf-test, kafka-consumer-perf-test.

The tools' defaults (idempotent, acks=all, 16 KiB batches, linger 5 ms) unless a row says
otherwise. The rate is the one that the tool prints: of the producer after a warm-up, of the
consumer without the time that joining its group took.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from bench.row import P99, P999, RATE, Figures, Row
from bench.run import Run
from compat_tests.installation import require
from compat_tests.oracle import TOOLS, java

_STEADY = re.compile(
    r"\d+ steady state records sent, ([\d.]+) records/sec .*"
    r" ([\d.]+) ms 50th, .* ([\d.]+) ms 99th, ([\d.]+) ms 99.9th"
)
_PATIENCE_S = 400


@dataclass(frozen=True, slots=True)
class PerfProduce:
    records: int
    record_bytes: int = 1024
    partitions: int = 1
    throughput: int = -1
    properties: tuple[str, ...] = ()

    def __call__(self, run: Run) -> Figures:
        return self.into(run, run.topic(self.partitions))

    def into(self, run: Run, topic: str) -> Figures:
        count = run.records(self.records)
        arguments = ["--topic", topic, "--num-records", str(count)]
        arguments += ["--record-size", str(self.record_bytes)]
        arguments += ["--throughput", str(self.throughput), "--warmup-records", str(count // 4)]
        arguments += ["--command-property", f"bootstrap.servers={run.bootstrap}", *self.properties]
        run.warm_memory(count * self.record_bytes)
        with run.costs() as costs:
            said = _tool("kafka-producer-perf-test", arguments)
        return {**costs.figures(count), **producer_figures(said)}


def producer_figures(said: str) -> Figures:
    """What kafka-producer-perf-test found after its warm-up. Above that it says what it found
    in all, the first second of a JVM included."""
    found = _STEADY.search(said)
    if found is None:
        raise RuntimeError(f"kafka-producer-perf-test said: {said[-500:]}")
    names = ("rate", "p50", "p99", "p99.9")
    return dict(zip(names, map(float, found.groups()), strict=True))


@dataclass(frozen=True, slots=True)
class PerfConsume:
    records: PerfProduce

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.records.partitions)
        self.records.into(run, topic)
        count = run.records(self.records.records)
        arguments = ["--bootstrap-server", run.bootstrap, "--topic", topic]
        arguments += ["--num-records", str(count), "--timeout", "30000"]
        with run.costs() as costs:
            said = _tool("kafka-consumer-perf-test", arguments)
        header, *lines = [line.split(", ") for line in said.splitlines() if ", " in line]
        figures = dict(zip(header, lines[-1], strict=True)) if lines else {}
        if int(figures.get("data.consumed.in.nMsg", 0)) < count:
            raise RuntimeError(f"kafka-consumer-perf-test said: {said[-500:]}")
        return {**costs.figures(count), "rate": float(figures["fetch.nMsg.sec"])}


def _tool(name: str, arguments: Sequence[str]) -> str:
    command = [*java(require(), archive="none", heap="1g"), TOOLS[name], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {(done.stdout + done.stderr)[-800:]}")
    return done.stdout


_BIG = ("batch.size=1000000", "linger.ms=50", "acks=1", "enable.idempotence=false")
_PLAIN = PerfProduce(800_000)

ROWS = (
    Row("java-1k", "producer-perf-test, 1 KiB, its defaults", _PLAIN),
    Row(
        "java-1k-1m",
        "producer-perf-test, 1 KiB, 1 MB batches",
        PerfProduce(properties=_BIG, records=1_500_000),
    ),
    Row("java-100b", "producer-perf-test, 100 B, its defaults", PerfProduce(4_000_000, 100)),
    Row("java-10k", "producer-perf-test, 10 KiB, its defaults", PerfProduce(150_000, 10_240)),
    Row(
        "java-10p", "producer-perf-test, 1 KiB, 10 partitions", PerfProduce(800_000, partitions=10)
    ),
    Row(
        "java-100p",
        "producer-perf-test, 1 KiB, 100 partitions",
        PerfProduce(800_000, partitions=100),
    ),
    Row(
        "java-67k",
        "producer-perf-test, 1 KiB at 67,000/s, 8 partitions",
        PerfProduce(1_000_000, partitions=8, throughput=67_000),
        (P99, P999, RATE),
        note="its latencies are whole milliseconds, counted from the call of send().",
    ),
    Row("java-consume", "consumer-perf-test, 1 KiB", PerfConsume(_PLAIN)),
    Row("java-consume-100b", "consumer-perf-test, 100 B", PerfConsume(PerfProduce(4_000_000, 100))),
)
