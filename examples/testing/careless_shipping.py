"""Four ways to get shipping.py wrong, one a class."""

import json

from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord
from shipping import Shipping


class SendsAndForgets(Shipping):
    """Nobody looks whether the parcel was written before its order is done with."""

    def make_producer(self, bootstrap: str, name: str) -> AIOKafkaProducer:
        return AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)

    async def handle(self, order: ConsumerRecord) -> None:
        address = json.loads(order.value)["address"]
        await self.producer.send("parcels", address.encode(), order.key)
        await self.consumer.commit()


class WithoutTransactions(Shipping):
    """The offset is written after the parcel: a crash in between ships twice."""

    def make_producer(self, bootstrap: str, name: str) -> AIOKafkaProducer:
        return AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)

    async def handle(self, order: ConsumerRecord) -> None:
        await self.pack(order)
        await self.consumer.commit()


class StopsAtPoison(Shipping):
    """One order that cannot be read stops all that come after it."""

    async def pack(self, order: ConsumerRecord) -> None:
        address = json.loads(order.value)["address"]
        await self.producer.send_and_wait("parcels", address.encode(), order.key)


class CommitsAtTheEnd(Shipping):
    """Whoever takes the partitions over does again what was not committed yet."""

    def make_producer(self, bootstrap: str, name: str) -> AIOKafkaProducer:
        return AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)

    async def handle(self, order: ConsumerRecord) -> None:
        await self.pack(order)

    async def __aexit__(self, *stop: object) -> None:
        await self.consumer.commit()
        await super().__aexit__(*stop)
