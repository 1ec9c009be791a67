"""Retries with back-off for classic consumers: what fails is given back later, and nothing waits.

    orders -----> consumer: done
      ^              | failed: `give_back`
      |              v
      '------ orders.retry  after 5 s, 1 min, 10 min; after that --> orders.dead

The delays, the count and the way to the dead letters are the node's (docs/RELAYS.md). All that a
consumer does is to send the record on, with its headers and why it failed.
"""

from collections.abc import Callable

from aiokafka import AIOKafkaProducer, ConsumerRecord
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

Headers = list[tuple[str, bytes]]
_ORIGIN, _ERROR = "kafkapy.origin.topic", "kafkapy.error"


def set_up(bootstrap: str, topic: str, delays: str = "5s,1m,10m", partitions: int = 1) -> None:
    retry = {
        "kafkapy.relay.to": topic,
        "kafkapy.relay.retry.delays": delays,
        "kafkapy.relay.dead.letter.topic": f"{topic}.dead",
    }
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for name, config in ((topic, {}), (f"{topic}.dead", {}), (f"{topic}.retry", retry)):
        wanted = NewTopic(name, num_partitions=partitions, config=config)
        admin.create_topics([wanted])[name].result(30)


def failed_headers(
    headers: Headers | None, topic: str, partition: int, offset: int, error: Exception
) -> Headers:
    """Where it was at first is kept; why it failed is said anew."""
    kept = [one for one in headers or () if one[0] != _ERROR]
    if not any(name == _ORIGIN for name, _ in kept):
        kept += [
            (_ORIGIN, topic.encode()),
            ("kafkapy.origin.partition", str(partition).encode()),
            ("kafkapy.origin.offset", str(offset).encode()),
        ]
    return [*kept, (_ERROR, f"{type(error).__name__}: {error}".encode())]


def give_back(producer: Producer, failed: Message, error: Exception) -> None:
    """For confluent-kafka."""
    place = failed.topic(), failed.partition(), failed.offset()
    headers = failed_headers(failed.headers(), *place, error)
    producer.produce(f"{place[0]}.retry", failed.value(), failed.key(), headers=headers)


async def give_back_async(
    producer: AIOKafkaProducer, failed: "ConsumerRecord[bytes, bytes]", error: Exception
) -> None:
    """For aiokafka."""
    headers = failed_headers(
        list(failed.headers), failed.topic, failed.partition, failed.offset, error
    )
    await producer.send_and_wait(f"{failed.topic}.retry", failed.value, failed.key, headers=headers)


class Worker:
    """`do(order)` does it or raises; either way the next one is next."""

    def __init__(self, bootstrap: str, topic: str, group: str, do: Callable[[bytes], None]) -> None:
        self._do = do
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([topic])

    def work(self, seconds: float = 1.0) -> bool:
        """Wait so long for an order; whether there was one."""
        order = self._consumer.poll(seconds)
        if order is None or order.error() is not None:
            return False
        try:
            self._do(order.value() or b"")
        except Exception as error:
            give_back(self._producer, order, error)
            self._producer.flush(30)  # before its offset is committed
        self._consumer.commit(order, asynchronous=False)
        return True

    def close(self) -> None:
        self._consumer.close()
