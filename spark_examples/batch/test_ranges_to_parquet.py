"""Ranges of a topic, compared with the clicks that were sent."""

from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from compat_tests.behaviours import covers
from spark_examples.batch.ranges_to_parquet import (
    EARLIEST,
    LATEST,
    by_offsets,
    by_time,
    to_parquet,
)
from spark_examples.clicks import NOON, create_topic, publish, random_clicks

CLICKS = list(random_clicks(1000))  # the even ones in partition 0, the odd ones in partition 1


def fill(broker: str, topic: str) -> None:
    create_topic(broker, topic, partitions=2)
    publish(broker, topic, CLICKS, partitions=2)


@covers("spark-batch")
def test_a_range_of_offsets_begins_at_its_start_and_ends_before_its_end(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    fill(broker, topic)
    records = by_offsets(spark, broker, topic, {0: 10, 1: EARLIEST}, {0: LATEST, 1: 7})
    to_parquet(records, tmp_path / "clicks")

    rows = spark.read.parquet(str(tmp_path / "clicks")).collect()
    found = {(row.partition, row.offset): row.id for row in rows}
    expected = {(0, offset): CLICKS[2 * offset].id for offset in range(10, 500)}
    expected |= {(1, offset): CLICKS[2 * offset + 1].id for offset in range(7)}
    assert found == expected
    assert len(rows) == len(expected)
    assert {path.name for path in (tmp_path / "clicks").glob("page=*")} == {
        f"page={page}" for page in {row.page for row in rows}
    }


@covers("spark-batch")
def test_a_range_of_time_has_every_record_from_its_start_until_before_its_end(
    spark: SparkSession, broker: str, topic: str
) -> None:
    fill(broker, topic)
    start, end = NOON + timedelta(seconds=30), NOON + timedelta(seconds=90)
    records = by_time(spark, broker, topic, start, end)

    found = {(row.partition, row.offset) for row in records.collect()}
    numbers = [number for number, click in enumerate(CLICKS) if start <= click.at < end]
    assert len(numbers) == 240
    assert found == {(number % 2, number // 2) for number in numbers}


@covers("spark-batch")
def test_a_range_of_time_after_the_last_record_is_empty(
    spark: SparkSession, broker: str, topic: str
) -> None:
    fill(broker, topic)
    start = NOON + timedelta(days=1)
    assert by_time(spark, broker, topic, start, start + timedelta(days=1)).count() == 0
