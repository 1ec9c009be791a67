"""The same as retries.py for FastStream: `give_back_what_fails(broker)`, and handlers are plain.

A handler that raises is done with the message: it is in the retry topic then, with why.
"""

from faststream import ExceptionMiddleware
from faststream.confluent import KafkaBroker, KafkaMessage
from retries import failed_headers


def give_back_what_fails(broker: KafkaBroker) -> None:
    middleware = ExceptionMiddleware()

    @middleware.add_handler(Exception)
    async def give_back(error: Exception, message: KafkaMessage) -> None:
        raw = message.raw_message
        assert not isinstance(raw, tuple), "messages one by one"
        topic = raw.topic() or ""
        place = topic, raw.partition() or 0, raw.offset() or 0
        headers = dict(failed_headers(raw.headers(), *place, error))
        told = {name: value.decode() for name, value in headers.items()}
        await broker.publish(raw.value(), f"{topic}.retry", key=raw.key(), headers=told)

    broker.add_middleware(middleware)
