"""subscribePattern: a topic added while the query runs is read from its beginning.

A new topic's or partition's first records are never skipped, whatever `startingOffsets` says:
that is for what was there when the query started. The pattern is a Java regular expression
that may match any part of a name: give it a ^ and a $. Internal topics never match.
"""

import re
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from spark_examples.clicks import create_topic, new_topic, publish, random_clicks
from spark_examples.command import example


def start(spark: SparkSession, bootstrap: str, pattern: str, out: Path) -> StreamingQuery:
    """Copy topic and value to Parquet until stopped; from now on, for the topics of now."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribePattern", pattern).option("startingOffsets", "latest")
    records = reader.load().selectExpr("topic", "CAST(value AS STRING) AS value")
    writer = records.writeStream.format("parquet").option("path", str(out / "records"))
    writer = writer.option("checkpointLocation", str(out / "checkpoint"))
    return writer.trigger(processingTime="200 milliseconds").start()


def counts(spark: SparkSession, out: Path) -> DataFrame:
    return spark.read.parquet(str(out / "records")).groupBy("topic").count().orderBy("topic")


def main() -> None:
    with example("subscribe_pattern", __doc__) as run:
        here = new_topic(run.bootstrap, "clicks")
        publish(run.bootstrap, here, random_clicks(100))  # before the query: not read
        query = start(run.spark, run.bootstrap, f"^{re.escape(here)}.*$", run.out)
        query.processAllAvailable()
        publish(run.bootstrap, here, random_clicks(10, seed=2))
        query.processAllAvailable()
        added = f"{here}-mobile"
        create_topic(run.bootstrap, added)
        publish(run.bootstrap, added, random_clicks(20, seed=3))
        query.processAllAvailable()
        query.stop()
        counts(run.spark, run.out).show(truncate=False)


if __name__ == "__main__":
    main()
