"""Headers: a column to write, an option to read.

They are an array of structs, not a map: a key may come twice, order counts, and a value may be
null. Without `includeHeaders` the column is not there at all.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_examples.clicks import new_topic
from spark_examples.command import example


def write(spark: SparkSession, bootstrap: str, topic: str) -> None:
    schema = "key string, value string, headers array<struct<key: string, value: binary>>"
    rows = [
        ("user-01", "bought", [("trace", b"4bf92f"), ("shop", b"eu"), ("shop", b"eu-west")]),
        ("user-02", "left", [("trace", None)]),
        ("user-03", "came", None),
    ]
    records = spark.createDataFrame(rows, schema)
    writer = records.write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    writer.option("topic", topic).save()


def read(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    records = reader.option("subscribe", topic).option("includeHeaders", True).load()
    return records.select(
        F.col("key").cast("string"),
        F.col("headers"),
        # The first header of a key; `shop` comes twice in one record.
        F.expr("try_element_at(filter(headers, each -> each.key = 'shop'), 1).value")
        .cast("string")
        .alias("shop"),
    ).orderBy("key")


def main() -> None:
    with example("headers", __doc__) as run:
        topic = new_topic(run.bootstrap, "events")
        write(run.spark, run.bootstrap, topic)
        read(run.spark, run.bootstrap, topic).show(truncate=False)


if __name__ == "__main__":
    main()
