"""Random histories of a share group: members, operators, topics, fail-overs, and both coordinators.

The share coordinator is the real one, on a log of its own; what the group wants of it goes there
late, in another order, or not at all. What must hold at every step:

epochs never go back, and what a member is told is of what it subscribes to
deciding changes nothing (CheckedMachine), replaying the log gives the same state
of members that are gone nothing is left, nor a timer
left alone, all that somebody subscribes to is read, by subscribers, and is known to the share
coordinator, and that knows nothing else
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.group.admin import DeleteGroup, GroupDeleted
from kafkapy.group.events import TopicsChanged
from kafkapy.group.offsets.events import DeletedTopic, TopicsDeleted
from kafkapy.group.settings import Bounded
from kafkapy.group.share.events import (
    AlterShareOffsets,
    DeleteShareOffsets,
    ShareHeartbeat,
    ShareStateDeleted,
    ShareStateInitialized,
    ShareStateToDelete,
    StateToInitialize,
)
from kafkapy.group.share.group import ShareGroup
from kafkapy.group.share.member import Target
from kafkapy.group.topics import TopicPartitions
from kafkapy.share.coordinator import events as states
from kafkapy.share.coordinator.machine import ShareMachine
from kafkapy.share.coordinator.state import ShareKey
from tests.group.world import GROUP, FakeTopics, World

NAMES = ("jobs", "mails", "orders")
NONE = ErrorCode.NONE
START_OVER = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
RETRY_MS = 30_000


class _Partitions:
    def __init__(self, topics: FakeTopics) -> None:
        self._topics = topics

    def exists(self, topic_id: UUID, partition: int) -> bool:
        topic = self._topics.with_id(topic_id)
        return topic is not None and 0 <= partition < topic.partition_count


@dataclass
class Member:
    world: World
    topics: tuple[str, ...]
    member_id: str = ""
    epoch: int = 0
    told: Target = field(default_factory=dict)
    # Who got no answer says all of it the next time, and hears all of it.
    says_all: bool = False

    def __post_init__(self) -> None:
        self.member_id = self.world.fresh_id("member")

    def event(self, **changes: Any) -> ShareHeartbeat:
        is_full = self.epoch == 0 or self.says_all
        return ShareHeartbeat(
            GROUP,
            self.member_id,
            self.epoch,
            "client",
            "/127.0.0.1",
            subscribed_topics=self.topics if is_full else None,
        )._replace(**changes)


class ShareHistory:
    """One history, all of it from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.world = World(
            share_assignment_interval_ms=Bounded(self.chance.choice([0, 1_000]), 0, 15_000),
            share_initialize_retry_ms=RETRY_MS,
            share_max_size=self.chance.choice([3, 200]),
        )
        self.coordinator = ShareMachine(lambda: _Partitions(self.world.topics), lambda: 2)
        # What the nodes still have to tell one another.
        self.post: list[Callable[[], None]] = []
        self.members: list[Member] = []
        self.last_epochs = (0, 0)
        for name in NAMES[:2]:
            self.world.topics.create(name, self.chance.randint(1, 3))

    def run(self, steps: int) -> None:
        moves = (
            (self.member_beats, 60),
            (self.post_arrives, 40),
            (self.time_passes, 20),
            (self.member_comes, 8),
            (self.member_goes, 9),
            (self.heartbeat_of_another_epoch, 5),
            (self.subscription_changes, 5),
            (self.topic_is_made_or_grows, 4),
            (self.topic_is_deleted, 2),
            (self.leader_changes, 3),
            (self.log_refuses, 2),
            (self.post_is_lost, 4),
            (self.offsets_are_altered, 3),
            (self.offsets_are_deleted, 6),
            (self.group_is_deleted, 2),
        )
        for _ in range(steps):
            (move,) = self.chance.choices(
                [move for move, _ in moves], [weight for _, weight in moves]
            )
            move()
            self.check()

    @property
    def group(self) -> ShareGroup | None:
        group = self.world.state.groups.get(GROUP)
        assert group is None or isinstance(group, ShareGroup)
        return group

    # Members

    def member_beats(self) -> None:
        if self.members:
            self.beat(self.chance.choice(self.members), is_lost=self.chance.random() < 0.1)

    def beat(self, member: Member, *, is_lost: bool = False, **changes: Any) -> None:
        event = member.event(**changes)
        asked = self.world.ask(event)
        if asked.is_waiting:
            return
        reply = asked.reply
        if not isinstance(reply, Refused) and reply.to_initialize is not None:
            self.initialize(reply.to_initialize)
        member.says_all = is_lost or asked.error is not NONE
        if is_lost:
            member.epoch = member.epoch if self.chance.random() < 0.5 else 0
            return
        if asked.error in START_OVER:
            member.epoch, member.told = 0, {}
        elif asked.error is NONE:
            assert reply.member_epoch >= member.epoch, "its epoch went back"
            assert reply.member_epoch > 0
            member.epoch = reply.member_epoch
            if reply.assignment is not None:
                member.told = reply.assignment
                self._check_told(member, reply.assignment)

    def _check_told(self, member: Member, told: Target) -> None:
        for topic_id, partitions in told.items():
            topic = self.world.topics.with_id(topic_id)
            assert partitions
            # A topic that is gone it may read until the targets are made anew.
            assert topic is None or topic.name in member.topics, "not what it subscribes to"
            assert topic is None or max(partitions) < topic.partition_count

    def member_comes(self) -> None:
        if len(self.members) < 5:
            self.members.append(Member(self.world, self._some_topics()))

    def _some_topics(self) -> tuple[str, ...]:
        return tuple(self.chance.sample(NAMES, self.chance.randint(1, 2)))

    def member_goes(self) -> None:
        if not self.members:
            return
        member = self.members.pop(self.chance.randrange(len(self.members)))
        if self.chance.random() < 0.6:
            self.world.ask(member.event(member_epoch=-1))

    def heartbeat_of_another_epoch(self) -> None:
        """Who is at another epoch hears so, and the group is as it was."""
        if not self.members or self.group is None:
            return
        member = self.chance.choice(self.members)
        holding = self.group.holdings.get(member.member_id)
        epoch = self.chance.choice([1, 2, 77, 2**31 - 1])
        known = () if holding is None else (holding.epoch, holding.previous_epoch)
        before = len(self.world.log.batches)
        asked = self.world.ask(member.event(member_epoch=epoch, subscribed_topics=None))
        if member.member_id not in self.group.profiles:
            if len(self.group.profiles) < self.world.settings.share_max_size:
                assert asked.error is ErrorCode.UNKNOWN_MEMBER_ID
        elif epoch not in known:
            assert asked.error is ErrorCode.FENCED_MEMBER_EPOCH
            assert len(self.world.log.batches) == before
        if not asked.is_waiting and not isinstance(asked.reply, Refused):
            member.epoch, member.says_all = asked.reply.member_epoch, True
            if asked.reply.to_initialize is not None:
                self.initialize(asked.reply.to_initialize)

    def subscription_changes(self) -> None:
        if self.members:
            member = self.chance.choice(self.members)
            member.topics = self._some_topics()
            self.beat(member, subscribed_topics=member.topics)

    # The share coordinator, and the way there

    def tell(self, event: Any) -> Any:
        try:
            step = self.coordinator.decide(event, Instant(0), Instant(1))
        except Refused as refused:
            return refused
        for record in (*step.records, *step.notes):
            self.coordinator.apply(record)
        return step.reply

    def initialize(
        self, wanted: StateToInitialize, offset: int = states.NOTHING_READ, *, is_lost: bool = False
    ) -> None:
        def arrive() -> None:
            begun = [
                one._replace(
                    partitions=tuple(
                        partition
                        for partition in one.partitions
                        if not isinstance(
                            self.tell(
                                states.InitializeState(
                                    ShareKey(GROUP, one.topic_id, partition),
                                    wanted.state_epoch,
                                    offset,
                                )
                            ),
                            Refused,
                        )
                    )
                )
                for one in wanted.topics
            ]
            topics = tuple(one for one in begun if one.partitions)
            if topics:
                self.post.append(lambda: self._say(ShareStateInitialized(GROUP, topics)))

        self.post.append(arrive)

    def delete_state(self, topics: Iterable[TopicPartitions]) -> None:
        topics = tuple(topics)

        def arrive() -> None:
            for one in topics:
                for partition in one.partitions:
                    self.tell(states.DeleteState(ShareKey(GROUP, one.topic_id, partition)))
            gone = frozenset(one.topic_id for one in topics)
            self.post.append(lambda: self._say(ShareStateDeleted(GROUP, gone)))

        self.post.append(arrive)

    def _say(self, event: Any) -> None:
        self.world.ask(event)

    def post_arrives(self) -> None:
        if self.post:
            self.post.pop(0)()

    def post_is_lost(self) -> None:
        """The node that was to bring it died."""
        if self.post:
            self.post.pop(self.chance.randrange(len(self.post)))

    # Operators: who waits until the one before is done, or has failed.

    def offsets_are_altered(self) -> None:
        if self.post:
            return
        name = self.chance.choice(NAMES)
        topic = self.world.topics.named(name)
        if topic is None:
            return
        altered = TopicPartitions(topic.topic_id, name, (0,))
        asked = self.world.ask(AlterShareOffsets(GROUP, (altered,)))
        if not asked.is_waiting and isinstance(asked.reply, StateToInitialize):
            assert self.group is not None
            assert self.group.is_empty
            self.initialize(asked.reply, self.chance.randint(0, 9))

    def offsets_are_deleted(self) -> None:
        if self.post:
            return
        topic = self.world.topics.named(self.chance.choice(NAMES))
        if topic is not None:
            asked = self.world.ask(DeleteShareOffsets(GROUP, {topic.topic_id: topic.name}))
            if not asked.is_waiting and isinstance(asked.reply, ShareStateToDelete):
                self.delete_state(asked.reply.topics)

    def group_is_deleted(self) -> None:
        if self.post:
            return
        asked = self.world.ask(DeleteGroup(GROUP))
        if not asked.is_waiting and isinstance(asked.reply, ShareStateToDelete):
            self.delete_state(asked.reply.topics)

    # Topics, time, and the shard

    def topic_is_made_or_grows(self) -> None:
        name = self.chance.choice(NAMES)
        standing = self.world.topics.named(name)
        count = 1 if standing is None else min(standing.partition_count + 1, 5)
        self.world.grow(name, count)

    def topic_is_deleted(self) -> None:
        """The share coordinator hears of it, too, unless it has no leader just then."""
        name = self.chance.choice(NAMES)
        if self.world.topics.named(name) is not None:
            topic = self.world.topics.delete(name)
            if self.chance.random() < 0.7:
                self.tell(states.TopicsDeleted(frozenset({topic.topic_id})))
            self.world.shard.submit(TopicsDeleted((DeletedTopic(name, topic.topic_id),)))
            self.world.shard.submit(TopicsChanged(frozenset({name})))

    def time_passes(self) -> None:
        self.world.clock.advance(self.chance.choice([10, 1_000, 5_000, 20_000]))

    def leader_changes(self) -> None:
        self.world.log.refusal = None
        self.world.restart()

    def log_refuses(self) -> None:
        self.world.log.refusal = self.chance.choice([None, ErrorCode.NOT_ENOUGH_REPLICAS])

    # What holds

    def check(self) -> None:
        group = self.group
        if group is None:
            self.last_epochs = (0, 0)
            return
        epochs = (group.epoch, group.assignment_epoch)
        assert epochs >= self.last_epochs, "an epoch went back"
        assert group.assignment_epoch <= group.epoch
        self.last_epochs = epochs
        assert group.holdings.keys() <= group.profiles.keys()
        assert group.targets.keys() <= group.profiles.keys()
        assert group.subscribers == Counter(
            name for profile in group.profiles.values() for name in profile.subscribed_topics
        )
        for _, holding in group.members():
            assert holding.previous_epoch <= holding.epoch <= group.assignment_epoch
        state = group.state_partitions
        for topic_id, kept in (*state.initializing.items(), *state.initialized.items()):
            assert kept.partitions, ("nothing of it", topic_id)
            assert topic_id not in state.deleting
        for topic_id, kept in state.initializing.items():
            done = state.initialized.get(topic_id)
            assert done is None or not done.partitions & kept.partitions
        timers = self.world.shard.runtime.timers
        for member_id in group.profiles:
            assert timers.due(("session", GROUP, member_id)) is not None, "it may stay for ever"
        if self.chance.random() < 0.05:
            self.check_replay()

    def check_replay(self) -> None:
        replayed, live = durable(self.world.replayed().groups.get(GROUP)), durable(self.group)
        assert replayed == live

    # Left alone

    def settle(self) -> None:
        self.world.log.refusal = None
        for at in range(60):
            for member in self.members:
                self.beat(member)
            while self.post:
                self.post_arrives()
            # Longer than anybody waits before it asks again.
            self.world.clock.advance(1_000 if at % 10 else RETRY_MS)
            self.check()
        self.tell(states.SetMark())
        self.tell(states.SnapshotTheRest(100))

    def check_settled(self) -> None:
        self.check_replay()
        group = self.group
        topics = self.world.topics
        if group is None or group.is_empty:
            self._check_gone()
            return
        assert set(group.profiles) <= {one.member_id for one in self.members}
        subscribed = {name for one in group.profiles.values() for name in one.subscribed_topics}
        every = {
            (topic.topic_id, number)
            for name in subscribed
            if (topic := topics.named(name)) is not None
            for number in range(topic.partition_count)
        }
        read = {
            (topic_id, number)
            for _, holding in group.members()
            for topic_id, numbers in holding.assigned.items()
            for number in numbers
        }
        assert read == every, ("not read", every - read, "beyond", read - every)
        for member in self.members:
            if member.member_id in group.profiles:
                assert member.told == group.holdings[member.member_id].assigned
                self._check_told(member, member.told)
        kept = group.state_partitions
        assert not kept.initializing
        known = {
            (topic_id, number)
            for topic_id, one in kept.initialized.items()
            for number in one.partitions
        }
        assert every <= known
        there = {(key.topic_id, key.partition) for key in self.coordinator.states}
        assert there == known, ("unknown there", known - there, "left there", there - known)
        assert all(topics.with_id(topic_id) is not None for topic_id, _ in known)

    def _check_gone(self) -> None:
        """The group, too, goes: then the share coordinator knows nothing of it any more."""
        for _ in range(5):
            asked = self.world.ask(DeleteGroup(GROUP))
            if isinstance(asked.reply, ShareStateToDelete):
                self.delete_state(asked.reply.topics)
            while self.post:
                self.post_arrives()
        assert asked.error is ErrorCode.GROUP_ID_NOT_FOUND or isinstance(asked.reply, GroupDeleted)
        assert not self.coordinator.states


def durable(group: Any) -> Any:
    """What of it must survive its leader."""
    if group is None:
        return None
    return (
        group.epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assignment_timestamp,
        group.profiles,
        group.holdings,
        group.targets,
        group.state_partitions,
        dict(group.subscribers),
    )
