"""What the examples' command lines share: which Kafka to use, and where results go.

    python -m spark_examples.batch.ranges_to_parquet [--bootstrap HOST:PORT] [--out DIR]

Without --bootstrap a kafkapy is started for the run, in this process, and thrown away after.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from kafkapy.testing import Broker
from spark_examples.out import add_out, emptied
from spark_examples.session import spark_session


@dataclass(frozen=True)
class Example:
    """What a run of an example has."""

    spark: SparkSession
    bootstrap: str
    out: Path


@contextmanager
def example(name: str, description: str | None) -> Iterator[Example]:
    """Read the command line, and give Spark, a Kafka and an empty directory for results."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a Kafka that runs already")
    add_out(parser, name)
    arguments = parser.parse_args()
    try:
        out = emptied(arguments.out, name)
    except FileExistsError as taken:
        parser.error(str(taken))
    with kafka_at(arguments.bootstrap) as bootstrap, spark_session(name) as spark:
        yield Example(spark, bootstrap, out)


@contextmanager
def kafka_at(bootstrap: str | None) -> Iterator[str]:
    """That address, or that of a kafkapy for the length of the block."""
    if bootstrap is not None:
        yield bootstrap
        return
    settings = {"log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "100"}
    with Broker(settings) as kafka:
        yield kafka.bootstrap
