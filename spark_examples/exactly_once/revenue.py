"""The job: clicks from Kafka, each counted once, revenue by page and minute to Kafka and Parquet.

    clicks (some come twice) -> watermark -> deduplicate by id -> revenue by page and minute
                             -> Parquet, a directory for each batch
                             -> Kafka, a record for each page and minute

What makes it exact, whenever it is killed: the checkpoint replays a batch that was not
committed with the same offsets and the same number. A replayed batch overwrites its Parquet
directory. Spark's Kafka sink is at least once: a replayed batch writes its records again, with
the same keys and values, so the last record of each key is right (which is also what a
compacted topic keeps).
"""

import argparse
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from spark_examples.session import click, spark_session

# A click may come this much later than later ones, and so may its second copy.
LATENESS = "1 minute"


def unpacked(records: DataFrame) -> DataFrame:
    """The click of each of Kafka's records."""
    return records.select(click(F.col("value")).alias("click")).select("click.*")


def revenue(unique: DataFrame) -> DataFrame:
    """Clicks and cents by page and minute."""
    sums = unique.groupBy(F.window("at", "1 minute"), "page").agg(
        F.count("*").alias("clicks"), F.sum("cents").alias("cents")
    )
    return sums.select(F.col("window.start").alias("minute"), "page", "clicks", "cents")


def start(spark: SparkSession, bootstrap: str, source: str, sink: str, out: Path) -> StreamingQuery:
    """The query, which runs until it is stopped, or killed."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 300)
        .load()
    )
    unique = unpacked(records).withWatermark("at", LATENESS).dropDuplicatesWithinWatermark(["id"])

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        batch.write.mode("overwrite").parquet(str(out / "revenue" / f"batch={batch_id}"))
        to_kafka(batch, bootstrap, sink)
        batch.unpersist()

    return (
        revenue(unique)
        .writeStream.outputMode("append")
        .foreachBatch(write)
        .option("checkpointLocation", str(out / "checkpoint"))
        .start()
    )


def to_kafka(rows: DataFrame, bootstrap: str, sink: str) -> None:
    key = F.concat_ws("|", F.date_format("minute", "yyyy-MM-dd'T'HH:mm"), "page")
    records = rows.select(key.alias("key"), F.to_json(F.struct(*rows.columns)).alias("value"))
    writer = records.write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    writer.option("topic", sink).save()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    parser.add_argument("--source", required=True, help="topic of the clicks")
    parser.add_argument("--sink", required=True, help="topic for the revenue")
    parser.add_argument("--out", required=True, type=Path, help="for Parquet and the checkpoint")
    given = parser.parse_args()
    with spark_session("revenue") as spark:
        query = start(spark, given.bootstrap, given.source, given.sink, given.out)
        query.awaitTermination()


if __name__ == "__main__":
    main()
