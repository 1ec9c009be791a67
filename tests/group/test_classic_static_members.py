"""KIP-345: an instance comes back and nobody has to rebalance."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.classic.events import LeaveGroup, LeavingMember, OfferedProtocol
from kafkapy.group.classic.group import ClassicState
from tests.group.world import GROUP, ClassicClient, World

NONE = ErrorCode.NONE


@pytest.fixture
def world() -> World:
    return World()


def static_group(world: World, *instances: str) -> list[ClassicClient]:
    clients = [ClassicClient(world, instance_id=instance) for instance in instances]
    for client in clients:
        assert client.join().is_waiting
    world.clock.advance(6_000)
    for client in clients:
        client.joined()
    leader, *others = clients
    leader.sync({client.member_id: b"for " + client.member_id.encode() for client in clients})
    for client in others:
        assert client.sync().error is NONE
    return clients


def reborn(client: ClassicClient) -> ClassicClient:
    return ClassicClient(client.world, instance_id=client.instance_id)


def test_a_static_member_needs_no_second_round_to_join(world: World) -> None:
    leader, follower = static_group(world, "a", "b")
    assert leader.member_id.startswith("a-")
    assert follower.member_id.startswith("b-")


def test_its_next_life_takes_its_place_without_a_rebalance(world: World) -> None:
    leader, follower = static_group(world, "a", "b")
    again = reborn(follower)
    again.join()
    reply = again.joined()
    assert (reply.generation, reply.leader, reply.members) == (1, leader.member_id, ())
    assert again.sync().reply.assignment == b"for " + follower.member_id.encode()
    assert leader.heartbeat() is NONE
    assert again.heartbeat() is NONE
    assert follower.heartbeat() is ErrorCode.FENCED_INSTANCE_ID


def test_its_place_is_durable_before_it_is_told(world: World) -> None:
    _, follower = static_group(world, "a", "b")
    again = reborn(follower)
    again.join()
    again.joined()
    world.restart()
    assert again.heartbeat() is NONE
    assert follower.heartbeat() is ErrorCode.FENCED_INSTANCE_ID


def test_a_leader_in_its_next_life_is_told_not_to_assign(world: World) -> None:
    leader, follower = static_group(world, "a", "b")
    again = reborn(leader)
    again.join()
    reply = again.joined()
    assert reply.leader == again.member_id
    assert reply.skip_assignment
    assert {m.member_id for m in reply.members} == {again.member_id, follower.member_id}


def test_an_old_client_is_told_of_the_old_leader_so_that_it_does_not_assign(world: World) -> None:
    leader, _ = static_group(world, "a", "b")
    again = reborn(leader)
    again.join(can_skip_assignment=False)
    reply = again.joined()
    assert (reply.leader, reply.skip_assignment, reply.members) == (leader.member_id, False, ())


def test_a_next_life_with_other_protocols_rebalances(world: World) -> None:
    leader, follower = static_group(world, "a", "b")
    again = reborn(follower)
    both = (OfferedProtocol("range", b"1"), OfferedProtocol("sticky", b"2"))
    assert not again.join(protocols=both).is_waiting
    assert leader.join(protocols=(both[1], both[0])).is_waiting
    third = reborn(follower)
    assert third.join(protocols=both).is_waiting is False
    assert leader.waiting is not None
    assert leader.waiting.reply.protocol_name in ("range", "sticky")


def test_a_next_life_while_the_leader_assigns_rebalances(world: World) -> None:
    leader, follower = static_group(world, "a", "b")
    leader.join()
    follower.join()
    leader.joined()
    follower.joined()
    old_sync = follower.sync()
    again = reborn(follower)
    assert again.join().is_waiting
    assert old_sync.error is ErrorCode.FENCED_INSTANCE_ID
    assert leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    leader.join()
    assert again.joined().generation == leader.joined().generation == 3


def test_a_next_life_while_the_old_one_waits_in_join_fences_it(world: World) -> None:
    leader, follower = static_group(world, "a", "b")
    leader.join()
    changed = follower.member_id
    waiting = ClassicClient(world, instance_id="c")
    waiting.join()
    again = reborn(waiting)
    again.join()
    assert waiting.waiting is not None
    assert waiting.waiting.error is ErrorCode.FENCED_INSTANCE_ID
    follower.join()
    assert again.joined().generation == 2
    assert changed in {m.member_id for m in leader.joined().members}


def test_an_id_that_is_not_the_instances_is_fenced(world: World) -> None:
    static_group(world, "a")
    thief = ClassicClient(world, instance_id="a", member_id="thief", generation=1)
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert thief.join().error is fenced
    assert thief.sync().error is fenced
    assert thief.heartbeat() is fenced
    assert thief.commit("orders", 0, 1).error is fenced
    assert thief.leave().reply.members[0].error is fenced


def test_an_unknown_instance_with_an_id_is_unknown(world: World) -> None:
    static_group(world, "a")
    stranger = ClassicClient(world, instance_id="x", member_id="x-1", generation=1)
    assert stranger.join().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_stay_when_a_rebalance_goes_on_without_them(world: World) -> None:
    leader, absent = static_group(world, "a", "b")
    leader.session_timeout_ms = absent.session_timeout_ms = 120_000
    assert leader.join().is_waiting
    for _ in range(4):
        world.clock.advance(8_000)
        absent.heartbeat()
    reply = leader.joined()
    assert {m.instance_id for m in reply.members} == {"a", "b"}
    assert world.group().state is ClassicState.COMPLETING_REBALANCE


def test_an_operator_removes_static_members_by_instance(world: World) -> None:
    leader, _, _ = static_group(world, "a", "b", "c")
    leaving = tuple(LeavingMember("", instance) for instance in ("b", "c", "nobody"))
    answers = world.ask(LeaveGroup(GROUP, leaving)).reply.members
    assert [one.error for one in answers] == [NONE, NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert set(world.group().static_members) == {"a"}
    assert leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_that_says_nothing_is_gone_in_the_end(world: World) -> None:
    leader, _ = static_group(world, "a", "b")
    for _ in range(2):
        world.clock.advance(6_000)
        leader.heartbeat()
    assert set(world.group().static_members) == {"a"}
