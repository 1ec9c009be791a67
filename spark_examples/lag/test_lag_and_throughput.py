"""Lag and throughput at the end of a short play, whose numbers are known."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from compat_tests.behaviours import covers
from spark_examples.clicks import create_topic
from spark_examples.lag.lag_and_throughput import (
    lag,
    play,
    plot,
    read,
    session_for_internal_topics,
    throughput,
)
from spark_examples.lag.offset_commits import offset_commits


@covers("spark-lag")
def test_lag_and_throughput_come_out_of_the_logs(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic, partitions=2)
    play(broker, topic, waves=[100, 300, 201], pause_s=0, nap=range(2, 3))

    spark = session_for_internal_topics(spark)
    commits = offset_commits(read(spark, broker, "__consumer_offsets"))
    commits = commits.where(F.col("topic") == topic).cache()
    found = {
        (row.group.removeprefix(f"{topic}-"), row.partition, row.committed)
        for row in commits.collect()
    }
    prompt = {(0, 50), (1, 50), (0, 200), (1, 200), (0, 301), (1, 300)}
    sleepy = {(0, 45), (1, 45), (0, 180), (1, 180)}
    assert found == {("prompt", *each) for each in prompt} | {("sleepy", *each) for each in sleepy}

    records = read(spark, broker, topic)
    rates, lags = throughput(records), lag(records, commits)
    assert sum(row.records for row in rates.collect()) == 601
    last = lags.groupBy("group").agg(F.max_by("lag", "second").alias("lag")).collect()
    assert {row.group: row.lag for row in last} == {
        f"{topic}-prompt": 0,
        f"{topic}-sleepy": 601 - 360,
    }

    plot(rates, lags, tmp_path / "lag.png")
    assert (tmp_path / "lag.png").read_bytes().startswith(b"\x89PNG")
