"""A member of a group on kafka-python (members/README.md)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

from compat_tests.members.telling import Asked, order, tell, tell_committed, tell_partitions


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        tell_partitions("revoked", revoked)

    def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        tell_partitions("assigned", assigned)


def commit(client: KafkaConsumer, offsets: dict[TopicPartition, int]) -> None:
    try:
        client.commit({p: OffsetAndMetadata(offset, "", -1) for p, offset in offsets.items()})
    except KafkaError as failure:
        tell("failed", why=repr(failure))
    else:
        tell_committed(offsets)


def main() -> None:
    asked = order()
    is_asked_to_end = Asked()
    client = KafkaConsumer(
        bootstrap_servers=asked["broker"],
        group_id=asked["group"],
        group_instance_id=asked.get("instance"),
        session_timeout_ms=asked["session_ms"],
        heartbeat_interval_ms=300,
        partition_assignment_strategy=(RangePartitionAssignor,),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        metadata_max_age_ms=500,
        fetch_max_wait_ms=50,
        reconnect_backoff_max_ms=500,
    )
    if asked["topics"]:
        client.subscribe(asked["topics"], listener=Listener())
    else:
        client.subscribe(pattern=asked["pattern"], listener=Listener())
    while not is_asked_to_end:
        read: dict[TopicPartition, int] = {}
        try:
            # A join that a poll leaves unfinished starts over in the next one: the others of its
            # group may need a while.
            polled = client.poll(timeout_ms=3000)
        except KafkaError as failure:
            tell("failed", why=repr(failure))
            continue
        for partition, records in polled.items():
            for record in records:
                value = record.value.decode()
                tell("record", t=partition.topic, p=partition.partition, o=record.offset, v=value)
                read[partition] = record.offset + 1
        if read:
            commit(client, read)
    client.close()
    tell("closed")


if __name__ == "__main__":
    main()
