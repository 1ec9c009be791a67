"""Batches written, all partitions at once, and what became of each."""

from collections.abc import Mapping

import trio

from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.once.claims import Claim, Written
from kafkapy.http.rest.once.once import Outcome
from kafkapy.protocol.batches.records import NewRecord


async def write(
    kafka: Kafka,
    topic: str,
    packed: Mapping[int, list[NewRecord]],
    claim: Claim | None = None,
) -> Outcome:
    """All partitions at once."""
    outcome: dict[int, Written | KafkaError] = {}

    async def produce(partition: int) -> None:
        producer = None
        if claim is not None:
            producer = (*claim.producer, claim.sequences[partition])
        try:
            done = await records.produce(
                kafka, topic, partition, packed[partition], producer=producer
            )
            outcome[partition] = Written(done.offset, done.timestamp)
        except KafkaError as failed:
            outcome[partition] = failed

    async with trio.open_nursery() as nursery:
        for partition in packed:
            nursery.start_soon(produce, partition)
    return outcome
