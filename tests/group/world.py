"""One shard of groups on a clock turned by hand, and the members that talk to it."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from kafkapy.coordinator.registry import Registry
from kafkapy.coordinator.shard import Shard
from kafkapy.coordinator.shard_records import ShardSettings
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.group.classic.events import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    OfferedProtocol,
    SyncGroup,
)
from kafkapy.group.consumer.events import ConsumerHeartbeat
from kafkapy.group.embedded import Subscription, write_subscription
from kafkapy.group.events import TopicsChanged
from kafkapy.group.machine import GroupMachine
from kafkapy.group.offsets.events import (
    CommitOffsets,
    Committer,
    FetchedOffset,
    FetchOffsets,
    OffsetToCommit,
)
from kafkapy.group.records import KEY_CLASSES, written_version
from kafkapy.group.settings import GroupSettings
from kafkapy.group.state import GroupState
from kafkapy.group.topics import Topic
from tests.coordinator.fakes import FakeClock, MemoryLog

GROUP = "shoppers"
NOBODY = Committer()


@dataclass
class FakeTopics:
    topics: dict[str, Topic] = field(default_factory=dict)
    version: int = 0
    made: int = 0

    def create(self, name: str, partitions: int, racks: Iterable[Iterable[str]] = ()) -> Topic:
        """A topic with a new id; or one that grew, if it was there."""
        self.version += 1
        self.made += 1
        standing = self.topics.get(name)
        topic_id = standing.topic_id if standing else UUID(int=0x1000 + self.made)
        topic = Topic(name, topic_id, partitions, tuple(frozenset(one) for one in racks))
        self.topics[name] = topic
        return topic

    def delete(self, name: str) -> Topic:
        self.version += 1
        return self.topics.pop(name)

    def named(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def with_id(self, topic_id: UUID) -> Topic | None:
        return next((t for t in self.topics.values() if t.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return list(self.topics)


class Asked:
    """What became of a question: nothing yet, an answer, or a refusal."""

    def __init__(self) -> None:
        self.replies: list[Any] = []

    def __call__(self, reply: Any) -> None:
        self.replies.append(reply)
        assert len(self.replies) == 1, ("answered twice", self.replies)

    @property
    def is_waiting(self) -> bool:
        return not self.replies

    @property
    def reply(self) -> Any:
        assert self.replies, "no answer yet"
        return self.replies[0]

    @property
    def error(self) -> ErrorCode:
        reply = self.reply
        if isinstance(reply, Refused):
            return reply.code
        return getattr(reply, "error", ErrorCode.NONE)


class CheckedMachine(GroupMachine):
    """Fails the test if deciding changed anything, or if a heartbeat at rest is answered
    otherwise than at length."""

    def decide(self, event: Any, now: Instant, wall: Instant) -> Step[Any, Any]:
        before = snapshot(self.state)
        try:
            step = super().decide(event, now, wall)
        finally:
            assert snapshot(self.state) == before, ("decide changed the state", event)
        if isinstance(event, ConsumerHeartbeat) and not step.records:
            try:
                at_length = self.decide_at_length(event, now, wall)
            except Refused as refused:
                raise AssertionError(("answered, and refused at length", event)) from refused
            assert step == at_length, event
        return step


class World:
    """`restart` is a new leader: what was not written is gone. Where a state is too large to be
    compared at every decision, `kind` is GroupMachine."""

    def __init__(
        self,
        *,
        commits_at_once: bool = True,
        kind: type[GroupMachine] = CheckedMachine,
        **settings: Any,
    ) -> None:
        self.kind = kind
        self.clock = FakeClock(1_700_000_000_000)
        self.topics = FakeTopics()
        self.settings = GroupSettings(**settings)
        self.log = MemoryLog(commits_at_once=commits_at_once)
        self.codec = Registry(KEY_CLASSES, written_version)
        self.ids = 0
        self.shard = self._new_shard()

    def _new_shard(self) -> Shard[Any, Any]:
        machine = self.kind(lambda: self.settings, lambda: self.topics)
        shard: Shard[Any, Any] = Shard(
            TopicPartition("__consumer_offsets", 0),
            0,
            self.log,
            machine,
            self.codec,
            self.clock,
            ShardSettings(),
        )
        shard.load()
        self.clock.run_soon()
        return shard

    def restart(self) -> None:
        self.shard.close()
        self.shard = self._new_shard()

    def configure(self, **settings: Any) -> None:
        self.settings = replace(self.settings, **settings)

    @property
    def machine(self) -> GroupMachine:
        machine = self.shard.machine
        assert isinstance(machine, GroupMachine)
        return machine

    @property
    def state(self) -> GroupState:
        return self.machine.state

    def group(self, group_id: str = GROUP) -> Any:
        return self.state.groups[group_id]

    def ask(self, event: Any) -> Asked:
        asked = Asked()
        self.shard.submit(event, asked)
        return asked

    def fresh_id(self, prefix: str = "id") -> str:
        self.ids += 1
        return f"{prefix}-{self.ids}"

    def grow(self, name: str, partitions: int) -> None:
        self.topics.create(name, partitions)
        self.shard.submit(TopicsChanged(frozenset({name})))

    def replayed(self) -> GroupState:
        """The state that somebody who only has the log comes to."""
        clock = FakeClock(self.clock.now())
        machine = GroupMachine(lambda: self.settings, lambda: self.topics)
        shard: Shard[Any, Any] = Shard(
            TopicPartition("__consumer_offsets", 0),
            0,
            self.log,
            machine,
            self.codec,
            clock,
            ShardSettings(),
        )
        shard.load()
        clock.run_soon()
        shard.close()
        return machine.state

    # What clients without a member do

    def commit(
        self, topic: str, partition: int, offset: int, by: Committer = NOBODY, **more: Any
    ) -> Asked:
        found = self.topics.named(topic)
        one = OffsetToCommit(
            TopicPartition(topic, partition),
            offset,
            -1,
            more.pop("metadata", ""),
            found.topic_id if found else None,
        )
        return self.ask(CommitOffsets(more.pop("group", GROUP), by, (one,), **more))

    def fetch(self, topic: str, partition: int, **more: Any) -> FetchedOffset:
        group = more.pop("group", GROUP)
        asked = self.ask(FetchOffsets(group, (TopicPartition(topic, partition),), **more))
        fetched: FetchedOffset
        (fetched,) = asked.reply.offsets
        return fetched

    def committed(self, topic: str, partition: int, **more: Any) -> int:
        fetched = self.fetch(topic, partition, **more)
        return -1 if fetched.committed is None else fetched.committed.offset


def snapshot(state: GroupState) -> Any:
    return deepcopy((state.groups, vars(state.offsets), state.topics_to_forget))


def subscription(*topics: str, **more: Any) -> bytes:
    return write_subscription(Subscription(topics=topics, **more), 3)


@dataclass
class ClassicClient:
    """A member of the classic protocol that knows what it was told last."""

    world: World
    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    protocols: tuple[OfferedProtocol, ...] = ()
    protocol_type: str = "consumer"
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 30_000
    group_id: str = GROUP
    can_skip_assignment: bool = True
    needs_known_member_id: bool = True
    waiting: Asked | None = None

    def join(self, **changes: Any) -> Asked:
        """One JoinGroup request."""
        event = JoinGroup(
            group_id=self.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            client_id="client",
            client_host="/127.0.0.1",
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            protocol_type=self.protocol_type,
            protocols=self.protocols or (OfferedProtocol("range", subscription("orders")),),
            fresh_member_id=self.world.fresh_id(self.instance_id or "client"),
            needs_known_member_id=self.needs_known_member_id,
            can_skip_assignment=self.can_skip_assignment,
        )
        self.waiting = self.world.ask(event._replace(**changes))
        return self.waiting

    def start(self) -> Asked:
        """Join, with the second request where an id is required first."""
        asked = self.join()
        if not asked.is_waiting and asked.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = asked.reply.member_id
            asked = self.join()
        return asked

    def joined(self) -> Any:
        """Take note of the answer to the Join that waited."""
        assert self.waiting is not None
        reply = self.waiting.reply
        assert reply.error is ErrorCode.NONE, reply
        self.member_id = reply.member_id
        self.generation = reply.generation
        return reply

    def sync(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> Asked:
        event = SyncGroup(
            group_id=self.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            generation=self.generation,
            protocol_type=None,
            protocol_name=None,
            assignments=tuple((assignments or {}).items()),
        )
        return self.world.ask(event._replace(**changes))

    def heartbeat(self, **changes: Any) -> ErrorCode:
        event = Heartbeat(self.group_id, self.member_id, self.instance_id, self.generation)
        return self.world.ask(event._replace(**changes)).error

    def leave(self) -> Asked:
        leaving = LeavingMember(self.member_id, self.instance_id)
        return self.world.ask(LeaveGroup(self.group_id, (leaving,)))

    def commit(self, topic: str, partition: int, offset: int, **more: Any) -> Asked:
        by = Committer(self.member_id, self.generation, self.instance_id)
        return self.world.commit(topic, partition, offset, by, group=self.group_id, **more)


def stable_group(world: World, size: int = 2, **fields: Any) -> list[ClassicClient]:
    """Members that joined, were assigned "for <id>" each, and synced; the first one leads."""
    clients = [ClassicClient(world, **fields) for _ in range(size)]
    for client in clients:
        client.start()
    world.clock.advance(world.settings.initial_rebalance_delay_ms * 2)
    finish_rebalance(clients)
    return clients


def finish_rebalance(clients: list[ClassicClient]) -> None:
    for client in clients:
        client.joined()
    (leader,) = [c for c in clients if c.waiting and c.waiting.reply.leader == c.member_id]
    followers = [client for client in clients if client is not leader]
    syncs = [client.sync() for client in followers]
    assert all(sync.is_waiting for sync in syncs)
    assignments = {client.member_id: f"for {client.member_id}".encode() for client in clients}
    syncs.append(leader.sync(assignments))
    for client, sync in zip([*followers, leader], syncs, strict=True):
        assert sync.error is ErrorCode.NONE
        assert sync.reply.assignment == f"for {client.member_id}".encode()


@dataclass
class ConsumerClient:
    """A member of the consumer protocol: reconciles at once unless `is_slow`."""

    world: World
    member_id: str = ""
    instance_id: str | None = None
    epoch: int = 0
    topics: tuple[str, ...] | None = ("orders",)
    regex: str | None = None
    assignor: str | None = None
    rack: str | None = None
    group_id: str = GROUP
    rebalance_timeout_ms: int = 30_000
    owned: dict[UUID, frozenset[int]] = field(default_factory=dict)
    interval_ms: int = 0
    is_slow: bool = False
    told: dict[UUID, frozenset[int]] | None = None

    def __post_init__(self) -> None:
        self.member_id = self.member_id or self.world.fresh_id("member")

    def event(self, **changes: Any) -> ConsumerHeartbeat:
        is_full = self.epoch == 0
        event = ConsumerHeartbeat(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            client_id="client",
            client_host="/127.0.0.1",
            fresh_member_id="generated",
            instance_id=self.instance_id,
            rack_id=self.rack if is_full else None,
            rebalance_timeout_ms=self.rebalance_timeout_ms if is_full else -1,
            subscribed_topics=self.topics if is_full else None,
            subscribed_regex=self.regex if is_full else None,
            server_assignor=self.assignor if is_full else None,
            owned={} if is_full else dict(self.owned),
        )
        return event._replace(**changes)

    def beat(self, **changes: Any) -> Asked:
        """One heartbeat; the client does what it is told before the next."""
        if self.told is not None and not self.is_slow:
            self.owned = self.told
        asked = self.world.ask(self.event(**changes))
        if asked.error is ErrorCode.NONE:
            self.epoch = asked.reply.member_epoch
            self.interval_ms = asked.reply.heartbeat_interval_ms
            if asked.reply.assignment is not None:
                self.told = dict(asked.reply.assignment)
                # What it need not revoke it owns as soon as it hears of it.
                if not self.is_slow and set(self.owned) <= set(self.told):
                    self.owned = self.told
        return asked

    def leave(self, epoch: int = -1) -> Asked:
        return self.beat(member_epoch=epoch)

    def commit(self, topic: str, partition: int, offset: int, **more: Any) -> Asked:
        epoch = more.pop("epoch", self.epoch)
        by = Committer(self.member_id, epoch, self.instance_id)
        return self.world.commit(topic, partition, offset, by, group=self.group_id, **more)

    def partitions(self, topic: str = "orders") -> set[int]:
        found = self.world.topics.named(topic)
        assert found is not None
        return set((self.told or {}).get(found.topic_id, ()))


def settle(world: World, clients: Iterable[ConsumerClient], rounds: int = 6) -> None:
    """Heartbeats until everybody has what it should have."""
    for _ in range(rounds):
        world.clock.advance(1_000)
        for client in clients:
            client.beat()
