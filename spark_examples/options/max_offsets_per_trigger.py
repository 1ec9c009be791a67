"""maxOffsetsPerTrigger: bound the size of a batch.

Without it the first batch of a query that starts at `earliest` is the whole topic, and so is
the batch after a long stop. The bound is on offsets over all partitions, in proportion to what
each has; offsets without a record (transaction markers, compacted records) count too.
"""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from spark_examples.clicks import new_topic, publish, random_clicks
from spark_examples.command import example
from spark_examples.session import run_to_end


def start(
    spark: SparkSession, bootstrap: str, topic: str, out: Path, **options: object
) -> StreamingQuery:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    records = (
        reader.option("subscribe", topic).option("startingOffsets", "earliest").options(**options)
    ).load()
    writer = records.writeStream.format("parquet").option("path", str(out / "records"))
    writer = writer.option("checkpointLocation", str(out / "checkpoint"))
    return writer.trigger(availableNow=True).start()


def main() -> None:
    with example("max_offsets_per_trigger", __doc__) as run:
        topic = new_topic(run.bootstrap, "clicks")
        publish(run.bootstrap, topic, random_clicks(1000))
        for options in ({}, {"maxOffsetsPerTrigger": 300}):
            out = run.out / ("bounded" if options else "unbounded")
            batches = run_to_end(start(run.spark, run.bootstrap, topic, out, **options))
            print(f"{options or 'no option'}: batches of {batches} records")


if __name__ == "__main__":
    main()
