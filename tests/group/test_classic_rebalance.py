"""The life of a classic group, as its members see it."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.classic.events import OfferedProtocol
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from tests.group.world import GROUP, ClassicClient, World, finish_rebalance, stable_group

NONE = ErrorCode.NONE


@pytest.fixture
def world() -> World:
    return World()


def test_a_member_gets_its_id_first_and_joins_with_it(world: World) -> None:
    client = ClassicClient(world)
    asked = client.join()
    assert asked.error is ErrorCode.MEMBER_ID_REQUIRED
    client.member_id = asked.reply.member_id
    assert client.join().is_waiting
    world.clock.advance(3_000)
    reply = client.joined()
    assert (reply.generation, reply.leader, reply.protocol_name) == (1, client.member_id, "range")
    assert [member.member_id for member in reply.members] == [client.member_id]


def test_old_clients_join_in_one_step(world: World) -> None:
    client = ClassicClient(world, needs_known_member_id=False)
    assert client.join().is_waiting
    world.clock.advance(3_000)
    assert client.joined().generation == 1


def test_an_empty_group_waits_for_more_members_and_longer_if_some_come(world: World) -> None:
    first = ClassicClient(world, rebalance_timeout_ms=7_000)
    first.start()
    world.clock.advance(2_999)
    second = ClassicClient(world, rebalance_timeout_ms=7_000)
    second.start()
    world.clock.advance(2_999 + 1)
    assert first.waiting is not None
    assert first.waiting.is_waiting
    world.clock.advance(3_000)
    assert first.joined().generation == second.joined().generation == 1
    assert len(first.joined().members) == 2
    assert second.joined().members == ()


def test_the_initial_wait_ends_with_the_rebalance_timeout(world: World) -> None:
    clients = [ClassicClient(world, rebalance_timeout_ms=5_000)]
    clients[0].start()
    for _ in range(10):
        world.clock.advance(1_000)
        if not clients[0].waiting or not clients[0].waiting.is_waiting:
            break
        clients.append(ClassicClient(world, rebalance_timeout_ms=5_000))
        clients[-1].start()
    assert len(clients) == 5
    assert clients[0].joined().generation == 1


def test_the_leader_assigns_and_everybody_gets_theirs(world: World) -> None:
    stable_group(world, 3)
    assert world.group().state is ClassicState.STABLE


def test_whom_the_leader_forgets_owns_nothing(world: World) -> None:
    leader, follower = stable_group(world, 2)
    leader.join()
    follower.join()
    leader.joined()
    follower.joined()
    waiting = follower.sync()
    leader.sync({leader.member_id: b"everything"})
    assert waiting.reply.assignment == b""


def test_a_second_sync_is_answered_from_what_is_stored(world: World) -> None:
    _, follower = stable_group(world, 2)
    assert follower.sync().reply.assignment == f"for {follower.member_id}".encode()
    world.restart()
    assert follower.sync().reply.assignment == f"for {follower.member_id}".encode()


def test_a_new_member_sends_everybody_back_to_join(world: World) -> None:
    clients = stable_group(world, 2)
    newcomer = ClassicClient(world)
    assert newcomer.start().is_waiting
    assert [client.heartbeat() for client in clients] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    for client in clients:
        client.join()
    finish_rebalance([*clients, newcomer])
    assert {client.generation for client in clients} == {2}


def test_who_waits_for_an_assignment_is_sent_back_when_the_next_rebalance_begins(
    world: World,
) -> None:
    leader, follower = stable_group(world, 2)
    follower.join(protocols=(OfferedProtocol("range", b"other"),))
    leader.join()
    leader.joined()
    follower.joined()
    waiting = follower.sync()
    ClassicClient(world).start()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_follower_with_nothing_new_to_say_does_not_rebalance_a_stable_group(
    world: World,
) -> None:
    leader, follower = stable_group(world, 2)
    reply = follower.join().reply
    assert (reply.generation, reply.leader, reply.members) == (1, leader.member_id, ())
    assert leader.heartbeat() is NONE


def test_a_leader_that_joins_again_means_it(world: World) -> None:
    leader, follower = stable_group(world, 2)
    assert leader.join().is_waiting
    assert follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_lost_answer_to_join_is_given_again(world: World) -> None:
    client = ClassicClient(world)
    client.start()
    world.clock.advance(3_000)
    first = client.joined()
    assert client.join().reply == first


def test_a_join_that_is_repeated_while_it_waits_releases_the_first(world: World) -> None:
    client = ClassicClient(world)
    first = client.start()
    second = client.join()
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    world.clock.advance(3_000)
    assert second.reply.generation == 1


def test_a_sync_that_is_repeated_while_it_waits_releases_the_first(world: World) -> None:
    leader, follower = stable_group(world, 2)
    leader.join()
    follower.join()
    leader.joined()
    follower.joined()
    first, second = follower.sync(), follower.sync()
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    leader.sync({})
    assert second.error is NONE


def test_a_member_that_leaves_makes_room(world: World) -> None:
    leader, follower = stable_group(world, 2)
    assert leader.leave().reply.members[0].error is NONE
    assert follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    follower.join()
    reply = follower.joined()
    assert (reply.generation, reply.leader) == (2, follower.member_id)


def test_when_the_last_member_leaves_the_group_is_empty_with_a_new_generation(
    world: World,
) -> None:
    (client,) = stable_group(world, 1)
    client.leave()
    for group in (world.group(), world.replayed().groups[GROUP]):
        assert isinstance(group, ClassicGroup)
        assert group.state is ClassicState.EMPTY
        assert (group.generation, group.protocol_type, group.protocol_name) == (2, "consumer", None)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_silence_for_a_session_timeout_is_leaving(world: World) -> None:
    leader, follower = stable_group(world, 2)
    world.clock.advance(9_000)
    assert leader.heartbeat() is NONE
    world.clock.advance(1_500)
    assert leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_is_a_sign_of_life(world: World) -> None:
    (client,) = stable_group(world, 1)
    for _ in range(5):
        world.clock.advance(9_000)
        assert client.commit("orders", 0, 5).reply.errors == (NONE,)
    assert client.heartbeat() is NONE


def test_whoever_waits_for_us_cannot_be_late(world: World) -> None:
    """One member keeps the others waiting in Join longer than their session timeout."""
    slow, *others = stable_group(world, 3, rebalance_timeout_ms=60_000)
    waiting = [client.join(protocols=(OfferedProtocol("range", b"new"),)) for client in others]
    for _ in range(5):
        world.clock.advance(9_000)
        assert slow.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert all(asked.is_waiting for asked in waiting)
    slow.join()
    assert {asked.reply.generation for asked in waiting} == {2}


def test_who_does_not_rejoin_in_time_is_out(world: World) -> None:
    leader, follower = stable_group(world, 2, rebalance_timeout_ms=20_000)
    follower.join(protocols=(OfferedProtocol("range", b"new"),))
    for _ in range(3):
        world.clock.advance(6_000)
        leader.heartbeat()
    world.clock.advance(2_000)
    reply = follower.joined()
    assert (reply.leader, len(reply.members)) == (follower.member_id, 1)
    assert leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_joined_and_never_syncs_is_out(world: World) -> None:
    leader, follower = stable_group(world, 2, rebalance_timeout_ms=20_000)
    leader.join()
    follower.join()
    leader.joined()
    follower.joined()
    leader.sync({})
    for _ in range(3):
        world.clock.advance(6_000)
        assert leader.heartbeat() is follower.heartbeat() is NONE
    world.clock.advance(2_000)
    assert follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_never_syncs_does_not_hold_the_others_for_ever(world: World) -> None:
    leader, follower = stable_group(world, 2, rebalance_timeout_ms=20_000)
    leader.join()
    follower.join()
    leader.joined()
    follower.joined()
    waiting = follower.sync()
    for _ in range(4):
        world.clock.advance(5_000)
        leader.heartbeat()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    follower.join()
    assert follower.joined().leader == follower.member_id


def test_a_new_member_that_gave_up_is_dropped_after_five_minutes(world: World) -> None:
    """It waits in Join behind a member that only ever sends heartbeats."""
    (old,) = stable_group(world, 1, rebalance_timeout_ms=600_000)
    newcomer = ClassicClient(world, rebalance_timeout_ms=600_000).start()
    for _ in range(49):
        world.clock.advance(6_000)
        old.heartbeat()
    assert newcomer.is_waiting
    world.clock.advance(6_000)
    assert newcomer.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_got_an_id_and_never_came_back_does_not_block(world: World) -> None:
    ClassicClient(world, session_timeout_ms=6_000).join()
    other = ClassicClient(world)
    other.start()
    world.clock.advance(3_000)
    assert other.joined().generation == 1


def test_a_rebalance_waits_for_pending_members_until_their_session_ends(world: World) -> None:
    (old,) = stable_group(world, 1)
    ClassicClient(world, session_timeout_ms=6_000).join()
    asked = old.join()
    assert asked.is_waiting
    world.clock.advance(6_000)
    assert asked.reply.generation == 2


def test_a_pending_member_may_leave(world: World) -> None:
    pending = ClassicClient(world)
    pending.member_id = pending.join().reply.member_id
    assert pending.leave().reply.members[0].error is NONE
    assert pending.join().error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001])
def test_session_timeouts_have_bounds(world: World, timeout_ms: int) -> None:
    asked = ClassicClient(world, session_timeout_ms=timeout_ms).join()
    assert asked.error is ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_group_needs_a_name_for_membership(world: World) -> None:
    client = ClassicClient(world, group_id="", member_id="m")
    assert client.join().error is ErrorCode.INVALID_GROUP_ID
    assert client.sync().error is ErrorCode.INVALID_GROUP_ID
    assert client.heartbeat() is ErrorCode.INVALID_GROUP_ID
    assert client.leave().error is ErrorCode.INVALID_GROUP_ID


def test_a_member_nobody_knows_is_told_so(world: World) -> None:
    stranger = ClassicClient(world, member_id="stranger")
    for has_group in (False, True):
        if has_group:
            stable_group(world, 1)
        assert stranger.join().error is ErrorCode.UNKNOWN_MEMBER_ID
        assert stranger.sync().error is ErrorCode.UNKNOWN_MEMBER_ID
        assert stranger.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
        left = stranger.leave()
        error = left.error if left.error is not NONE else left.reply.members[0].error
        assert error is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_generation_must_be_right(world: World) -> None:
    (client,) = stable_group(world, 1)
    assert client.heartbeat(generation=7) is ErrorCode.ILLEGAL_GENERATION
    assert client.sync(generation=7).error is ErrorCode.ILLEGAL_GENERATION


def test_sync_checks_the_protocol_it_is_told(world: World) -> None:
    (client,) = stable_group(world, 1)
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert client.sync(protocol_type="connect").error is wrong
    assert client.sync(protocol_name="sticky").error is wrong
    assert client.sync(protocol_type="consumer", protocol_name="range").error is NONE


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [
        ("", (OfferedProtocol("range", b""),)),
        ("consumer", ()),
    ],
)
def test_a_group_is_not_made_of_nothing(
    world: World, protocol_type: str, protocols: tuple[OfferedProtocol, ...]
) -> None:
    asked = ClassicClient(world).join(protocol_type=protocol_type, protocols=protocols)
    assert asked.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert GROUP not in world.state.groups


def test_members_must_have_a_protocol_in_common(world: World) -> None:
    stable_group(world, 1)
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    other = ClassicClient(world, protocols=(OfferedProtocol("sticky", b""),))
    assert other.join().error is wrong
    assert ClassicClient(world, protocol_type="connect").join().error is wrong


def test_the_protocol_most_members_prefer_among_the_common_ones_wins(world: World) -> None:
    def offering(*names: str) -> tuple[OfferedProtocol, ...]:
        return tuple(OfferedProtocol(name, name.encode()) for name in names)

    kinds = [offering("a", "b", "c"), offering("b", "c"), offering("c", "b", "x")]
    clients = [ClassicClient(world, protocols=kind) for kind in kinds]
    for client in clients:
        client.start()
    world.clock.advance(6_000)
    assert {client.joined().protocol_name for client in clients} == {"b"}
    assert [member.metadata for member in clients[0].joined().members] == [b"b"] * 3


def test_any_protocol_type_can_be_a_group(world: World) -> None:
    workers = stable_group(
        world, 2, protocol_type="connect", protocols=(OfferedProtocol("sessioned", b"\x00"),)
    )
    assert world.group().protocol_type == "connect"
    assert world.group().subscribed_topics is None
    assert workers[0].heartbeat() is NONE


def test_a_full_group_takes_nobody_new() -> None:
    world = World(max_size=2)
    clients = stable_group(world, 2)
    assert ClassicClient(world).join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert clients[0].join().is_waiting
    clients[1].join()
    finish_rebalance(clients)


def test_lowering_the_bound_turns_the_last_ones_away_after_the_next_load() -> None:
    world = World()
    clients = stable_group(world, 3)
    world.configure(max_size=2)
    world.restart()
    assert clients[0].heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    waiting = [client.join() for client in clients]
    assert waiting[2].error is ErrorCode.GROUP_MAX_SIZE_REACHED
    finish_rebalance(clients[:2])


def test_members_carry_on_after_a_new_leader_loaded_the_group(world: World) -> None:
    clients = stable_group(world, 3)
    world.restart()
    assert [client.heartbeat() for client in clients] == [NONE] * 3
    world.clock.advance(11_000)
    assert [client.heartbeat() for client in clients] == [ErrorCode.UNKNOWN_MEMBER_ID] * 3
    assert world.group().state is ClassicState.EMPTY


def test_a_rebalance_cut_off_by_a_new_leader_is_begun_again(world: World) -> None:
    leader, follower = stable_group(world, 2)
    waiting = follower.join(protocols=(OfferedProtocol("range", b"new"),))
    world.restart()
    assert waiting.error is ErrorCode.NOT_COORDINATOR
    assert leader.heartbeat() is NONE
    follower.join(protocols=(OfferedProtocol("range", b"new"),))
    leader.join()
    finish_rebalance([leader, follower])


def test_answers_wait_until_the_assignment_is_durable() -> None:
    world = World(commits_at_once=False)
    clients = [ClassicClient(world), ClassicClient(world)]
    for client in clients:
        asked = client.join()
        world.log.commit()
        client.member_id = asked.reply.member_id
        client.join()
    world.clock.advance(6_000)
    for client in clients:
        client.joined()
    leader, follower = clients
    syncs = [follower.sync(), leader.sync({follower.member_id: b"x"})]
    assert all(sync.is_waiting for sync in syncs)
    world.log.commit()
    assert [sync.error for sync in syncs] == [NONE, NONE]


def test_a_leader_whose_assignment_cannot_be_written_tries_again(world: World) -> None:
    leader, follower = stable_group(world, 2)
    leader.join()
    follower.join()
    leader.joined()
    follower.joined()
    waiting = follower.sync()
    world.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert leader.sync({}).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.refusal = None
    assert leader.sync({}).error is NONE
    assert waiting.error is NONE


def test_a_protocol_that_a_member_says_twice_is_one_offer(world: World) -> None:
    """Counted twice nobody would speak it, and the node fell when it chose one."""
    twice = (OfferedProtocol("range", b"first"), OfferedProtocol("range", b"second"))
    odd = ClassicClient(world, protocols=twice)
    other = ClassicClient(world)
    odd.start()
    other.start()
    world.clock.advance(6_000)
    assert odd.joined().protocol_name == other.joined().protocol_name == "range"
    assert odd.joined().members[0].metadata == b"first"


def test_protocols_that_nobody_offers_any_more_are_forgotten(world: World) -> None:
    for number in range(5):
        offered = (OfferedProtocol(f"made-up-{number}", b""),)
        (client,) = stable_group(world, 1, protocols=offered)
        client.leave()
    assert world.group().offers == {}
