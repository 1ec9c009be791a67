"""Groups change protocol while their members keep running."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.classic.events import LeaveGroup, LeavingMember, OfferedProtocol
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from kafkapy.group.consumer.group import ConsumerGroup, ConsumerGroupState
from kafkapy.group.consumer.member import MemberState
from kafkapy.group.embedded import (
    Assignment,
    EmbeddedPartitions,
    read_assignment,
    write_assignment,
)
from kafkapy.group.settings import Bounded, MigrationPolicy
from tests.group.world import GROUP, ClassicClient, ConsumerClient, World, settle, subscription

NONE = ErrorCode.NONE
REJOIN = ErrorCode.REBALANCE_IN_PROGRESS


@pytest.fixture
def world() -> World:
    made = World(consumer_assignment_interval_ms=Bounded(0, 0, 15_000))
    made.topics.create("orders", 4)
    return made


def assignment(*partitions: int, user_data: bytes | None = None) -> bytes:
    owned = EmbeddedPartitions(topic="orders", partitions=partitions)
    return write_assignment(Assignment(assigned_partitions=(owned,), user_data=user_data), 1)


def partitions_in(data: bytes) -> set[int]:
    found = read_assignment(data)
    assert found is not None
    return {number for one in found.assigned_partitions for number in one.partitions}


class Classic(ClassicClient):
    """A consumer of the classic protocol that revokes before it rejoins, if it is eager."""

    def owned(self, *partitions: int) -> None:
        one = EmbeddedPartitions(topic="orders", partitions=partitions)
        metadata = subscription("orders", owned_partitions=(one,) if partitions else ())
        self.protocols = (OfferedProtocol("cooperative-sticky", metadata),)

    def rejoin(self) -> set[int]:
        """Join and sync with a consumer group; what it is assigned."""
        asked = self.join()
        if asked.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = asked.reply.member_id
            self.join()
        self.joined()
        synced = self.sync()
        assert synced.error is NONE, synced.error
        mine = partitions_in(synced.reply.assignment)
        self.owned(*sorted(mine))
        return mine


def classic_group(world: World, shares: list[tuple[int, ...]]) -> list[Classic]:
    clients = [Classic(world) for _ in shares]
    for client in clients:
        client.owned()
        client.start()
    world.clock.advance(6_000)
    for client in clients:
        client.joined()
    leader, *others = clients
    leader.sync(
        {
            client.member_id: assignment(*share)
            for client, share in zip(clients, shares, strict=True)
        }
    )
    for client, share in zip(clients, shares, strict=True):
        client.sync()
        client.owned(*share)
    assert all(client.heartbeat() is NONE for client in others)
    return clients


def test_a_new_protocols_member_upgrades_the_group_and_the_others_go_on(world: World) -> None:
    old = classic_group(world, [(0, 1), (2, 3)])
    new = ConsumerClient(world)
    new.beat()
    group = world.group()
    assert isinstance(group, ConsumerGroup)
    assert (group.epoch, new.partitions()) == (2, set())
    assert [client.heartbeat() for client in old] == [REJOIN, REJOIN]
    # Each rejoins with what it owns, is told what to keep, and confirms.
    for _ in range(3):
        for client in old:
            if client.heartbeat() is REJOIN:
                client.rejoin()
        new.beat()
    shares = [partitions_in(client.sync().reply.assignment) for client in old]
    assert new.partitions() | shares[0] | shares[1] == {0, 1, 2, 3}
    assert sum(map(len, [new.partitions(), *shares])) == 4
    assert [client.heartbeat() for client in old] == [NONE, NONE]


def test_the_upgrade_survives_the_leader(world: World) -> None:
    old = classic_group(world, [(0, 1), (2, 3)])
    ConsumerClient(world).beat()
    world.restart()
    assert isinstance(world.group(), ConsumerGroup)
    assert old[0].heartbeat() is REJOIN


def test_members_that_wait_are_sent_back_by_the_upgrade(world: World) -> None:
    leader, follower = classic_group(world, [(0, 1), (2, 3)])
    waiting = leader.join()
    ConsumerClient(world).beat()
    assert waiting.error is REJOIN
    assert follower.heartbeat() is REJOIN


def test_an_empty_classic_group_is_replaced_and_keeps_its_offsets(world: World) -> None:
    (client,) = classic_group(world, [(0, 1, 2, 3)])
    client.commit("orders", 0, 5)
    client.leave()
    ConsumerClient(world).beat()
    assert isinstance(world.group(), ConsumerGroup)
    assert isinstance(world.replayed().groups[GROUP], ConsumerGroup)
    assert world.committed("orders", 0) == 5


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_the_upgrade_can_be_disabled(world: World, policy: MigrationPolicy) -> None:
    old = classic_group(world, [(0, 1, 2, 3)])
    world.configure(consumer_migration_policy=policy)
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert old[0].heartbeat() is NONE


def test_groups_that_are_no_consumers_are_not_upgraded(world: World) -> None:
    ClassicClient(world, protocol_type="connect").start()
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND


def test_what_a_custom_assignor_put_into_the_assignment_would_be_lost(world: World) -> None:
    client = Classic(world)
    client.owned()
    client.start()
    world.clock.advance(6_000)
    client.joined()
    client.sync({client.member_id: assignment(0, user_data=b"custom")})
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(world.group(), ClassicGroup)


def test_metadata_nobody_can_read_is_not_upgraded(world: World) -> None:
    ClassicClient(world, protocols=(OfferedProtocol("range", b"\x00"),)).start()
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_classic_member_joins_a_consumer_group(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    assert old.rejoin() == set()
    settle(world, [first], 3)
    assert old.heartbeat() is REJOIN
    assert len(old.rejoin()) == 2
    assert old.heartbeat() is NONE
    assert len(first.partitions()) == 2


def test_a_classic_member_keeps_its_session_with_heartbeats(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world, session_timeout_ms=10_000)
    old.owned()
    old.rejoin()
    for _ in range(4):
        world.clock.advance(6_000)
        first.beat()
        if old.heartbeat() is REJOIN:
            old.rejoin()
    assert old.heartbeat() is NONE
    world.clock.advance(10_000)
    assert old.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_joins_and_does_not_sync_in_its_rebalance_timeout_is_out(world: World) -> None:
    ConsumerClient(world).beat()
    old = Classic(world, rebalance_timeout_ms=20_000, session_timeout_ms=40_000)
    old.owned()
    old.start()
    old.joined()
    world.clock.advance(20_000)
    assert old.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_is_told_to_rejoin_and_does_not_is_out(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world, rebalance_timeout_ms=20_000)
    old.owned()
    old.rejoin()
    heard = []
    for _ in range(6):
        world.clock.advance(5_000)
        first.beat()
        heard.append(old.heartbeat())
    assert heard == [NONE, REJOIN, REJOIN, REJOIN, REJOIN, ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_classic_member_must_speak_the_consumers_protocol(world: World) -> None:
    ConsumerClient(world).beat()
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ClassicClient(world, protocol_type="connect").join().error is wrong
    unreadable = (OfferedProtocol("range", b""),)
    stranger = ClassicClient(world, protocols=unreadable)
    assert stranger.join().error is ErrorCode.MEMBER_ID_REQUIRED  # before it is read
    assert stranger.join(needs_known_member_id=False).error is wrong
    assert stranger.start().error is wrong
    assert ClassicClient(world).join(protocols=()).error is wrong
    old = Classic(world)
    old.owned()
    old.rejoin()
    other = (OfferedProtocol("range", subscription("orders")),)
    assert ClassicClient(world, protocols=other).join().error is wrong
    world.configure(consumer_migration_policy=MigrationPolicy.DISABLED)
    assert Classic(world).join().error is wrong


def test_the_two_protocols_do_not_mix_in_one_member(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    classic = ClassicClient(world, member_id=first.member_id, generation=1)
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert classic.heartbeat() is unknown
    assert classic.sync().error is unknown


def test_an_administrator_removes_any_member_with_leave_group(world: World) -> None:
    first, second = ConsumerClient(world), ConsumerClient(world, instance_id="b")
    settle(world, [first, second], 2)
    leaving = (LeavingMember(first.member_id, None), LeavingMember("", "b"))
    answers = world.ask(LeaveGroup(GROUP, leaving)).reply.members
    assert [one.error for one in answers] == [NONE, NONE]
    assert world.group().is_empty


def test_a_classic_members_requests_are_checked(world: World) -> None:
    ConsumerClient(world).beat()
    old = Classic(world)
    old.owned()
    old.rejoin()
    assert old.heartbeat(generation=99) is ErrorCode.ILLEGAL_GENERATION
    assert old.sync(generation=99).error is ErrorCode.ILLEGAL_GENERATION
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert old.sync(protocol_type="connect").error is wrong
    assert old.sync(protocol_name="range").error is wrong


def test_commits_of_classic_members_in_a_consumer_group(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    old.rejoin()
    assert old.commit("orders", 0, 1).reply.errors == (NONE,)
    old.generation += 1
    assert old.commit("orders", 0, 1).error is ErrorCode.ILLEGAL_GENERATION


def test_when_only_classic_members_are_left_the_group_is_classic_again(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = [Classic(world) for _ in range(2)]
    for client in old:
        client.owned()
        client.rejoin()
    settle(world, [first], 2)
    for client in old:
        client.rejoin()
    epoch = world.group().epoch
    first.leave()
    group = world.group()
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation) == (ClassicState.PREPARING_REBALANCE, epoch)
    assert [client.heartbeat(generation=epoch) for client in old] == [REJOIN, REJOIN]
    for client in old:
        client.join()
    for client in old:
        client.joined()
    assert {client.generation for client in old} == {epoch + 1}
    replayed = world.replayed().groups[GROUP]
    assert isinstance(replayed, ClassicGroup)
    assert set(replayed.members) == {client.member_id for client in old}


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.UPGRADE])
def test_the_downgrade_can_be_disabled(world: World, policy: MigrationPolicy) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    old.rejoin()
    world.configure(consumer_migration_policy=policy)
    first.leave()
    assert isinstance(world.group(), ConsumerGroup)


def test_without_a_downgrade_classic_members_share_what_the_last_other_one_left(
    world: World,
) -> None:
    """Apache Kafka 4.3.1 tells them nothing, and those partitions are read by nobody."""
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    old.rejoin()
    settle(world, [first], rounds=2)
    assert old.rejoin() == {2, 3}
    world.configure(consumer_migration_policy=MigrationPolicy.UPGRADE)
    first.leave()
    assert old.heartbeat() is REJOIN
    assert old.rejoin() == {0, 1, 2, 3}
    assert old.heartbeat() is NONE
    assert world.group().state() is ConsumerGroupState.STABLE


def test_without_a_downgrade_classic_members_hear_of_new_partitions(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    old.rejoin()
    world.configure(consumer_migration_policy=MigrationPolicy.UPGRADE)
    first.leave()
    assert old.heartbeat() is REJOIN
    assert len(old.rejoin()) == 4
    world.grow("orders", 6)
    assert old.heartbeat() is REJOIN
    assert len(old.rejoin()) == 6


def test_a_protocol_said_twice_does_not_stand_in_the_downgrades_way(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    old.protocols = old.protocols * 2
    old.rejoin()
    world.clock.advance(5_000)
    assert old.heartbeat() in (NONE, REJOIN)
    first.leave()
    assert isinstance(world.group(), ClassicGroup)


def test_the_last_member_of_all_leaves_an_empty_consumer_group(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    first.leave()
    assert isinstance(world.group(), ConsumerGroup)
    old = ClassicClient(world)
    assert old.start().is_waiting
    assert isinstance(world.group(), ClassicGroup)
    assert isinstance(world.replayed().groups[GROUP], ClassicGroup)


def test_a_classic_member_may_leave_the_consumer_group(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world)
    old.owned()
    old.rejoin()
    answers = world.ask(
        LeaveGroup(GROUP, (LeavingMember("nobody", None), LeavingMember(old.member_id, None)))
    ).reply.members
    assert [one.error for one in answers] == [ErrorCode.UNKNOWN_MEMBER_ID, NONE]
    settle(world, [first], 2)
    assert first.partitions() == {0, 1, 2, 3}


def test_static_members_change_protocol_one_by_one(world: World) -> None:
    """Each new life of an instance takes over what the old one owned."""
    old = []
    for instance in ("a", "b"):
        client = Classic(world, instance_id=instance)
        client.owned()
        client.join()
        old.append(client)
    world.clock.advance(6_000)
    for client in old:
        client.joined()
    old[0].sync({old[0].member_id: assignment(0, 1), old[1].member_id: assignment(2, 3)})
    new_a = ConsumerClient(world, instance_id="a")
    new_a.beat()
    assert new_a.partitions() == {0, 1}
    assert old[0].heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    new_b = ConsumerClient(world, instance_id="b")
    settle(world, [new_b, new_a], 2)
    assert new_b.partitions() == {2, 3}
    assert world.group().classic_count == 0


def test_the_last_static_member_back_on_the_classic_protocol_downgrades_at_once(
    world: World,
) -> None:
    new = ConsumerClient(world, instance_id="a")
    new.beat()
    back = Classic(world, instance_id="a")
    back.owned()
    back.join()
    reply = back.joined()
    assert (reply.leader, reply.members) == ("", ())
    group = world.group()
    assert isinstance(group, ClassicGroup)
    assert group.state is ClassicState.STABLE
    assert partitions_in(back.sync().reply.assignment) == {0, 1, 2, 3}
    world.restart()
    assert back.heartbeat() is NONE
    assert new.beat(member_epoch=1).error is not NONE


def test_who_changes_protocol_under_its_id_is_held_to_nothing_it_owed_by_the_other(
    world: World,
) -> None:
    """Joined and not synced by the one, or owing partitions by the other: it is alive."""
    first = ConsumerClient(world)
    first.beat()
    old = Classic(world, rebalance_timeout_ms=10_000)
    old.owned()
    old.start()
    old.joined()
    new = ConsumerClient(world, member_id=old.member_id, rebalance_timeout_ms=10_000)
    for _ in range(5):
        new.beat()
        first.beat()
        world.clock.advance(5_000)
    assert new.member_id in world.group().profiles
    new.is_slow = True
    others = [first, ConsumerClient(world), ConsumerClient(world)]
    for client in (*others, new):
        client.beat()
    assert world.group().holding(new.member_id).state is MemberState.UNREVOKED_PARTITIONS
    old.session_timeout_ms = 600_000
    old.rebalance_timeout_ms = 600_000
    old.join()
    for _ in range(5):
        for client in others:
            client.beat()
        world.clock.advance(5_000)
    assert old.member_id in world.group().profiles
