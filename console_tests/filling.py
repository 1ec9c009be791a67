"""A cluster as somebody's might be: topics, groups that lag, shared work, a stuck transaction."""

import json
import time
from typing import Any, Final, NamedTuple

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafkapy.broker.config.resources import Resource
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Cluster
from tests.http.pages import with_kafka

DAY_MS: Final = 86_400_000
# Yesterday, in the middle of it.
YESTERDAY_MS: Final = int(time.time() * 1000) // DAY_MS * DAY_MS - DAY_MS + 14 * 3_600_000
# The last of them has no default: whoever reads with it cannot read what was written before.
_FIELDS: Final = (
    '{"name":"to","type":"string","default":"","doc":"a town"}',
    '{"name":"carrier","type":["null","string"],"default":null}',
    '{"name":"weight","type":"double"}',
)
_WORDS: Final = ("paid", "packed", "sent", "returned")


class Kept(NamedTuple):
    """Clients that are there as long as this is: one with an open transaction, one with work."""

    producer: Producer
    worker: ShareConsumer

    def close(self) -> None:
        self.worker.close()
        self.producer.abort_transaction(30)


def fill(cluster: Cluster) -> Kept:
    cluster.create_topic("orders", partitions=6)
    cluster.create_topic("payments", partitions=3, config={"retention.ms": "604800000"})
    cluster.create_topic("in-doubt")
    cluster.create_topic("pictures")
    for index in range(60):
        cluster.create_topic(f"team-{index:02}.events")
    with_kafka(cluster.node(1), _write)
    _write_by_schema(cluster)
    _relayed(cluster)
    return Kept(_stuck(cluster), _worker(cluster))


def _relayed(cluster: Cluster) -> None:
    """What could not be done comes again; what is large has a view of its own."""
    cluster.create_topic("orders.dead")
    retry = {
        "kafkapy.relay.to": "orders",
        "kafkapy.relay.retry.delays": "5s,1m,10m",
        "kafkapy.relay.dead.letter.topic": "orders.dead",
    }
    cluster.create_topic("orders.retry", config=retry)
    view = {"kafkapy.view.of": "orders", "kafkapy.view.where": "number(value.total) > 3900"}
    asked = {
        "name": "orders.large",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [],
        "configs": [{"name": name, "value": value} for name, value in view.items()],
    }

    async def make(kafka: Kafka) -> None:
        body = {"topics": [asked], "timeout": 30_000, "validate_only": False}
        answer = await kafka.ask(ApiKey.CREATE_TOPICS, body)
        assert not answer.topics[0].error_code, answer

    with_kafka(cluster.node(1), make)


def _worker(cluster: Cluster) -> ShareConsumer:
    """It has taken jobs, and is not done with them."""
    cluster.create_topic("jobs", partitions=3)

    async def work(kafka: Kafka) -> None:
        changed = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}
        group = {"resource_type": Resource.GROUP, "resource_name": "workers", "configs": [changed]}
        body = {"resources": [group], "validate_only": False}
        answer = await kafka.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
        assert not answer.responses[0].error_code, answer
        for partition, count in enumerate((40, 12, 3)):
            jobs = [NewRecord(None, b'{"job": %d}' % one, YESTERDAY_MS) for one in range(count)]
            await records.produce(kafka, "jobs", partition, jobs)

    with_kafka(cluster.node(1), work)
    worker = ShareConsumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "workers",
            "client.id": "worker-1",
            "share.acknowledgement.mode": "explicit",
        }
    )
    worker.subscribe(["jobs"])
    taken: list[Any] = []
    while not taken:
        taken += worker.poll(1.0) or ()
    for one in taken[::4]:
        worker.acknowledge(one, AcknowledgeType.ACCEPT)
    worker.commit_sync(30)
    return worker


def _write_by_schema(cluster: Cluster) -> None:
    """Parcels whose schema was broken by its third version, when nothing was compared."""
    cluster.create_topic("parcels")
    subject, fields = "parcels-value", ['{"name":"id","type":"long"}']
    parcels: list[NewRecord] = []
    with SchemaRegistryClient({"url": cluster.node(1).http}) as registry:
        for number, field in enumerate(_FIELDS):
            if number == len(_FIELDS) - 1:
                registry.set_compatibility(subject, "NONE")
            fields.append(field)
            text = f'{{"type":"record","name":"Parcel","fields":[{",".join(fields)}]}}'
            serializer = AvroSerializer(registry, text)
            told = {"id": number, "to": "Ulm", "weight": 1.5, "carrier": "post"}
            value = serializer(told, SerializationContext("parcels", MessageField.VALUE, []))
            parcels.append(NewRecord(b"p-%d" % number, value, YESTERDAY_MS + number))
        registry.set_compatibility(subject, "BACKWARD")

    async def write(kafka: Kafka) -> None:
        await records.produce(kafka, "parcels", 0, parcels)

    with_kafka(cluster.node(1), write)


async def _write(kafka: Kafka) -> None:
    for partition in range(6):
        some = [_order(partition, one) for one in range(200)]
        await records.produce(kafka, "orders", partition, some)
    values = [b'{"amount": %d, "currency": "EUR"}' % (one * 100) for one in range(50)]
    await records.produce(kafka, "payments", 0, [NewRecord(None, v, YESTERDAY_MS) for v in values])
    picture = NewRecord(b"a.png", bytes(range(256)) * 3600, YESTERDAY_MS)
    await records.produce(kafka, "pictures", 0, [picture])
    await _commit(kafka, "billing", {0: 200, 1: 200, 2: 23, 3: 200, 4: 187, 5: 200})
    await _commit(kafka, "search-indexer", dict.fromkeys(range(6), 150))
    await _commit(kafka, "replayed", dict.fromkeys(range(6), 200))


def _order(partition: int, index: int) -> NewRecord:
    """One a minute from yesterday noon on; number 23 of partition 2 is like no other."""
    moment = YESTERDAY_MS - 2 * 3_600_000 + index * 60_000
    told: dict[str, Any] = {"order": partition * 1000 + index, "state": _WORDS[index % 4]}
    value = json.dumps({**told, "total": index * 19.9, "items": ["book", "lamp"][: index % 3]})
    if (partition, index) == (2, 23):
        value = "<order><number>2023</number></order>"
    headers = (("source", b"shop"), ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-01"))
    return NewRecord(b"customer-%d" % (index % 17), value.encode(), moment, headers)


async def _commit(kafka: Kafka, group: str, offsets: dict[int, int]) -> None:
    where = {TopicPartition("orders", one): offset for one, offset in offsets.items()}
    await groups.commit(kafka, group, where)


def _stuck(cluster: Cluster) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": "invoices-1",
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("in-doubt", b"not committed")
    assert producer.flush(30) == 0
    return producer
