"""Random histories of a group: clients of both protocols, faults, and what must always hold.

a partition is never in the hands of two members at one time
deciding changes nothing (CheckedMachine), replaying the log gives the same state
left alone, everybody has what it should, and each partition has one owner
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.classic.events import OfferedProtocol
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.embedded import (
    Assignment,
    EmbeddedPartitions,
    read_assignment,
    read_subscription,
    write_assignment,
)
from kafkapy.group.settings import Bounded
from kafkapy.group.state import GroupState
from tests.group.world import GROUP, Asked, ClassicClient, ConsumerClient, World, subscription

TOPICS = ("orders", "returns")
NONE = ErrorCode.NONE
START_OVER = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


@dataclass
class Consumer(ConsumerClient):
    """What it is given it owns at once; what it is to give up it owns until `act`."""

    is_gone: bool = False

    def step(self, *, is_lost: bool = False, says_what_it_owns: bool = True) -> None:
        owned = dict(self.owned) if says_what_it_owns or self.epoch == 0 else None
        asked = self.world.ask(self.event(owned=owned))
        if asked.is_waiting or is_lost:
            return
        if asked.error is NONE:
            self.hear(asked.reply)
        elif asked.error in START_OVER:
            self.start_over()

    def hear(self, reply: Any) -> None:
        self.epoch = reply.member_epoch
        if reply.assignment is not None:
            self.told = dict(reply.assignment)
            for topic_id, numbers in self.told.items():
                self.owned[topic_id] = self.owned.get(topic_id, frozenset()) | numbers

    def start_over(self) -> None:
        self.epoch, self.owned, self.told = 0, {}, None
        if self.instance_id is not None:
            self.member_id = self.world.fresh_id("life")

    def act(self) -> None:
        if self.told is not None:
            self.owned = {topic: numbers for topic, numbers in self.told.items() if numbers}

    def hands(self) -> set[tuple[UUID, int]]:
        return {(topic, number) for topic, numbers in self.owned.items() for number in numbers}

    def go(self, *, for_a_while: bool) -> None:
        for_a_while = for_a_while and self.instance_id is not None
        if self.epoch > 0:
            self.world.ask(self.event(member_epoch=-2 if for_a_while else -1))
        self.is_gone = True
        self.owned = {}


@dataclass
class Classic(ClassicClient):
    """Eager (gives everything up before it rejoins) or cooperative."""

    is_eager: bool = True
    topics: tuple[str, ...] = TOPICS
    held: set[TopicPartition] = field(default_factory=set)
    syncing: Asked | None = None
    joined_reply: Any = None
    is_gone: bool = False

    def step(self) -> None:
        if self.waiting is not None:
            self._hear_join()
        elif self.syncing is not None:
            self._hear_sync()
        elif self.joined_reply is not None:
            self._sync()
        elif self.generation < 0 or (error := self.heartbeat()) is ErrorCode.REBALANCE_IN_PROGRESS:
            self._join()
        elif error in START_OVER:
            self.start_over()

    def start_over(self) -> None:
        self.member_id, self.generation, self.held = "", -1, set()
        self.waiting = self.syncing = self.joined_reply = None

    def go(self) -> None:
        if self.member_id:
            self.leave()
        self.is_gone = True
        self.held = set()

    def _join(self) -> None:
        if self.is_eager:
            self.held = set()
        owned: dict[str, list[int]] = {}
        for partition in sorted(self.held):
            owned.setdefault(partition.topic, []).append(partition.partition)
        metadata = subscription(
            *self.topics,
            owned_partitions=tuple(
                EmbeddedPartitions(topic=name, partitions=tuple(numbers))
                for name, numbers in owned.items()
            ),
        )
        self.protocols = (OfferedProtocol("sticky", metadata),)
        self.join()

    def _hear_join(self) -> None:
        assert self.waiting is not None
        if self.waiting.is_waiting:
            return
        asked, self.waiting = self.waiting, None
        if asked.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = asked.reply.member_id
            self._join()
        elif asked.error is NONE:
            self.joined_reply = asked.reply
            self.member_id, self.generation = asked.reply.member_id, asked.reply.generation
        elif asked.error in START_OVER:
            self.start_over()
        else:
            self.generation = -1

    def _sync(self) -> None:
        reply, self.joined_reply = self.joined_reply, None
        assignments = {}
        if reply.leader == self.member_id and not reply.skip_assignment:
            assignments = self._assign(reply)
        self.syncing = self.sync(assignments)

    def _hear_sync(self) -> None:
        assert self.syncing is not None
        if self.syncing.is_waiting:
            return
        asked, self.syncing = self.syncing, None
        if asked.error is NONE:
            found = read_assignment(asked.reply.assignment)
            self.held = {
                TopicPartition(one.topic, number)
                for one in (found.assigned_partitions if found else ())
                for number in one.partitions
            }
        elif asked.error in START_OVER:
            self.start_over()
        else:
            self.generation = -1

    def _assign(self, reply: Any) -> dict[str, bytes]:
        """Everything to somebody; of a cooperative group only what is in nobody's hands."""
        members = [member.member_id for member in reply.members]
        taken: set[TopicPartition] = set()
        shares: dict[str, set[TopicPartition]] = {name: set() for name in members}
        for member in reply.members:
            found = read_subscription(member.metadata)
            assert found is not None
            mine = {
                TopicPartition(one.topic, number)
                for one in found.owned_partitions
                for number in one.partitions
            }
            shares[member.member_id] |= mine - taken
            taken |= mine
        every = [
            TopicPartition(name, number)
            for name, topic in sorted(self.world.topics.topics.items())
            for number in range(topic.partition_count)
        ]
        for partition in every:
            if partition not in taken:
                least = min(members, key=lambda name: len(shares[name]))
                shares[least].add(partition)
        return {name: _encoded(share) for name, share in shares.items()}

    def hands(self) -> set[tuple[UUID, int]]:
        found = set()
        for partition in self.held:
            topic = self.world.topics.named(partition.topic)
            if topic is not None:
                found.add((topic.topic_id, partition.partition))
        return found


