"""Windowed counts over a restart, compared with counts in Python."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from compat_tests.behaviours import covers
from spark_examples.clicks import NOON, Click, create_topic, publish, random_clicks
from spark_examples.session import run_to_end
from spark_examples.stream.clicks_per_minute import clicks_per_minute, counted, plot


@covers("spark-stream")
def test_minutes_are_counted_once_over_a_restart_and_late_clicks_are_dropped(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic)
    restart = timedelta(minutes=4, seconds=10)  # in the middle of a minute
    first = list(random_clicks(1000, seed=1))
    second = list(random_clicks(1000, seed=2, start=NOON + restart))
    late = Click("late", "user-00", "home", 0, NOON)

    publish(broker, topic, first)
    assert sum(run_to_end(clicks_per_minute(spark, broker, topic, tmp_path))) == 1000
    closed = counted(spark, tmp_path).select("minute").distinct().count()
    assert closed == 3  # 12:00 to 12:02; the watermark stands at 12:03:39

    publish(broker, topic, [late, *second])
    assert sum(run_to_end(clicks_per_minute(spark, broker, topic, tmp_path))) == 1001
    rows = counted(spark, tmp_path).withColumn("at", F.unix_timestamp("minute")).collect()
    end = max(click.at for click in second) - timedelta(seconds=30)
    expected = Counter(
        (int(minute.timestamp()), click.page)
        for click in [*first, *second]
        if (minute := click.at.replace(second=0, microsecond=0)) + timedelta(minutes=1) <= end
    )
    assert {(row["at"], row.page): row.clicks for row in rows} == expected
    assert len(rows) == len(expected)

    plot(counted(spark, tmp_path), NOON + restart, tmp_path / "clicks.png")
    assert (tmp_path / "clicks.png").read_bytes().startswith(b"\x89PNG")
