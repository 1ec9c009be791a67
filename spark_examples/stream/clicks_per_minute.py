"""Count clicks by page and minute as they come, and carry on after a restart.

The watermark follows 30 seconds behind the latest click seen: a minute that it has passed is
written, once, and a click that comes later for that minute is dropped. The checkpoint holds
the offsets, the watermark and the open minutes, so that a restarted query neither loses nor
repeats a click.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from matplotlib.dates import DateFormatter, date2num
from matplotlib.figure import Figure
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from spark_examples.clicks import NOON, PAGES, Click, new_topic, publish, random_clicks
from spark_examples.command import example
from spark_examples.session import click, run_to_end


def clicks_per_minute(spark: SparkSession, bootstrap: str, topic: str, out: Path) -> StreamingQuery:
    """Start the query; it stops once it has read what is there now."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")  # of a first start; then the checkpoint decides
        .load()
    )
    counts = (
        records.select(click(F.col("value")).alias("click"))
        .select("click.*")
        .withWatermark("at", "30 seconds")
        .groupBy(F.window("at", "1 minute"), "page")
        .agg(F.count("*").alias("clicks"))
        .select(F.col("window.start").alias("minute"), "page", "clicks")
    )
    return (
        counts.writeStream.format("parquet")
        .outputMode("append")
        .option("path", str(out / "counts"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)  # leave it out, and the query runs until it is stopped
        .start()
    )


def counted(spark: SparkSession, out: Path) -> DataFrame:
    """The minutes that are closed, as the query wrote them."""
    return spark.read.parquet(str(out / "counts")).orderBy("minute", "page")


def plot(counts: DataFrame, restarted_at: datetime, picture: Path) -> None:
    rows = counts.withColumn("at", F.unix_timestamp("minute")).collect()
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for page in PAGES:
        points = [(_moment(row.at), row.clicks) for row in rows if row.page == page]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=page)
    axes.axvline(date2num(restarted_at), color="black", linestyle="--", label="query restarted")
    axes.set(title="Clicks per minute, counted by a restarted query", ylabel="clicks per minute")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(DateFormatter("%H:%M", tz=UTC))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(picture, dpi=110)


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def main() -> None:
    with example("stream", __doc__) as run:
        topic = new_topic(run.bootstrap, "clicks")
        half = timedelta(minutes=15)
        for start, seed in ((NOON, 1), (NOON + half, 2)):
            publish(run.bootstrap, topic, random_clicks(3600, seed=seed, start=start))
            batches = run_to_end(clicks_per_minute(run.spark, run.bootstrap, topic, run.out))
            minutes = counted(run.spark, run.out).select("minute").distinct().count()
            print(f"Read {sum(batches)} clicks; {minutes} minutes are closed.")
            late = Click("late", "user-00", "home", 0, NOON)
            publish(run.bootstrap, topic, [late])  # its minute is closed: it will not count
        counted(run.spark, run.out).show(10)
        plot(counted(run.spark, run.out), NOON + half, run.out / "clicks.png")
        print(f"{run.out / 'clicks.png'}")


if __name__ == "__main__":
    main()
