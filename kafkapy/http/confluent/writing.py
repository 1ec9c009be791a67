"""Records written, whatever the form they came in; one batch a partition."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.messages import Draft, Partitioner, batches, drafts
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.writing import write


class Done(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    draft: Draft


class Writing:
    """One per site. Messages are those of /api/v1, with bytes where they are known already."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._partitioner = Partitioner()

    async def drafts(
        self, kafka: Kafka, topic: str, messages: Sequence[Any], defaults: Mapping[str, Any]
    ) -> list[Draft]:
        """Problem if one of them is none, or does not fit its schema."""
        return drafts((await self._schemas.encoded(kafka, topic, messages, defaults)).messages)

    async def write(
        self, kafka: Kafka, topic: str, wanted: Sequence[Draft]
    ) -> list[Done | KafkaError]:
        """What became of each, in their order."""
        partitions = len(kafka.topic(topic).partitions)
        now = int(time.time() * 1000)
        places = self._partitioner.places(wanted, partitions)
        outcome = await write(kafka, topic, batches(wanted, places, now))
        nth = dict.fromkeys(outcome, 0)
        found: list[Done | KafkaError] = []
        for draft, place in zip(wanted, places, strict=True):
            done = outcome[place]
            if isinstance(done, KafkaError):
                found.append(done)
                continue
            own = draft.record.timestamp if draft.record.timestamp >= 0 else now
            at = own if done.timestamp < 0 else done.timestamp
            found.append(Done(place, done.offset + nth[place], at, draft))
            nth[place] += 1
        return found


def number_of_partition(said: Any) -> int | None:
    if said is None or (isinstance(said, int) and not isinstance(said, bool) and said >= 0):
        return said
    raise Problem(400, "a partition is a number from 0 on")
