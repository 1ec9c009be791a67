"""A member of a streams group that knows what it was told last, and topologies for it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kafkapy.core.errors import ErrorCode
from kafkapy.group.offsets.events import Committer
from kafkapy.group.records.streams import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicConfig,
    TopicInfo,
)
from kafkapy.group.streams.configure import StatusCode
from kafkapy.group.streams.events import StreamsHeartbeat
from kafkapy.group.streams.member import NOTHING, Target, Task
from tests.group.world import GROUP, Asked, World


def info(name: str, partitions: int = 0, **configs: str) -> TopicInfo:
    return TopicInfo(
        name=name,
        partitions=partitions,
        replication_factor=0,
        topic_configs=tuple(TopicConfig(key=k, value=v) for k, v in configs.items()),
    )


def part(
    name: str,
    sources: Iterable[str] = (),
    *,
    changelogs: Iterable[TopicInfo] = (),
    sinks: Iterable[str] = (),
    repartitions: Iterable[TopicInfo] = (),
    together: Iterable[tuple[tuple[int, ...], tuple[int, ...]]] = (),
) -> Subtopology:
    """`together`: indexes of sources and of repartition topics that are read together."""
    return Subtopology(
        subtopology_id=name,
        source_topics=tuple(sources),
        source_topic_regex=(),
        state_changelog_topics=tuple(changelogs),
        repartition_sink_topics=tuple(sinks),
        repartition_source_topics=tuple(repartitions),
        copartition_groups=tuple(
            CopartitionGroup(
                source_topics=some, source_topic_regex=(), repartition_source_topics=others
            )
            for some, others in together
        ),
    )


def topology(*parts: Subtopology, epoch: int = 0) -> StreamsGroupTopologyValue:
    return StreamsGroupTopologyValue(epoch=epoch, subtopologies=parts)


PLAIN = topology(part("0", ["orders"]))
COUNTING = topology(part("0", ["orders"], changelogs=[info("counts-changelog")]))


@dataclass
class StreamsClient:
    """Does what it is told at once, unless `is_slow`."""

    world: World
    member_id: str = ""
    process_id: str = ""
    topology: StreamsGroupTopologyValue = PLAIN
    group_id: str = GROUP
    epoch: int = 0
    has: Target = NOTHING
    told: Target = NOTHING
    is_slow: bool = False
    statuses: list[StatusCode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.member_id = self.member_id or self.world.fresh_id("member")
        self.process_id = self.process_id or f"process-of-{self.member_id}"

    def event(self, **changes: Any) -> StreamsHeartbeat:
        is_full = self.epoch == 0
        event = StreamsHeartbeat(
            self.group_id,
            self.member_id,
            self.epoch,
            "client",
            "/127.0.0.1",
            rebalance_timeout_ms=30_000 if is_full else -1,
            topology=self.topology if is_full else None,
            owned=NOTHING if is_full else self.has,
            process_id=self.process_id if is_full else None,
        )
        return event._replace(**changes)

    def beat(self, **changes: Any) -> Asked:
        if not self.is_slow:
            self.has = self.told
        asked = self.world.ask(self.event(**changes))
        if asked.error is ErrorCode.NONE:
            self.hear(asked.reply)
        return asked

    def hear(self, reply: Any) -> None:
        self.epoch = reply.member_epoch
        self.statuses = [one.code for one in reply.statuses]
        if reply.tasks is not None:
            self.told = reply.tasks
            # What it need not give up it has as soon as it hears of it.
            if not self.is_slow and active(self.has) <= active(self.told):
                self.has = self.told

    def start_over(self) -> None:
        self.epoch, self.has, self.told = 0, NOTHING, NOTHING

    def leave(self, **changes: Any) -> Asked:
        return self.beat(member_epoch=-1, owned=None, **changes)

    def commit(self, topic: str, partition: int, offset: int, **more: Any) -> Asked:
        by = Committer(self.member_id, more.pop("epoch", self.epoch), None)
        return self.world.commit(topic, partition, offset, by, group=self.group_id, **more)


def active(target: Target) -> set[Task]:
    return {(one, p) for one, partitions in target.active.items() for p in partitions}


def standby(target: Target) -> set[Task]:
    return {(one, p) for one, partitions in target.standby.items() for p in partitions}


def settle(world: World, clients: Iterable[StreamsClient], rounds: int = 6) -> None:
    """Heartbeats until everybody has what it should have."""
    for _ in range(rounds):
        world.clock.advance(1_000)
        for client in clients:
            client.beat()
