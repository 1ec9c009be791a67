"""THE table of what is measured. A row is one driver with one set of arguments."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    title: str
    driver: str
    given: dict[str, Any]
    quick: bool = False
    # What to compare: "rate" (more is better) or a percentile (less is better).
    figures: tuple[str, ...] = ("rate",)
    properties: dict[str, str] = field(default_factory=dict)
    # Consumers read what the row of this id produced.
    reads: str | None = None


def _produce(record_bytes: int, batch_bytes: int, records: int, **more: Any) -> dict[str, Any]:
    return {
        "record_bytes": record_bytes,
        "batch_bytes": batch_bytes,
        "records": records,
        "acks": 1,
        **more,
    }


ROWS: tuple[Row, ...] = (
    Row(
        "1k-1m",
        "1 KiB records, 1 MB batches, acks=1, librdkafka",
        "librdkafka_produce",
        _produce(1024, 1_000_000, 1_000_000),
        quick=True,
    ),
    Row(
        "consume",
        "consume 1 KiB records, librdkafka",
        "librdkafka_consume",
        {"records": 1_000_000},
        quick=True,
        reads="1k-1m",
    ),
    Row(
        "1k-16k",
        "1 KiB records, 16 KiB batches, acks=all, librdkafka",
        "librdkafka_produce",
        _produce(1024, 16_384, 600_000, acks=-1, linger_ms=5),
        quick=True,
    ),
    Row(
        "100b-1m",
        "100 B records, 1 MB batches, acks=1, librdkafka",
        "librdkafka_produce",
        _produce(100, 1_000_000, 3_000_000),
    ),
    *(
        Row(
            f"one-{connections}",
            f"one record a request, {connections} connection{'s' * (connections > 1)}",
            "one_record",
            {"record_bytes": 100, "acks": 1, "connections": connections, "seconds": 5},
            quick=connections == 32,
        )
        for connections in (1, 32, 500)
    ),
    Row(
        "ack-1k",
        "acknowledgement at 1,000 records/s, ms",
        "latency",
        {"record_bytes": 1024, "acks": 1, "rate": 1000, "seconds": 10},
        quick=True,
        figures=("p50", "p99", "p999"),
    ),
    Row(
        "heartbeats",
        "heartbeats of a consumer group of 500, 32 connections",
        "heartbeats",
        {"members": 500, "connections": 32, "seconds": 10},
        quick=True,
    ),
    Row(
        "fsync",
        "fsync before the acknowledgement, 32 connections",
        "one_record",
        {"record_bytes": 100, "acks": 1, "connections": 32, "seconds": 5},
        properties={"log.flush.interval.messages": "1"},
    ),
)
