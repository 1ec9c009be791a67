"""What tests of the console write, and as whom they send forms."""

from collections.abc import Sequence
from typing import Final

from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.pages import with_kafka

# Where a browser says that a form of the console's comes from.
OWN: Final = {"origin": "http://127.0.0.1"}


def produced(
    broker: Broker,
    topic: str,
    values: Sequence[bytes | NewRecord],
    *,
    partition: int = 0,
) -> None:
    some = [one if isinstance(one, NewRecord) else NewRecord(None, one, 1000) for one in values]

    async def work(kafka: Kafka) -> None:
        await records.produce(kafka, topic, partition, some)

    with_kafka(broker, work)
