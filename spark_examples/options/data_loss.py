"""failOnDataLoss: what a stopped query finds when its records are gone.

While a query is stopped, retention may remove records that it had not read, or somebody
deletes its topic and makes it anew. With failOnDataLoss (the default) the query says so and
stops. Without it the query goes on with what is there, which after retention means: from the
first record left. A topic made anew is harder to see: Spark goes by offsets alone, so it
notices one that is shorter than before, and takes a longer one for the old topic. Without
failOnDataLoss it goes on at the end of a shorter one: what is in it by then is never read.
"""

from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from compat_tests.waiting import wait_for
from spark_examples.clicks import create_topic, delete_topic, new_topic, publish, random_clicks
from spark_examples.command import example
from spark_examples.session import run_to_end

_RETENTION_PATIENCE_S = 400  # a broker looks every log.retention.check.interval.ms: 5 minutes


def start(
    spark: SparkSession, bootstrap: str, topic: str, out: Path, *, fail_on_data_loss: bool
) -> StreamingQuery:
    """Copy offsets to Parquet, from where the checkpoint of `out` stands."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    records = reader.option("failOnDataLoss", fail_on_data_loss).load()
    places = records.select("offset", F.col("value").cast("string"))
    writer = places.writeStream.format("parquet").option("path", str(out / "records"))
    writer = writer.option("checkpointLocation", str(out / "checkpoint"))
    return writer.trigger(availableNow=True).start()


def expire_all(bootstrap: str, topic: str) -> None:
    """Let retention remove every record of partition 0, then set it back."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    place = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        found: int = admin.list_offsets({place: spec})[place].result(timeout=30).offset
        return found

    _retention(admin, topic, "1000")
    end = offset(OffsetSpec.latest())
    wait_for(
        "retention removes the records",
        lambda: offset(OffsetSpec.earliest()) == end,
        timeout_s=_RETENTION_PATIENCE_S,
    )
    _retention(admin, topic, "-1")


def make_anew(bootstrap: str, topic: str) -> None:
    """Delete a topic and create one of the same name."""
    delete_topic(bootstrap, topic)
    create_topic(bootstrap, topic, partitions=1)


def _retention(admin: AdminClient, topic: str, milliseconds: str) -> None:
    entry = ConfigEntry("retention.ms", milliseconds, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(timeout=30)


def main() -> None:
    with example("data_loss", __doc__) as run:
        run.spark.sparkContext.setLogLevel("OFF")  # the failures here are wanted
        for happens in (expire_all, make_anew):
            topic = new_topic(run.bootstrap, "clicks", partitions=1)
            out = run.out / happens.__name__
            publish(run.bootstrap, topic, random_clicks(100))
            read = run_to_end(start(run.spark, run.bootstrap, topic, out, fail_on_data_loss=True))
            print(f"{happens.__name__}: {sum(read)} records read; the query stops.")
            publish(run.bootstrap, topic, random_clicks(50, seed=2))
            happens(run.bootstrap, topic)
            publish(run.bootstrap, topic, random_clicks(20, seed=3))
            try:
                run_to_end(start(run.spark, run.bootstrap, topic, out, fail_on_data_loss=True))
            except StreamingQueryException as failure:
                reasons = [line for line in str(failure).splitlines() if "Reason:" in line]
                print(f"  failOnDataLoss=true:  the query ends. {reasons[0].strip()}")
            read = run_to_end(start(run.spark, run.bootstrap, topic, out, fail_on_data_loss=False))
            print(f"  failOnDataLoss=false: goes on with {sum(read)} of the 20 records there")


if __name__ == "__main__":
    main()
