"""Avro values: `to_avro` and `from_avro`, from the spark-avro package.

Both take the value as bare Avro. Producers with a schema registry put five bytes before it (a
zero and the schema's id): skip them with `substring(value, 6)` and give the writer's schema. A
value that does not fit the schema ends the query; with `mode: PERMISSIVE` it becomes null.
"""

import json

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from spark_examples.clicks import new_topic
from spark_examples.command import example

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "user", "type": "string"},
            {"name": "cents", "type": "long"},
            {"name": "coupon", "type": ["null", "string"], "default": None},
        ],
    }
)
_REGISTRY_PREFIX = bytes(5)


def write(spark: SparkSession, bootstrap: str, topic: str, *, prefix: bytes = b"") -> None:
    """Three orders, each behind `prefix`."""
    orders = [("user-01", 1999, None), ("user-02", 500, "SPRING"), ("user-03", 12_345, None)]
    rows = spark.createDataFrame(orders, "user string, cents long, coupon string")
    # Columns of Spark may be null and this schema's `user` may not: say what is so.
    fields = [F.coalesce("user", F.lit("")).alias("user")]
    fields += [F.coalesce("cents", F.lit(0)).alias("cents"), F.col("coupon")]
    value = F.concat(F.lit(prefix), to_avro(F.struct(*fields), SCHEMA))
    records = rows.select(F.col("user").alias("key"), value.alias("value"))
    writer = records.write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    writer.option("topic", topic).save()


def read(spark: SparkSession, bootstrap: str, topic: str, value: Column) -> DataFrame:
    """The orders of a topic; `value` is the column that holds bare Avro."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    records = reader.option("subscribe", topic).load()
    order = from_avro(value, SCHEMA, {"mode": "PERMISSIVE"})
    return records.select(order.alias("order")).select("order.*").orderBy("user")


def behind_prefix(value: Column) -> Column:
    """A value without what a schema registry's serializer puts before it."""
    return F.substring(value, 6, 2**31 - 1)


def main() -> None:
    with example("avro", __doc__) as run:
        topic = new_topic(run.bootstrap, "orders")
        write(run.spark, run.bootstrap, topic)
        read(run.spark, run.bootstrap, topic, F.col("value")).show()
        topic = new_topic(run.bootstrap, "orders")
        write(run.spark, run.bootstrap, topic, prefix=_REGISTRY_PREFIX)
        print("Behind the five bytes of a schema registry's serializer:")
        read(run.spark, run.bootstrap, topic, behind_prefix(F.col("value"))).show()


if __name__ == "__main__":
    main()
