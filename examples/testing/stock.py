"""Reserves stock for orders, with FastStream: reads `orders`, writes `reservations`; what cannot
be read goes to `orders.bad`. An order that comes twice is reserved once.
"""

from faststream import AckPolicy
from faststream.confluent import KafkaBroker, KafkaMessage
from pydantic import BaseModel, ValidationError

GROUP = "stock"


class Order(BaseModel):
    id: str
    item: str


class Stock:
    # A handler that raises gets its message again, as soon as it can.
    ACK_POLICY = AckPolicy.NACK_ON_ERROR

    def __init__(self, bootstrap: str, reserved: set[str]) -> None:
        """`reserved` stands for the table of a database."""
        self.reserved = reserved
        self.broker = KafkaBroker(bootstrap, logger=None, retry_backoff_ms=10)
        subscriber = self.broker.subscriber(
            "orders",
            group_id=GROUP,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=100,
            ack_policy=self.ACK_POLICY,
        )
        subscriber(self.on_order)

    async def __aenter__(self) -> "Stock":
        await self.broker.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.broker.stop()

    async def on_order(self, message: KafkaMessage) -> None:
        try:
            order = Order.model_validate_json(message.body)
        except ValidationError:
            await self.broker.publish(message.body, "orders.bad")
            return
        await self.reserve(order)

    async def reserve(self, order: Order) -> None:
        if order.id not in self.reserved:
            await self.broker.publish(order.item, "reservations", key=order.id.encode())
            self.reserved.add(order.id)
