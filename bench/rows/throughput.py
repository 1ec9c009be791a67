"""How fast records go in and out through librdkafka (one producer, one consumer).

One setting is varied at a time around 1 KiB records in 1 MB batches to one partition with
acks=1: the size of records and batches, partitions, acks, codec.
"""

from dataclasses import dataclass

from bench.row import WITH_LIMIT, Figures, Row
from bench.run import Run


@dataclass(frozen=True, slots=True)
class Produce:
    """As fast as one librdkafka producer goes."""

    records: int
    record_bytes: int = 1024
    batch_bytes: int = 1_000_000
    partitions: int = 1
    acks: int = 1
    compression: str = "none"
    linger_ms: int = 50

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.partitions)
        return self.into(run, topic)

    def into(self, run: Run, topic: str) -> Figures:
        records = run.records(self.records)
        run.warm_memory(records * self.record_bytes)
        with run.costs() as costs:
            sent = run.client(
                "librdkafka_produce",
                topic=topic,
                records=records,
                record_bytes=self.record_bytes,
                batch_bytes=self.batch_bytes,
                acks=self.acks,
                compression=self.compression,
                linger_ms=self.linger_ms,
            )
        return costs.figures(records, sent["seconds"])


@dataclass(frozen=True, slots=True)
class Consume:
    """As fast as one librdkafka consumer goes through what `records` produced before."""

    records: Produce

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.records.partitions)
        self.records.into(run, topic)
        with run.costs() as costs:
            count = run.records(self.records.records)
            partitions = self.records.partitions
            read = run.client(
                "librdkafka_consume", topic=topic, records=count, partitions=partitions
            )
        return costs.figures(count, read["seconds"])


_KIB = Produce(1_500_000)
_SMALL = Produce(600_000, batch_bytes=16_384, acks=-1, linger_ms=5)

ROWS = (
    Row("1k-1m", "1 KiB records, 1 MB batches, acks=1", _KIB, targets=WITH_LIMIT, is_quick=True),
    Row(
        "1k-16k-all",
        "1 KiB records, 16 KiB batches, acks=all",
        _SMALL,
        targets=WITH_LIMIT,
        is_quick=True,
    ),
    Row(
        "100b-1m",
        "100 B records, 1 MB batches, acks=1",
        Produce(6_000_000, 100),
        targets=WITH_LIMIT,
    ),
    Row(
        "10k-1m",
        "10 KiB records, 1 MB batches, acks=1",
        Produce(200_000, 10_240),
        targets=WITH_LIMIT,
    ),
    Row(
        "1k-1m-all",
        "1 KiB records, 1 MB batches, acks=all",
        Produce(1_500_000, acks=-1),
        targets=WITH_LIMIT,
    ),
    Row(
        "1k-10p",
        "1 KiB records, 10 partitions, acks=1",
        Produce(1_500_000, partitions=10),
        targets=WITH_LIMIT,
    ),
    Row(
        "1k-100p",
        "1 KiB records, 100 partitions, acks=1",
        Produce(1_500_000, partitions=100),
        targets=WITH_LIMIT,
    ),
    Row("1k-lz4", "1 KiB records, lz4", Produce(1_500_000, compression="lz4"), targets=WITH_LIMIT),
    Row(
        "1k-zstd", "1 KiB records, zstd", Produce(1_500_000, compression="zstd"), targets=WITH_LIMIT
    ),
    Row("consume-1k", "consume 1 KiB records", Consume(_KIB), is_quick=True),
    Row("consume-1k-16k", "consume 1 KiB records in 16 KiB batches", Consume(_SMALL)),
    Row("consume-100b", "consume 100 B records", Consume(Produce(6_000_000, 100))),
    Row("consume-10k", "consume 10 KiB records", Consume(Produce(200_000, 10_240))),
    Row(
        "consume-100p",
        "consume 1 KiB records of 100 partitions",
        Consume(Produce(1_500_000, partitions=100)),
    ),
)
