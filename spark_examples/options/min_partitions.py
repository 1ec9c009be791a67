"""minPartitions: more tasks than the topic has partitions.

Without it Spark reads each partition of the topic in one task, however long it is. With it
ranges of offsets are split; every record is still read once. `maxRecordsPerPartition` (since
Spark 4.0) does the same by size. Both read with more than one consumer per partition, so they
pay off for expensive work behind the read, not for the read itself.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_examples.clicks import new_topic, publish, random_clicks
from spark_examples.command import example


def read(spark: SparkSession, bootstrap: str, topic: str, **options: object) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return reader.option("subscribe", topic).options(**options).load()


def by_task(records: DataFrame) -> DataFrame:
    """What each task read: partition of the topic, first and last offset, count."""
    tasks = records.groupBy(F.spark_partition_id().alias("task"), "partition")
    return tasks.agg(
        F.min("offset").alias("first"), F.max("offset").alias("last"), F.count("*").alias("count")
    ).orderBy("task")


def main() -> None:
    with example("min_partitions", __doc__) as run:
        topic = new_topic(run.bootstrap, "clicks", partitions=2)
        publish(run.bootstrap, topic, random_clicks(4000), partitions=2)
        for options in ({}, {"minPartitions": 8}, {"maxRecordsPerPartition": 700}):
            print(f"{options or 'no option'}:")
            by_task(read(run.spark, run.bootstrap, topic, **options)).show()


if __name__ == "__main__":
    main()
