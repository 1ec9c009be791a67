"""Read a range of a topic, by offsets and by timestamps, into Parquet.

A batch reads from `starting...` up to, and not including, `ending...`. Offsets are given for
each partition; a timestamp holds for all of them, and Kafka answers with the first record
that is as late.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_examples.clicks import NOON, new_topic, publish, random_clicks
from spark_examples.command import example
from spark_examples.session import click

EARLIEST, LATEST = -2, -1


def by_offsets(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    starting: Mapping[int, int],
    ending: Mapping[int, int],
) -> DataFrame:
    """Partition to offset for both ends; EARLIEST and LATEST are offsets too."""
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", json.dumps({topic: starting}))
        .option("endingOffsets", json.dumps({topic: ending}))
        .load()
    )


def by_time(
    spark: SparkSession, bootstrap: str, topic: str, start: datetime, end: datetime
) -> DataFrame:
    """All records with start <= timestamp < end, if timestamps rise with the offsets."""
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingTimestamp", _milliseconds(start))
        .option("endingTimestamp", _milliseconds(end))
        # A partition without a record that late has nothing to read; the default is an error.
        .option("startingOffsetsByTimestampStrategy", "latest")
        .load()
    )


def to_parquet(records: DataFrame, directory: Path) -> None:
    """Clicks with the place they came from, in a directory for each page."""
    rows = records.select("partition", "offset", click(F.col("value")).alias("click"))
    rows = rows.select("partition", "offset", "click.*")
    rows.write.partitionBy("page").parquet(str(directory))


def _milliseconds(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


def main() -> None:
    with example("batch", __doc__) as run:
        topic = new_topic(run.bootstrap, "clicks")
        publish(run.bootstrap, topic, random_clicks(10_000), partitions=2)

        first, last = {0: 1000, 1: EARLIEST}, {0: 1500, 1: 250}
        to_parquet(by_offsets(run.spark, run.bootstrap, topic, first, last), run.out / "offsets")
        rows = run.spark.read.parquet(str(run.out / "offsets"))
        print("Offsets 1000 to 1499 of partition 0, and up to 249 of partition 1:")
        rows.groupBy("partition").agg(
            F.count("*").alias("clicks"), F.min("offset"), F.max("offset")
        ).orderBy("partition").show()

        start, end = NOON + timedelta(minutes=10), NOON + timedelta(minutes=20)
        to_parquet(by_time(run.spark, run.bootstrap, topic, start, end), run.out / "times")
        rows = run.spark.read.parquet(str(run.out / "times"))
        print("Clicks from 12:10 until before 12:20, by page:")
        rows.groupBy("page").agg(F.count("*").alias("clicks"), F.min("at"), F.max("at")).orderBy(
            "page"
        ).show()
        print(f"Parquet under {run.out}")


if __name__ == "__main__":
    main()
