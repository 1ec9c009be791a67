"""A member of a consumer group, for who is pushed to (KIP-848: the coordinator assigns).

It beats when it is told to (`keep`), by whoever pumps messages: one who takes none for longer than
the group's session is given up by the coordinator, and others get its partitions. A member that was
given up joins anew.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

import trio

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.push.feeds import Feed
from kafkapy.kraft.uuids import uuid_to_text
from kafkapy.protocol.api_keys import ApiKey

_JOINS, _LEAVES = 0, -1
_REBALANCE_MS: Final = 60_000
_LEAVE_SECONDS: Final = 2.0
_GIVEN_UP: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


class Member(Feed):
    """Its positions are those of the partitions that it was given."""

    def __init__(
        self, kafka: Kafka, group: str, topics: Collection[str], member_id: str, start: int
    ) -> None:
        """`start`: START or END, where the group has committed nothing."""
        super().__init__(kafka, {})
        self.group = group
        self.id = member_id
        self.epoch = _JOINS
        self._topics = sorted(topics)
        self._start = start
        self._next_beat = 0.0
        self._beating = trio.Lock()
        # An assignment that is not taken over yet: it is told only once.
        self._assigned: Any = None

    async def keep(self) -> bool:
        """Beat if it is time to. True: what is owned has changed, or the epoch has."""
        if trio.current_time() < self._next_beat and self._assigned is None:
            return False
        return await self.beat()

    async def beat(self) -> bool:
        async with self._beating:
            before = self.epoch, set(self.positions)
            try:
                answer = await self._heartbeat(self.epoch)
            except KafkaError as failed:
                if failed.code not in _GIVEN_UP or self.epoch == _JOINS:
                    raise
                self.positions.clear()
                self._assigned = None
                answer = await self._heartbeat(_JOINS)
            self.epoch = answer.member_epoch
            self._next_beat = trio.current_time() + answer.heartbeat_interval.total_seconds()
            if answer.assignment is not None:
                self._assigned = answer.assignment
            if self._assigned is not None:
                # Whoever waits for it may give up meanwhile, or be refused: then again next time.
                await self._own(self._assigned)
                self._assigned = None
            return before != (self.epoch, set(self.positions))

    async def leave(self) -> None:
        """Without it the others would wait for the session's end."""
        with trio.move_on_after(_LEAVE_SECONDS, shield=True), suppress(KafkaError):
            await self._heartbeat(_LEAVES)

    async def commit(self, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """What was committed: of partitions that it still owns; the others are their next owner's.
        Nothing, if its epoch has changed twice meanwhile: that is tried again some time."""
        for _ in range(2):
            mine = {where: one for where, one in offsets.items() if where in self.positions}
            if not mine:
                break
            try:
                await groups.commit(
                    self.kafka, self.group, mine, member_id=self.id, generation=self.epoch
                )
                return mine
            except KafkaError as failed:
                if failed.code not in (*_GIVEN_UP, ErrorCode.STALE_MEMBER_EPOCH):
                    raise
            await self.beat()
        return {}

    async def _own(self, assignment: Any) -> None:
        """What is taken away is dropped at once, and the coordinator told so."""
        names = {state.id: name for name, state in list(self.kafka.image.topics_by_name.items())}
        given = {
            TopicPartition(names[one.topic_id], partition)
            for one in assignment.topic_partitions
            if one.topic_id in names
            for partition in one.partitions
        }
        for gone in self.positions.keys() - given:
            del self.positions[gone]
        fresh = given - self.positions.keys()
        if fresh:
            committed = await groups.committed(self.kafka, self.group)
            for where in sorted(fresh):
                if where not in committed:
                    ends = await records.list_offsets(
                        self.kafka, where.topic, {where.partition: self._start}, committed=True
                    )
                    committed[where] = ends[where.partition]
                self.positions[where] = committed[where]
        self._next_beat = 0.0

    async def _heartbeat(self, epoch: int) -> Any:
        owned: dict[str, list[int]] = {}
        for topic, partition in self.positions:
            owned.setdefault(topic, []).append(partition)
        body = {
            "group_id": self.group,
            "member_id": self.id,
            "member_epoch": epoch,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout": _REBALANCE_MS if epoch == _JOINS else -1,
            "subscribed_topic_names": self._topics if epoch == _JOINS else None,
            "subscribed_topic_regex": None,
            "server_assignor": None,
            "topic_partitions": [
                {"topic_id": self.kafka.topic(name).id, "partitions": partitions}
                for name, partitions in owned.items()
                if name in self.kafka.image.topics_by_name
            ],
        }
        answer = await self.kafka.ask_coordinator(
            self.group,
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            body,
            lambda answer: int(answer.error_code),
        )
        if answer.error_code:
            raise KafkaError(answer.error_code, self.group, answer.error_message)
        return answer


def member_id_of(kafka: Kafka) -> str:
    """Members name themselves since v1 of the heartbeat."""
    return uuid_to_text(kafka.link.node.rng.uuid())