def _encoded(share: set[TopicPartition]) -> bytes:
    owned: dict[str, list[int]] = {}
    for partition in sorted(share):
        owned.setdefault(partition.topic, []).append(partition.partition)
    return write_assignment(
        Assignment(
            assigned_partitions=tuple(
                EmbeddedPartitions(topic=name, partitions=tuple(numbers))
                for name, numbers in owned.items()
            )
        ),
        1,
    )


class History:
    """One history, all of it from a seed."""

    def __init__(self, seed: int, *, kinds: tuple[str, ...]) -> None:
        self.chance = Random(seed)
        self.kinds = kinds
        interval = self.chance.choice([0, 1_000])
        self.world = World(
            consumer_assignment_interval_ms=Bounded(interval, 0, 15_000),
            initial_rebalance_delay_ms=self.chance.choice([0, 3_000]),
        )
        for name in TOPICS:
            self.world.topics.create(name, self.chance.randint(1, 4))
        self.clients: list[Consumer | Classic] = []

    def run(self, steps: int) -> None:
        moves = (
            (self.client_steps, 60),
            (self.client_acts, 30),
            (self.time_passes, 20),
            (self.client_comes, 6),
            (self.client_goes, 4),
            (self.subscription_changes, 2),
            (self.topic_grows, 2),
            (self.leader_changes, 2),
            (self.log_refuses, 2),
            (self.somebody_commits, 6),
        )
        for _ in range(steps):
            (move,) = self.chance.choices(
                [move for move, _ in moves], [weight for _, weight in moves]
            )
            move()
            self.check()

    # What happens

    def client_comes(self) -> None:
        if len(self.clients) >= 5:
            return
        kind = self.chance.choice(self.kinds)
        instance = self.chance.choice([None, None, "a", "b"])
        if instance is not None and any(c.instance_id == instance for c in self.clients):
            instance = None
        if kind == "consumer":
            topics = tuple(self.chance.sample(TOPICS, self.chance.randint(1, 2)))
            by_regex = self.chance.random() < 0.2
            self.clients.append(
                Consumer(
                    self.world,
                    instance_id=instance,
                    topics=None if by_regex else topics,
                    regex="orders|returns" if by_regex else None,
                    assignor=self.chance.choice([None, "range", "uniform"]),
                )
            )
        else:
            is_eager = self.chance.random() < 0.5
            self.clients.append(Classic(self.world, instance_id=instance, is_eager=is_eager))

    def client_steps(self) -> None:
        if not self.clients:
            return
        client = self.chance.choice(self.clients)
        if isinstance(client, Consumer):
            is_lost = self.chance.random() < 0.1
            client.step(is_lost=is_lost, says_what_it_owns=self.chance.random() < 0.7)
        else:
            client.step()

    def client_acts(self) -> None:
        consumers = [client for client in self.clients if isinstance(client, Consumer)]
        if consumers:
            self.chance.choice(consumers).act()

    def client_goes(self) -> None:
        if not self.clients:
            return
        client = self.clients.pop(self.chance.randrange(len(self.clients)))
        if self.chance.random() < 0.3:
            return  # killed: its session will tell
        if isinstance(client, Consumer):
            client.go(for_a_while=self.chance.random() < 0.5)
        else:
            client.go()

    def time_passes(self) -> None:
        self.world.clock.advance(self.chance.choice([10, 500, 1_000, 3_000, 9_000]))

    def subscription_changes(self) -> None:
        consumers = [client for client in self.clients if isinstance(client, Consumer)]
        if not consumers:
            return
        client = self.chance.choice(consumers)
        if client.topics is None or client.epoch == 0:
            return
        client.topics = tuple(self.chance.sample(TOPICS, self.chance.randint(1, 2)))
        asked = self.world.ask(
            client.event(subscribed_topics=client.topics, owned=dict(client.owned))
        )
        if asked.error is NONE:
            client.hear(asked.reply)
        elif asked.error in START_OVER:
            client.start_over()

    def topic_grows(self) -> None:
        name = self.chance.choice(TOPICS)
        topic = self.world.topics.named(name)
        assert topic is not None
        if topic.partition_count < 8:
            self.world.grow(name, topic.partition_count + 1)

    def leader_changes(self) -> None:
        self.world.log.refusal = None
        self.world.restart()

    def log_refuses(self) -> None:
        self.world.log.refusal = self.chance.choice([None, ErrorCode.NOT_ENOUGH_REPLICAS])

    def somebody_commits(self) -> None:
        if self.clients:
            client = self.chance.choice(self.clients)
            client.commit("orders", 0, self.chance.randrange(1000))

    # What holds

    def check(self) -> None:
        group = self.world.state.groups.get(GROUP)
        if isinstance(group, ConsumerGroup):
            self._check_owners(group)
        if self.chance.random() < 0.05:
            check_replay(self.world)

    def _check_owners(self, group: ConsumerGroup) -> None:
        owners: dict[tuple[UUID, int], str] = {}
        for profile, holding in group.members():
            for owned in (holding.assigned, holding.pending_revocation):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        other = owners.setdefault((topic_id, partition), profile.member_id)
                        assert other == profile.member_id, ("two owners", topic_id, partition)
        assert owners == group.owners
        for client in self.clients:
            if not isinstance(client, Consumer) or client.member_id not in group.profiles:
                continue
            for held in client.hands():
                assert owners.get(held) in (client.member_id, None), (
                    "in the hands of another",
                    client.member_id,
                    held,
                )

    # Left alone

    def settle(self) -> None:
        self.world.log.refusal = None
        self.world.clock.advance(60_000)
        for _ in range(80):
            for client in self.clients:
                client.step()
                if isinstance(client, Consumer):
                    client.act()
            self.world.clock.advance(1_000)

    def check_settled(self) -> None:
        check_replay(self.world)
        if not self.clients:
            return
        group: Any = self.world.group()
        owned: dict[tuple[UUID, int], int] = {}
        for client in self.clients:
            for partition in client.hands():
                owned[partition] = owned.get(partition, 0) + 1
        assert set(owned.values()) <= {1}, ("owned twice", owned)
        subscribed = {
            name
            for client in self.clients
            for name in (client.topics if client.topics is not None else TOPICS)
        }
        every = {
            (topic.topic_id, number)
            for name, topic in self.world.topics.topics.items()
            if name in subscribed
            for number in range(topic.partition_count)
        }
        # A classic leader assigns when it rejoins: topics that grew since wait for that.
        if isinstance(group, ConsumerGroup):
            assert set(owned) == every, ("not owned", every - set(owned), "beyond", set(owned))
            assert group.state().value == "Stable", group
        else:
            assert isinstance(group, ClassicGroup)
            assert group.state is ClassicState.STABLE, group.state
            assert len(group.members) == len(self.clients)


