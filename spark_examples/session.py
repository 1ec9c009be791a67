"""One small Spark for all examples: PySpark, and the jars with which it speaks to Kafka.

    python -m spark_examples.batch.ranges_to_parquet      jars from this project's cache
    spark-submit --packages ... ranges_to_parquet.py      spark-submit brings them itself

Both end in the same session. It is sized for a laptop: two cores, 1 GB, no web pages.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from compat_tests.installation import SPARK_KAFKA, require


@contextmanager
def spark_session(name: str) -> Iterator[SparkSession]:
    """A session for the length of the block."""
    builder = (
        SparkSession.builder.appName(name)
        .master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.sql.session.timeZone", "UTC")
        # The default of 200 is made for 200 cores; each is a state store on disk.
        .config("spark.sql.shuffle.partitions", 2)
    )
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit has brought the jars
        jars = sorted(require(SPARK_KAFKA).libs.glob("*.jar"))
        builder = builder.config("spark.jars", ",".join(str(jar) for jar in jars))
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def click(value: Column) -> Column:
    """A record's value as a click: a struct with the fields of `clicks.Click`."""
    schema = "id string, user string, page string, cents long, at timestamp"
    return F.from_json(value.cast("string"), schema)


def run_to_end(query: StreamingQuery) -> list[int]:
    """Wait for a query that stops by itself; the rows of each of its batches that had some."""
    query.awaitTermination()
    return [rows for each in query.recentProgress if (rows := each.numInputRows)]
