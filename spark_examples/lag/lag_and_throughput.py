"""How fast a topic grows and how far its groups are behind, over time, from Kafka's own logs.

Throughput is the number of records per second, from the topic. The lag of a group at a moment
is the end of the topic then, from the topic's timestamps, less what the group had committed,
from `__consumer_offsets`. No monitoring has to run beforehand: the logs remember.
"""

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from matplotlib.dates import DateFormatter
from matplotlib.figure import Figure
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from compat_tests.waiting import wait_for
from spark_examples.clicks import ClickProducer, new_topic, random_clicks
from spark_examples.command import example
from spark_examples.lag.offset_commits import offset_commits

_PARTITIONS = 2
_COORDINATOR_IS_COMING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
}

Line = tuple[str, tuple[list[datetime], list[int]]]


def session_for_internal_topics(spark: SparkSession) -> SparkSession:
    """A session, on the same Spark, that sees `__consumer_offsets`.

    Spark 4's connector asks an admin client for offsets, and leaves internal topics
    out without a word: a read of them is empty. The older way, by a consumer, does not.
    """
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", True)
    return session


def read(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """All that is there of a topic. Assigned, so that the older way needs no group."""
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(topic).topics
    partitions = sorted(topics[topic].partitions)
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return reader.option("assign", json.dumps({topic: partitions})).load()


def throughput(records: DataFrame) -> DataFrame:
    """Records per second of each topic."""
    by_second = records.groupBy("topic", F.date_trunc("second", "timestamp").alias("second"))
    return by_second.agg(F.count("*").alias("records"), F.sum(F.length("value")).alias("bytes"))


def lag(records: DataFrame, commits: DataFrame) -> DataFrame:
    """Group, topic, second, lag: what each group had left to read at the end of each second."""
    place = ["topic", "partition", "second"]
    ends = records.groupBy("topic", "partition", _second("timestamp")).agg(
        (F.max("offset") + 1).alias("end")
    )
    commits = commits.groupBy("group", "topic", "partition", _second("time")).agg(
        F.max_by("committed", "time").alias("committed")
    )
    # Every second of a partition in which something happened, for each of its groups; what
    # did not change in a second is as it was before.
    groups = commits.select("group", "topic", "partition").distinct()
    seconds = ends.select("topic", "second").union(commits.select("topic", "second")).distinct()
    grid = groups.join(seconds, "topic")
    so_far = Window.partitionBy("group", "topic", "partition").orderBy("second")
    filled = (
        grid.join(ends, place, "left")
        .join(commits, ["group", *place], "left")
        .withColumn("end", F.coalesce(F.max("end").over(so_far), F.lit(0)))
        .withColumn("committed", F.last("committed", ignorenulls=True).over(so_far))
        .where(F.col("committed").isNotNull())
    )
    # Below zero for a moment, where a producer's clock is ahead of the broker's.
    behind = F.greatest(F.col("end") - F.col("committed"), F.lit(0))
    return filled.groupBy("group", "topic", "second").agg(F.sum(behind).alias("lag"))


def _second(column: str) -> Column:
    return F.date_trunc("second", column).alias("second")


def plot(throughput: DataFrame, lag: DataFrame, picture: Path) -> None:
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    for topic, rows in _lines(throughput, "topic", "records"):
        above.plot(*rows, marker="o", markersize=3, label=topic)
    for group, rows in _lines(lag, "group", "lag"):
        below.plot(*rows, marker="o", markersize=3, label=group)
    above.set(title="Throughput", ylabel="records per second")
    below.set(title="Lag", ylabel="records behind the end")
    for axes in (above, below):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    below.xaxis.set_major_formatter(DateFormatter("%H:%M:%S", tz=UTC))
    figure.savefig(picture, dpi=110)


def _lines(
    rows: DataFrame, name: str, value: str
) -> Iterator[tuple[str, tuple[list[datetime], list[int]]]]:
    collected = rows.select(name, F.unix_timestamp("second").alias("at"), value).collect()
    for each in sorted({row[name] for row in collected}):
        points = sorted((row.at, row[value]) for row in collected if row[name] == each)
        yield each, ([datetime.fromtimestamp(at, UTC) for at, _ in points], [n for _, n in points])


def play(
    bootstrap: str, topic: str, *, waves: Sequence[int], pause_s: float, nap: range = range(0)
) -> None:
    """Produce in waves; one group keeps up, another commits nothing during its nap."""
    producer = ClickProducer(bootstrap)
    keeps_up, naps = (
        Consumer({"bootstrap.servers": bootstrap, "group.id": f"{topic}-{name}"})
        for name in ("prompt", "sleepy")
    )
    ends = [0] * _PARTITIONS
    for number, count in enumerate(waves):
        now = datetime.now(UTC)
        producer.send(topic, random_clicks(count, seed=number, start=now, every_ms=0), partitions=2)
        producer.flush()
        ends = [end + (count + 1 - partition) // 2 for partition, end in enumerate(ends)]
        _commit(keeps_up, topic, ends)
        if number not in nap:
            _commit(naps, topic, [end - end // 10 for end in ends])
        time.sleep(pause_s)
    for consumer in (keeps_up, naps):
        consumer.close()


def _commit(consumer: Consumer, topic: str, ends: Sequence[int]) -> None:
    offsets = [TopicPartition(topic, partition, end) for partition, end in enumerate(ends)]

    def is_committed() -> bool:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as failed:
            # The first commit of all creates `__consumer_offsets`, which takes a moment.
            if failed.args[0].code() not in _COORDINATOR_IS_COMING:
                raise
            return False
        return True

    wait_for("the coordinator takes a commit", is_committed)


def main() -> None:
    with example("lag", __doc__) as run:
        topic = new_topic(run.bootstrap, "clicks", partitions=_PARTITIONS)
        print("Producing and committing for some 20 seconds ...")
        waves = [200, 250, 300, 400, 600, 900, 900, 600, 400, 300] * 4
        play(run.bootstrap, topic, waves=waves, pause_s=0.5, nap=range(12, 26))
        spark = session_for_internal_topics(run.spark)
        records = read(spark, run.bootstrap, topic)
        commits = offset_commits(read(spark, run.bootstrap, "__consumer_offsets"))
        commits = commits.where(F.col("topic") == topic)
        rates, lags = throughput(records), lag(records, commits)
        rates.orderBy("second").show(5)
        lags.orderBy("second", "group").show(10, truncate=False)
        plot(rates, lags, run.out / "lag.png")
        print(f"{run.out / 'lag.png'}")


if __name__ == "__main__":
    main()
