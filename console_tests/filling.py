"""A cluster as somebody's might be: topics, groups that lag, a stuck transaction."""

import json
import time
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.records import NewRecord
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


def fill(cluster: Cluster) -> Producer:
    """The producer of the transaction that stays open: it is, for as long as it is kept."""
    cluster.create_topic("orders", partitions=6)
    cluster.create_topic("payments", partitions=3, config={"retention.ms": "604800000"})
    cluster.create_topic("in-doubt")
    cluster.create_topic("pictures")
    for index in range(60):
        cluster.create_topic(f"team-{index:02}.events")
    with_kafka(cluster.node(1), _write)
    _write_by_schema(cluster)
    return _stuck(cluster)


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
