"""Ships orders, with aiokafka: reads `orders`, writes `parcels`; what cannot be read goes to
`orders.bad`. A parcel and the offset of its order are one transaction.
"""

import json

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import ConsumerRecord, TopicPartition

GROUP = "shipping"


class Shipping:
    def __init__(self, bootstrap: str, name: str = "shipping") -> None:
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=GROUP,
            client_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            heartbeat_interval_ms=100,
        )
        self.producer = self.make_producer(bootstrap, name)
        self.consumer.subscribe(["orders"])

    def make_producer(self, bootstrap: str, name: str) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=name, retry_backoff_ms=10
        )

    async def __aenter__(self) -> "Shipping":
        await self.producer.start()
        await self.consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.consumer.stop()
        await self.producer.stop()

    async def ship(self, orders: int) -> None:
        for _ in range(orders):
            await self.handle(await self.consumer.getone())

    async def handle(self, order: ConsumerRecord) -> None:
        async with self.producer.transaction():
            await self.pack(order)
            await self.producer.send_offsets_to_transaction(
                {TopicPartition(order.topic, order.partition): order.offset + 1}, GROUP
            )

    async def pack(self, order: ConsumerRecord) -> None:
        try:
            address = json.loads(order.value)["address"]
        except (ValueError, KeyError, TypeError):
            await self.producer.send_and_wait("orders.bad", order.value, order.key)
        else:
            await self.producer.send_and_wait("parcels", address.encode(), order.key)
