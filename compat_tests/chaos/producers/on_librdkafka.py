"""An idempotent producer on librdkafka."""

from functools import partial

from confluent_kafka import KafkaError, Message, Producer

from compat_tests.chaos.producers.telling import acknowledged, closed, due, failed, order, sent


def main() -> None:
    asked = order()
    client = Producer(
        {"bootstrap.servers": asked.broker, "enable.idempotence": True, "log_level": 2}
    )

    def told(number: int, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition() or 0, message.offset()
        if error is not None or offset is None:
            failed(partition, number, error)
        else:
            acknowledged(partition, number, offset)

    for one in due(asked):
        if one is not None:
            partition, number = one
            sent(partition, number)
            client.produce(
                asked.topic, str(number), partition=partition, on_delivery=partial(told, number)
            )
        client.poll(0.002 if one is None else 0)
    client.flush()
    closed()


if __name__ == "__main__":
    main()