def check_replay(world: World) -> None:
    replayed, live = durable(world.replayed()), durable(world.state)
    for group_id, group in live[0].items():
        if group == "rebalancing":
            replayed[0][group_id] = group
    assert replayed == live


def durable(state: GroupState) -> Any:
    """What of a state must survive its leader."""
    groups: dict[str, Any] = {}
    for group_id, group in state.groups.items():
        if isinstance(group, ConsumerGroup):
            groups[group_id] = (
                group.epoch,
                group.metadata_hash,
                group.assignment_epoch,
                group.assignment_timestamp,
                group.profiles,
                group.holdings,
                group.targets,
                group.regexes,
                group.static_members,
                group.owners,
                dict(group.subscribers),
                dict(group.regex_users),
                group.classic_count,
            )
        elif isinstance(group, ClassicGroup) and group.state in (
            ClassicState.STABLE,
            ClassicState.EMPTY,
        ):
            # The record is of the moment the group became so; what happened to the members
            # of a stable group since then (another session timeout) is not in it.
            groups[group_id] = (
                group.state,
                group.generation,
                group.protocol_type,
                group.protocol_name,
                group.leader,
                {name: member.assignment for name, member in group.members.items()},
            )
        else:
            groups[group_id] = "rebalancing"
    offsets = vars(state.offsets)
    committed = {
        group_id: {partition: one._replace(order=0) for partition, one in of_group.items()}
        for group_id, of_group in offsets["_committed"].items()
    }
    return groups, committed
