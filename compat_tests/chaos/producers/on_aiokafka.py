"""An idempotent producer on aiokafka."""

import asyncio
from functools import partial

from aiokafka import AIOKafkaProducer

from compat_tests.chaos.producers.telling import acknowledged, closed, due, failed, order, sent

_PAUSE_S = 0.002


def told(partition: int, number: int, answer: "asyncio.Future[object]") -> None:
    problem = answer.exception()
    if problem is not None:
        failed(partition, number, problem)
    else:
        acknowledged(partition, number, answer.result().offset)  # type: ignore[attr-defined]  # untyped


async def main() -> None:
    asked = order()
    client = AIOKafkaProducer(bootstrap_servers=asked.broker, enable_idempotence=True)
    await client.start()
    for one in due(asked):
        if one is None:
            await asyncio.sleep(_PAUSE_S)
            continue
        partition, number = one
        sent(partition, number)
        answer = await client.send(asked.topic, str(number).encode(), partition=partition)
        answer.add_done_callback(partial(told, partition, number))
    await client.flush()
    await client.stop()
    closed()


if __name__ == "__main__":
    asyncio.run(main())
