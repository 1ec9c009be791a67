"""What each option does, asserted."""

import re
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from compat_tests import installation
from compat_tests.behaviours import covers
from compat_tests.security.servers import PASSWORD, USER, secured_server
from compat_tests.targets import APACHE
from spark_examples.clicks import create_topic, publish, random_clicks
from spark_examples.options import (
    avro_payloads,
    data_loss,
    headers,
    max_offsets_per_trigger,
    min_partitions,
    secured,
    subscribe_pattern,
)
from spark_examples.session import run_to_end


@covers("spark-min-partitions")
def test_more_tasks_than_partitions_read_every_record_once(
    spark: SparkSession, broker: str, topic: str
) -> None:
    create_topic(broker, topic, partitions=2)
    publish(broker, topic, random_clicks(800), partitions=2)

    plain = min_partitions.read(spark, broker, topic)
    split = min_partitions.read(spark, broker, topic, minPartitions=8)
    assert len(min_partitions.by_task(plain).collect()) == 2
    tasks = min_partitions.by_task(split).collect()
    assert len(tasks) == 8
    offsets = sorted((row.partition, at) for row in tasks for at in range(row.first, row.last + 1))
    assert offsets == [(partition, at) for partition in (0, 1) for at in range(400)]


@covers("spark-max-offsets")
def test_a_batch_is_no_larger_than_its_bound(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic)
    publish(broker, topic, random_clicks(500))
    query = max_offsets_per_trigger.start(spark, broker, topic, tmp_path, maxOffsetsPerTrigger=200)
    batches = run_to_end(query)
    assert sum(batches) == 500
    assert max(batches) <= 200


@covers("spark-data-loss")
def test_retention_under_a_stopped_query_fails_it_or_is_stepped_over(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic, partitions=1)
    publish(broker, topic, random_clicks(100))
    run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=True))
    publish(broker, topic, random_clicks(50, seed=2))
    data_loss.expire_all(broker, topic)
    publish(broker, topic, random_clicks(20, seed=3))

    with pytest.raises(StreamingQueryException, match=r"data may have been (lost|missed)"):
        run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=True))
    run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=False))
    assert _offsets(spark, tmp_path) == [*range(100), *range(150, 170)]


@covers("spark-data-loss")
def test_a_topic_made_anew_and_shorter_fails_the_query_or_is_taken_up(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic, partitions=1)
    publish(broker, topic, random_clicks(100))
    run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=True))
    data_loss.make_anew(broker, topic)
    publish(broker, topic, random_clicks(20, seed=3))

    with pytest.raises(StreamingQueryException, match=r"data may have been (lost|missed)"):
        run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=True))
    run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=False))
    publish(broker, topic, random_clicks(5, seed=4))
    run_to_end(data_loss.start(spark, broker, topic, tmp_path, fail_on_data_loss=False))
    # The records that the new topic had when the query came back are stepped over.
    assert _offsets(spark, tmp_path) == sorted([*range(100), *range(20, 25)])


def _offsets(spark: SparkSession, out: Path) -> list[int]:
    rows = spark.read.parquet(str(out / "records")).orderBy("offset").collect()
    return [row.offset for row in rows]


@covers("spark-headers")
def test_headers_keep_order_duplicates_and_nulls(
    spark: SparkSession, broker: str, topic: str
) -> None:
    create_topic(broker, topic)
    headers.write(spark, broker, topic)
    rows = headers.read(spark, broker, topic).collect()
    found = {row.key: row.headers and [tuple(each) for each in row.headers] for row in rows}
    assert found == {
        "user-01": [("trace", b"4bf92f"), ("shop", b"eu"), ("shop", b"eu-west")],
        "user-02": [("trace", None)],
        "user-03": None,
    }
    assert [row.shop for row in rows] == ["eu", None, None]


@covers("spark-pattern")
def test_a_topic_added_while_the_query_runs_is_read_from_its_beginning(
    spark: SparkSession, broker: str, topic: str, tmp_path: Path
) -> None:
    create_topic(broker, topic)
    publish(broker, topic, random_clicks(30))
    query = subscribe_pattern.start(spark, broker, f"^{re.escape(topic)}.*$", tmp_path)
    try:
        query.processAllAvailable()
        publish(broker, topic, random_clicks(10, seed=2))
        query.processAllAvailable()
        create_topic(broker, f"{topic}-mobile")
        publish(broker, f"{topic}-mobile", random_clicks(20, seed=3))
        query.processAllAvailable()
    finally:
        query.stop()
    rows = subscribe_pattern.counts(spark, tmp_path).collect()
    assert {row.topic: row["count"] for row in rows} == {topic: 10, f"{topic}-mobile": 20}


@covers("spark-avro")
@pytest.mark.parametrize("prefix", [b"", b"\x00\x00\x00\x00\x07"], ids=["bare", "registry"])
def test_avro_values_come_back(spark: SparkSession, broker: str, topic: str, prefix: bytes) -> None:
    create_topic(broker, topic)
    avro_payloads.write(spark, broker, topic, prefix=prefix)
    value = F.col("value")
    bare = avro_payloads.behind_prefix(value) if prefix else value
    rows = avro_payloads.read(spark, broker, topic, bare).collect()
    assert [tuple(row) for row in rows] == [
        ("user-01", 1999, None),
        ("user-02", 500, "SPRING"),
        ("user-03", 12_345, None),
    ]


def test_a_login_over_tls(spark: SparkSession, target: str, topic: str, tmp_path: Path) -> None:
    if target == APACHE and (reason := installation.why_not()) is not None:
        pytest.skip(reason)
    with secured_server(target, tmp_path / target) as server:
        create_topic(server.address("PLAINTEXT"), topic)
        pem = server.certificates.authority.read_text()
        login = secured.options(server.address("SASL_SSL"), USER, PASSWORD, pem)
        secured.write(spark, login, topic, 1000)
        assert sorted(row.number for row in secured.read(spark, login, topic).collect()) == [
            *range(1000)
        ]
        other = server.certificates.other_authority.read_text()
        for wrong in (
            secured.options(server.address("SASL_SSL"), USER, "another", pem),
            secured.options(server.address("SASL_SSL"), USER, PASSWORD, other),
        ):
            impatient = {**wrong, "kafka.default.api.timeout.ms": "5000"}
            impatient |= {"kafka.request.timeout.ms": "3000"}
            with pytest.raises(Exception, match=r"SaslAuthentication|SslAuthentication"):
                secured.read(spark, impatient, topic).collect()
