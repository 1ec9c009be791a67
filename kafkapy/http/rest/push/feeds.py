"""Where pushed messages come from: a partition, or what a group's member is given.

    positions    the next offset of each partition that is read
    next         one answer's worth of what is there from them on, or nothing after a while
    went         so far it was told: from there on the next answer is

Nothing is read ahead: who is pushed to is asked for more by the next call. What of an answer was
not told yet may be let go (held.py), and comes again.
"""

from typing import Final, NamedTuple

import trio

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import PASSING, KafkaError
from kafkapy.http.kafka.unread import Unread

_BYTES: Final = 256 << 10
_WAIT_MS: Final = 1000
# With several brokers the quickest waits for the slowest.
_WAIT_FOR_EACH_MS: Final = 200
_RETRY_SECONDS: Final = 0.05
# A member that was given nothing is told so by its next beat.
_NOTHING_SECONDS: Final = 0.2


class Some(NamedTuple):
    """Of one partition, in order."""

    where: TopicPartition
    unread: Unread


class Feed:
    """`kafka` is used by nobody else, as a context manager (kafka/client.py)."""

    def __init__(self, kafka: Kafka, positions: dict[TopicPartition, int]) -> None:
        self.kafka = kafka
        self.positions = positions

    async def next(self) -> list[Some]:
        asked = dict(self.positions)
        leaders: dict[int, dict[TopicPartition, int]] = {}
        for where, offset in asked.items():
            leader = self.kafka.partition(where.topic, where.partition).leader
            leaders.setdefault(leader, {})[where] = offset
        if not leaders or -1 in leaders:
            await trio.sleep(_RETRY_SECONDS if leaders else _NOTHING_SECONDS)
            leaders.pop(-1, None)
        wait_ms = _WAIT_MS if len(leaders) == 1 else _WAIT_FOR_EACH_MS
        answers: dict[TopicPartition, Unread | KafkaError] = {}

        async def one(leader: int, offsets: dict[TopicPartition, int]) -> None:
            try:
                answers.update(
                    await records.fetch_from(
                        self.kafka, leader, offsets, max_bytes=_BYTES, max_wait_ms=wait_ms
                    )
                )
            except KafkaError as failed:
                answers.update(dict.fromkeys(offsets, failed))

        async with trio.open_nursery() as nursery:
            for leader, offsets in leaders.items():
                nursery.start_soon(one, leader, offsets)
        return await self._taken(asked, answers)

    def went(self, where: TopicPartition, since: int, upto: int) -> bool:
        """False: what was read since then is somebody else's now."""
        if self.positions.get(where) != since:
            return False
        self.positions[where] = upto
        return True

    async def _taken(
        self,
        asked: dict[TopicPartition, int],
        answers: dict[TopicPartition, Unread | KafkaError],
    ) -> list[Some]:
        found, has_failed = [], False
        for where, got in answers.items():
            if isinstance(got, KafkaError):
                has_failed = True
                await self._failed(where, got)
            elif self.positions.get(where) == asked[where] and not got.is_done:
                found.append(Some(where, got))
        if has_failed:
            await trio.sleep(_RETRY_SECONDS)
        return found

    async def _failed(self, where: TopicPartition, failed: KafkaError) -> None:
        """What may pass is asked again; what was deleted in between is gone."""
        if failed.code == ErrorCode.OFFSET_OUT_OF_RANGE and where in self.positions:
            starts = await records.list_offsets(
                self.kafka, where.topic, {where.partition: records.START}
            )
            if starts[where.partition] <= self.positions[where]:
                raise failed
            self.positions[where] = starts[where.partition]
        elif failed.code not in PASSING:
            raise failed
