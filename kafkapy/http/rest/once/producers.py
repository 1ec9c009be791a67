"""Producer ids for claims: one of its own for each that is open, used again once it is done.

A partition's leader recognises a batch that it has by its producer's last sequences. So the
producer of an open claim writes nothing else, on any node, until who claimed with it has written
the claim's batches and said so. In all other cases it is never used again: another node may write
by any claim that it has read.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import check
from kafkapy.http.rest.once.claims import Producer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import MAX_SEQUENCE

_MOST_IDLE: Final = 64
# Of partitions that one producer has written to.
_MOST_PLACES: Final = 1000

Place = tuple[Any, int]  # a topic's id, a partition


class Lease:
    """A producer with the next sequence of each partition."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self._next: dict[Place, int] = {}

    def sequences(self, topic_id: Any, partitions: Iterable[int]) -> dict[int, int]:
        return {one: self._next.get((topic_id, one), 0) for one in partitions}

    def wrote(self, topic_id: Any, counts: Mapping[int, int]) -> None:
        for partition, count in counts.items():
            place = topic_id, partition
            self._next[place] = (self._next.get(place, 0) + count) & MAX_SEQUENCE

    @property
    def is_worn(self) -> bool:
        return len(self._next) > _MOST_PLACES


class Producers:
    """Those of one site that nobody uses."""

    def __init__(self) -> None:
        self._idle: list[Lease] = []

    async def take(self, kafka: Kafka) -> Lease:
        if self._idle:
            return self._idle.pop()
        body = {
            "transactional_id": None,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }

        async def once() -> Any:
            """A node that has no ids left is given some by the controller, in a moment."""
            answer = await kafka.ask(ApiKey.INIT_PRODUCER_ID, body)
            check(answer.error_code, "a producer id")
            return answer

        answer = await kafka.until_it_passes(once)
        return Lease(Producer(answer.producer_id, answer.producer_epoch))

    def give_back(self, lease: Lease) -> None:
        """Only by who claimed with it, and has written all of it."""
        if len(self._idle) < _MOST_IDLE and not lease.is_worn:
            self._idle.append(lease)
