"""Three ways to get stock.py wrong, one a class."""

from faststream import AckPolicy
from faststream.confluent import KafkaMessage
from stock import Order, Stock


class AcknowledgesFirst(Stock):
    """FastStream's default: offsets are committed whatever comes of the message."""

    ACK_POLICY = AckPolicy.ACK_FIRST


class StopsAtPoison(Stock):
    """What cannot be read is asked for again, for ever."""

    async def on_order(self, message: KafkaMessage) -> None:
        await self.reserve(Order.model_validate_json(message.body))


class ReservesTwice(Stock):
    """Brokers deliver at least once; so does this."""

    async def reserve(self, order: Order) -> None:
        await self.broker.publish(order.item, "reservations", key=order.id.encode())
