"""What /metrics says, against what was done; Prometheus' own parser reads it."""

from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from kafkapy.cli.client import Client
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.metrics import FAMILIES
from kafkapy.http.metrics.document import PATH, document
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of, site_of, with_kafka

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(client: httpx.Client) -> Samples:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: object) -> float:
    return samples[name, frozenset((key, str(one)) for key, one in labels.items())]


def test_every_sample_is_of_a_family_that_is_documented(
    broker: Broker, over_http: httpx.Client
) -> None:
    over_http.get("/metrics")
    text = over_http.get("/metrics").text
    kinds = {(one.name.removesuffix("_total"), one.type) for one in _families(text)}
    known = {(one.name.removesuffix("_total"), one.kind) for one in FAMILIES}
    assert kinds <= known
    assert len({one.name for one in FAMILIES}) == len(FAMILIES)


def _families(text: str) -> Iterator[Metric]:
    yield from text_string_to_metric_families(text)


@pytest.mark.interpreted  # the page is beside the sources
def test_the_page_of_metrics_is_up_to_date() -> None:
    assert Path(PATH).read_text(encoding="utf-8") == document(), (
        "python -m kafkapy.http.metrics.document"
    )


def test_records_and_bytes_are_counted_by_topic(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("counted", partitions=2)

    async def work(kafka: Kafka) -> None:
        for _ in range(3):
            await records.produce(kafka, "counted", 1, [NewRecord(b"k", b"v" * 100, 1)])
        await records.fetch(kafka, "counted", 1, 0)

    with_kafka(broker, work)
    samples = scraped(over_http)
    where = {"topic": "counted", "partition": 1}
    assert value(samples, "kafka_topic_partition_log_end_offset", **where) == 3
    assert value(samples, "kafka_topic_partition_current_offset", **where) == 3
    assert value(samples, "kafka_topic_partition_oldest_offset", **where) == 0
    assert value(samples, "kafka_topic_partition_leader", **where) == 1
    assert value(samples, "kafka_topic_partition_in_sync_replica", **where) == 1
    size = value(samples, "kafka_topic_partition_size_bytes", **where)
    assert size > 300
    assert value(samples, "kafka_topic_bytes_in_total", topic="counted") == size
    assert value(samples, "kafka_topic_bytes_out_total", topic="counted") == size
    for name in ("in", "out"):
        assert value(samples, f"kafka_topic_partition_bytes_{name}_total", **where) == size
        other = where | {"partition": 0}
        assert value(samples, f"kafka_topic_partition_bytes_{name}_total", **other) == 0


def test_a_node_says_what_it_is_in_the_quorum(over_http: httpx.Client) -> None:
    samples = scraped(over_http)
    states = {
        dict(labels)["state"]: told
        for (name, labels), told in samples.items()
        if name == "kafka_quorum_state"
    }
    assert states.pop("leader") == 1
    assert set(states) >= {"follower", "observer", "candidate"}
    assert set(states.values()) == {0}


def test_requests_that_came_by_sockets_are_counted(broker: Broker, over_http: httpx.Client) -> None:
    """A real client's: produced once, refused once."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    broker.create_topic("by-socket", config={"max.message.bytes": "1000"})
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("by-socket", b"x")
    producer.flush(10)
    producer.produce("by-socket", b"x" * 5000)
    producer.flush(10)
    samples = scraped(over_http)
    of_produce = {"listener": "PLAINTEXT", "api": "PRODUCE"}
    assert value(samples, "kafka_request_duration_seconds_count", **of_produce) == 2
    assert value(samples, "kafka_request_duration_seconds_bucket", le="+Inf", **of_produce) == 2
    assert value(samples, "kafka_request_duration_seconds_sum", **of_produce) > 0
    assert value(samples, "kafka_request_bytes_total", **of_produce) > 5000
    assert value(samples, "kafka_response_bytes_total", **of_produce) > 0
    refused = ErrorCode.MESSAGE_TOO_LARGE.name
    assert value(samples, "kafka_request_errors_total", error=refused, **of_produce) == 1
    assert value(samples, "kafka_connections", listener="PLAINTEXT") >= 1
    assert value(samples, "kafka_connections_accepted_total", listener="PLAINTEXT") >= 1


def test_groups_are_behind_in_records_and_in_seconds(
    broker: Broker, over_http: httpx.Client
) -> None:
    """The oldest record that is not read is of second 1,000 since 1970."""
    broker.create_topic("behind")
    where = TopicPartition("behind", 0)

    async def work(kafka: Kafka) -> None:
        for second in (500, 1000, 2000):
            await records.produce(kafka, "behind", 0, [NewRecord(None, b"v", second * 1000)])
        await groups.commit(kafka, "slow", {where: 1})
        await groups.commit(kafka, "quick", {where: 3})
        site = site_of(broker)
        await site.lag.look(kafka.link)
        by_group = {one.group: one for one in site.lag.found}
        assert (by_group["slow"].records, by_group["quick"].records) == (2, 0)
        age = kafka.link.node.clock.wall() / 1000 - 1000
        assert by_group["slow"].seconds == pytest.approx(age, rel=0.01)
        assert by_group["quick"].seconds == 0

    with_kafka(broker, work)


def test_cardinality_is_bounded_and_sums_are_whole() -> None:
    """Two partitions and two groups have lines of their own; a topic's bytes are of all five."""
    with (
        Broker({**HTTP, "http.metrics.max.partitions": "2"}) as broker,
        client_of(broker) as client,
    ):
        broker.create_topic("many", partitions=5)

        async def work(kafka: Kafka) -> None:
            for partition in range(5):
                await records.produce(kafka, "many", partition, [NewRecord(None, b"v" * 100, 1)])
            for number in range(4):
                where = {TopicPartition("many", number): 0}
                await groups.commit(kafka, f"group-{number}", where)
            http = broker._running().http
            assert http is not None
            assert http.site is not None
            await http.site.lag.look(kafka.link)

        with_kafka(broker, work)
        samples = scraped(client)
        for name in ("kafka_topic_partition_size_bytes", "kafka_topic_partition_bytes_in_total"):
            assert sum(one == name for one, _ in samples) == 2
        one = value(samples, "kafka_topic_partition_size_bytes", topic="many", partition=0)
        assert value(samples, "kafka_topic_bytes_in_total", topic="many") == 5 * one
        for name in ("lag", "lag_sum", "lag_rate", "lag_seconds", "members", "current_offset"):
            assert sum(one == f"kafka_consumergroup_{name}" for one, _ in samples) == 2, name
        assert value(samples, "kafkapy_metrics_left_out", what="partitions") > 0
        assert value(samples, "kafkapy_metrics_left_out", what="partitions of groups") == 2
        assert value(samples, "kafka_partitions") >= 5


def test_labels_are_escaped() -> None:
    from kafkapy.http.metrics.families import GAUGE, Family, Page

    page = Page()
    page.add(Family("odd", GAUGE, "Odd.", ("name",)), 1.5, 'a"b\\c\nd')
    text = b"".join(page.chunks()).decode()
    (family,) = text_string_to_metric_families(text)
    assert family.samples[0].labels == {"name": 'a"b\\c\nd'}


def test_turns_and_what_requests_wait_for_are_told(broker: Broker, over_http: httpx.Client) -> None:
    """A fetch that waits has little time of its own."""
    broker.create_topic("turns")
    asked = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": 0,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1,
    }
    body = {
        "replica_id": -1,
        "max_wait": 300,
        "min_bytes": 1,
        "max_bytes": 1,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": "turns", "partitions": [asked]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    with Client(broker.bootstrap) as asker:
        asker.ask(ApiKey.FETCH, body)
    samples = scraped(over_http)
    count = value(samples, "kafkapy_turn_seconds_count")
    assert value(samples, "kafkapy_turn_sockets_total") >= count > 0
    whole = value(samples, "kafkapy_turn_seconds_sum")
    assert 0 < value(samples, "kafkapy_turn_ending_seconds_total") < whole
    labels = {"listener": "PLAINTEXT", "api": "FETCH"}
    local = value(samples, "kafka_request_local_seconds_total", **labels)
    assert local > 0
    assert value(samples, "kafka_request_duration_seconds_sum", **labels) - local > 0.2
