"""A member of a group on aiokafka (members/README.md)."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from compat_tests.members.telling import Asked, order, tell, tell_committed, tell_partitions


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        tell_partitions("revoked", revoked)

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        tell_partitions("assigned", assigned)


async def commit(client: AIOKafkaConsumer, offsets: dict[TopicPartition, int]) -> None:
    try:
        await client.commit(offsets)
    except KafkaError as failure:
        tell("failed", why=repr(failure))
    else:
        tell_committed(offsets)


async def main() -> None:
    asked = order()
    is_asked_to_end = Asked()
    client = AIOKafkaConsumer(
        bootstrap_servers=asked["broker"],
        group_id=asked["group"],
        group_instance_id=asked.get("instance"),
        session_timeout_ms=asked["session_ms"],
        heartbeat_interval_ms=300,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        metadata_max_age_ms=500,
        fetch_max_wait_ms=50,
    )
    if asked["topics"]:
        client.subscribe(asked["topics"], listener=Listener())
    else:
        client.subscribe(pattern=asked["pattern"], listener=Listener())
    await client.start()
    while not is_asked_to_end:
        read: dict[TopicPartition, int] = {}
        try:
            polled = await client.getmany(timeout_ms=100)
        except KafkaError as failure:
            tell("failed", why=repr(failure))
            continue
        for partition, records in polled.items():
            for record in records:
                value = record.value.decode()
                tell("record", t=partition.topic, p=partition.partition, o=record.offset, v=value)
                read[partition] = record.offset + 1
        if read:
            await commit(client, read)
    await client.stop()
    tell("closed")


if __name__ == "__main__":
    asyncio.run(main())
