"""Topics as queues: share groups, and relays, which kafkapy alone has.

A share group's records a second are what kafka-share-consumer-perf-test says, Java's share
consumer; a group is told before to begin at the start.
"""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.row import APACHE, KAFKAPY, P50, P99, SECONDS, Figure, Figures, Row
from bench.rows.throughput import Produce
from bench.run import Run
from compat_tests.installation import require
from compat_tests.oracle import TOOLS, java
from kafkapy.protocol.api_keys import ApiKey

BOTH = (KAFKAPY, APACHE)
_PEAK = Figure("peak_mb", "MB at most")
_PATIENCE_S = 400
_TOPIC, _GROUP = 2, 32
_SET = 0
# Of each member, every 100 ms: start, end, MB, MB/s, records/s, records so far, ms.
_REPORT = re.compile(
    r"^[^,]+, ([^,]+), [^,]+, [^,]+, [^,]+, (\d+), \d+ for share consumer (\d+)", re.M
)
_TIME = "%Y-%m-%d %H:%M:%S:%f"
# A member hears with its second heartbeat what it reads.
_QUICK = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
}


@dataclass(frozen=True, slots=True)
class Share:
    """So many members of one share group go through what `records` produced before."""

    records: Produce
    members: int = 1

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.records.partitions)
        self.records.into(run, topic)
        count = run.records(self.records.records)
        configure(run, _GROUP, topic, {"share.auto.offset.reset": "earliest"})
        name = "kafka-share-consumer-perf-test"
        arguments = ["--bootstrap-server", run.bootstrap, "--topic", topic, "--group", topic]
        arguments += ["--num-records", str(count), "--threads", str(self.members)]
        arguments += ["--timeout", str(_PATIENCE_S * 1000), "--show-detailed-stats"]
        arguments += ["--reporting-interval", "100"]
        command = [*java(require(), archive="none", heap="1g"), TOOLS[name], *arguments]
        with run.costs() as costs:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=2 * _PATIENCE_S, check=False
            )
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {(done.stdout + done.stderr)[-800:]}")
        return {**costs.figures(count), "rate": steady_rate(done.stdout)}


def steady_rate(said: str) -> float:
    """Records a second of all members, from when the first of them has records: what comes before
    is a JVM that starts and a group that gathers."""
    reports = sorted(
        (datetime.strptime(ended, _TIME), member, int(count))
        for ended, count, member in _REPORT.findall(said)
    )
    began = next((at for at, _, count in reports if count), None)
    counts: dict[str, int] = {}
    first = 0
    for at, member, count in reports:
        counts[member] = count
        if at == began:
            first = sum(counts.values())
    if began is None or reports[-1][0] == began:
        raise RuntimeError(f"kafka-share-consumer-perf-test reported too little: {said[-500:]}")
    return (sum(counts.values()) - first) / (reports[-1][0] - began).total_seconds()


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """One record at a time, each acknowledged before the next."""

    records: int
    record_bytes: int = 100

    def __call__(self, run: Run) -> Figures:
        topic, count = run.topic(), run.records(self.records)
        configure(run, _GROUP, topic, {"share.auto.offset.reset": "earliest"})
        with run.costs() as costs:
            found = run.client(
                "share_acknowledge",
                topic=topic,
                group=topic,
                records=count,
                record_bytes=self.record_bytes,
            )
        return {**costs.figures(count, found["seconds"]), "p50": found["p50"], "p99": found["p99"]}


@dataclass(frozen=True, slots=True)
class Route:
    """What `records` produced before is moved to another topic, exactly once; a consumer there
    reads what is committed."""

    records: Produce

    def __call__(self, run: Run) -> Figures:
        source, target = run.topic(), run.topic()
        self.records.into(run, source)
        count = run.records(self.records.records)
        with run.costs() as costs:
            configure(run, _TOPIC, source, {"kafkapy.relay.to": target})
            read = run.client("librdkafka_consume", topic=target, records=count, partitions=1)
        return costs.figures(count, read["seconds"])


@dataclass(frozen=True, slots=True)
class Delays:
    """So many records wait on a node of their own, each for its own moment in `span_s`; how late
    they come, and what the node needs for them."""

    records: int
    span_s: float
    lead_s: float
    record_bytes: int = 100

    def __call__(self, run: Run) -> Figures:
        with run.start(), run.costs() as costs:
            span_s, records = run.seconds(self.span_s), run.records(self.records)
            found = delays(run, records, span_s, self.lead_s, self.record_bytes)
        figures = costs.figures(records, found["seconds"])
        return {**figures, **{name: found[name] for name in ("p50", "p99", "most")}}


def delays(
    run: Run, records: int, span_s: float, lead_s: float, record_bytes: int
) -> dict[str, Any]:
    """What bench/clients/delayed.py says, of a server that was just started."""
    target = run.topic()
    source = run.topic(configs={"kafkapy.relay.to": target, "retention.ms": "-1"})
    return run.client(
        "delayed",
        timeout_s=lead_s + 3 * span_s + _PATIENCE_S,
        topic=source,
        target=target,
        records=records,
        record_bytes=record_bytes,
        lead_s=lead_s,
        span_s=span_s,
    )


def configure(run: Run, kind: int, name: str, values: Mapping[str, str]) -> None:
    configs = [
        {"name": key, "config_operation": _SET, "value": value} for key, value in values.items()
    ]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    answer = run.wire().ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)
    if answer.responses[0].error_code:
        raise RuntimeError(f"{name}: {answer.responses[0].error_message}")


_KIB = Produce(400_000)
_MOST = Figure("most", "ms at most")
_LATE = (P50, P99, _MOST)

ROWS = (
    Row(
        "share-1k",
        "a share group's one member, 1 KiB records, Java",
        Share(_KIB),
        targets=BOTH,
        properties=_QUICK,
        is_quick=True,
    ),
    Row(
        "share-1k-4",
        "a share group's four members on one partition",
        Share(_KIB, members=4),
        targets=BOTH,
        properties=_QUICK,
    ),
    Row(
        "share-ack",
        "a record of a share group acknowledged, one at a time",
        Acknowledge(2_000),
        (P50, P99),
        targets=BOTH,
        properties=_QUICK,
    ),
    Row(
        "relay-1k",
        "1 KiB records moved to another topic, exactly once",
        Route(Produce(100_000)),
        targets=(KAFKAPY,),
    ),
    Row(
        "delays",
        "20,000 records, each due at its own moment of 20 s",
        Delays(20_000, span_s=20, lead_s=10),
        _LATE,
        targets=(KAFKAPY,),
        starts_own=True,
        note="from when a record was due until its consumer has it, polling every 10 ms.",
    ),
    Row(
        "delays-1m",
        "a million records wait, due in no order within 10 minutes",
        Delays(1_000_000, span_s=600, lead_s=60),
        (*_LATE, _PEAK, SECONDS),
        targets=(KAFKAPY,),
        starts_own=True,
    ),
)
