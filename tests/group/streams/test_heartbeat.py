"""Members of a streams group: joining, epochs, fencing, leaving, and what they are told."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.admin import DeleteGroup, ListGroups
from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.settings import Bounded
from kafkapy.group.streams.configure import StatusCode
from kafkapy.group.streams.events import DescribeStreamsGroup
from kafkapy.group.streams.group import StreamsGroup
from kafkapy.group.streams.member import NOTHING, Target
from tests.group.streams.client import (
    COUNTING,
    PLAIN,
    StreamsClient,
    active,
    info,
    part,
    settle,
    topology,
)
from tests.group.world import GROUP, ClassicClient, ConsumerClient, World

NONE = ErrorCode.NONE


@pytest.fixture
def world() -> World:
    made = World(streams_initial_rebalance_delay_ms=0)
    made.topics.create("orders", 4)
    return made


def state(world: World) -> str:
    described: str = world.ask(DescribeStreamsGroup(GROUP)).reply.state
    return described


def test_the_first_assignment_waits_for_other_members() -> None:
    world = World()
    world.topics.create("orders", 4)
    first, second = StreamsClient(world), StreamsClient(world)
    first.beat()
    assert first.epoch == 1
    assert first.statuses == [StatusCode.ASSIGNMENT_DELAYED]
    second.beat()
    assert first.told == second.told == NOTHING
    world.clock.advance(3_000)
    for client in (first, second):
        client.beat()
        assert len(active(client.told)) == 2
        assert client.statuses == []
    assert state(world) == "Stable"


def test_a_lone_first_member_is_assigned_by_its_second_heartbeat() -> None:
    world = World()
    world.topics.create("orders", 4)
    client = StreamsClient(world)
    client.beat()
    world.clock.advance(5_000)
    assert world.group().assignment_epoch == 1
    client.beat()
    assert len(active(client.told)) == 4


def test_tasks_go_to_a_new_member_once_they_are_given_up(world: World) -> None:
    first, second = StreamsClient(world, is_slow=True), StreamsClient(world)
    first.beat()
    first.has = first.told
    assert len(active(first.has)) == 4
    world.clock.advance(1_000)
    second.beat()
    assert second.told == NOTHING
    first.beat()
    assert len(active(first.told)) == 2
    assert first.epoch < world.group().epoch
    second.beat()
    assert second.told == NOTHING
    first.has = first.told
    first.beat()
    assert first.epoch == world.group().epoch
    second.beat()
    assert len(active(second.told)) == 2
    assert not active(first.told) & active(second.told)
    assert state(world) == "Stable"


def test_a_member_that_keeps_what_it_should_give_up_is_taken_out(world: World) -> None:
    first, second = StreamsClient(world, is_slow=True), StreamsClient(world)
    first.beat()
    first.has = first.told
    world.clock.advance(1_000)
    second.beat()
    for _ in range(31):
        world.clock.advance(1_000)
        second.beat()
        last = first.beat()
    assert last.error is ErrorCode.UNKNOWN_MEMBER_ID
    settle(world, [second])
    assert len(active(second.told)) == 4


def test_a_silent_member_is_taken_out_when_its_session_ends(world: World) -> None:
    first, second = StreamsClient(world), StreamsClient(world)
    settle(world, [first, second])
    settle(world, [second], 50)
    assert set(world.group().profiles) == {second.member_id}
    assert len(active(second.told)) == 4


def test_sessions_and_intervals_are_the_groups_own(world: World) -> None:
    world.configure(
        groups={GROUP: {"streams.session.timeout.ms": "50000", "streams.num.standby.replicas": "1"}}
    )
    client = StreamsClient(world)
    client.beat()
    world.clock.advance(49_000)
    assert not world.group().is_empty
    world.clock.advance(2_000)
    assert world.group().is_empty
    assert world.group().assignment_configs == {"num.standby.replicas": "1"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"owned": Target({"0": frozenset({1})})}, ErrorCode.INVALID_REQUEST),
        ({"owned": Target(standby={"0": frozenset({1})})}, ErrorCode.INVALID_REQUEST),
        ({"owned": Target(warmup={"0": frozenset({1})})}, ErrorCode.INVALID_REQUEST),
        ({"topology": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2, "topology": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3, "topology": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 3}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 3, "topology": None}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1, "topology": None}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"topology": topology(epoch=-1)}, ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (
            {"topology": topology(part("0", "a"), part("0", "b"))},
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
        ),
        (
            {"topology": topology(part("0", ["orders"], together=[((3,), ())]))},
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
        ),
        (
            {"topology": topology(part("0", ["orders"], changelogs=[info("c", 3)]))},
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
        ),
    ],
)
def test_heartbeats_that_may_not_be(world: World, change: Any, error: ErrorCode) -> None:
    assert StreamsClient(world).beat(**change).error is error
    assert not world.state.groups


def test_nobody_joins_where_the_protocol_is_disabled(world: World) -> None:
    world.configure(is_streams_protocol_enabled=False)
    assert StreamsClient(world).beat().error is ErrorCode.UNSUPPORTED_VERSION


def test_a_member_ahead_or_too_far_behind_is_fenced(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    epoch = client.epoch
    assert client.beat(member_epoch=epoch + 1).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert client.beat(member_epoch=epoch - 1, owned=None).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert StreamsClient(world).beat(member_epoch=1).error is ErrorCode.INVALID_REQUEST
    stranger = StreamsClient(world, epoch=1)
    assert stranger.beat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_missed_the_last_answer_comes_with_the_epoch_before(world: World) -> None:
    first, second = StreamsClient(world), StreamsClient(world)
    settle(world, [first])
    before = first.epoch, first.has
    second.beat()
    settle(world, [second], 2)
    first.beat()
    told = first.told
    first.epoch, first.has = before[0], told
    assert first.beat().error is NONE


def test_who_missed_that_tasks_came_free_for_it_is_told_when_it_says_what_it_has(
    world: World,
) -> None:
    """In the same epoch: Java's client says no more than that after an answer that was lost."""
    first, second = StreamsClient(world, is_slow=True), StreamsClient(world)
    first.beat()
    first.has = first.told
    world.clock.advance(1_000)
    second.beat()
    for _ in range(2):
        first.beat()
        first.has = first.told
    world.ask(second.event())
    assert second.beat(owned=None).reply.tasks is None
    assert second.told == NOTHING
    second.beat()
    assert len(active(second.told)) == 2
    assert second.beat().reply.tasks is None


def test_who_missed_that_it_must_give_tasks_up_is_told_when_it_says_what_it_has(
    world: World,
) -> None:
    first, second = StreamsClient(world, is_slow=True), StreamsClient(world)
    first.beat()
    first.has = first.told
    world.clock.advance(1_000)
    second.beat()
    world.ask(first.event())
    first.beat()
    assert len(active(first.told)) == 2


def test_tasks_that_a_member_names_have_to_be_of_the_topology(world: World) -> None:
    client = StreamsClient(world, is_slow=True)
    client.beat()
    for tasks in ({"0": frozenset({4})}, {"1": frozenset({0})}):
        client.has = Target(tasks)
        assert client.beat().error is ErrorCode.INVALID_REQUEST


def test_a_full_group_takes_no_more_but_knows_its_own(world: World) -> None:
    world.configure(streams_max_size=1)
    first, second = StreamsClient(world), StreamsClient(world)
    first.beat()
    assert second.beat().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    first.start_over()
    assert first.beat().error is NONE


def test_another_topology_is_refused_and_an_older_one_called_stale(world: World) -> None:
    newer = topology(*PLAIN.subtopologies, epoch=3)
    StreamsClient(world, topology=newer).beat()
    assert StreamsClient(world, topology=topology(epoch=3)).beat().error is (
        ErrorCode.INVALID_REQUEST
    )
    assert StreamsClient(world, topology=topology(*PLAIN.subtopologies, epoch=4)).beat().error is (
        ErrorCode.INVALID_REQUEST
    )
    stale = StreamsClient(world, topology=topology(part("x", ["other"]), epoch=2))
    assert stale.beat().error is NONE
    assert StatusCode.STALE_TOPOLOGY in stale.statuses


def test_a_group_without_members_keeps_its_topology(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    client.leave()
    other = StreamsClient(world, topology=topology(part("0", ["others"])))
    assert other.beat().error is ErrorCode.INVALID_REQUEST
    assert world.ask(DeleteGroup(GROUP)).error is NONE
    assert other.beat().error is NONE


def test_internal_topics_that_are_missing_are_to_be_made(world: World) -> None:
    client = StreamsClient(world, topology=COUNTING)
    (missing,) = client.beat().reply.to_create
    assert (missing.name, missing.partitions) == ("counts-changelog", 4)
    assert client.statuses == [StatusCode.MISSING_INTERNAL_TOPICS]
    assert state(world) == "NotReady"
    assert client.told == NOTHING
    world.clock.advance(1_000)
    world.grow("counts-changelog", 4)
    assert client.beat().reply.to_create == ()
    assert len(active(client.told)) == 4
    assert state(world) == "Stable"


def test_tasks_are_taken_away_while_a_source_topic_is_missing(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    world.clock.advance(1_000)
    world.topics.delete("orders")
    world.grow("others", 1)
    world.group().wants_refresh = True
    client.beat()
    assert client.statuses == [StatusCode.MISSING_SOURCE_TOPICS]
    assert active(client.told) == set()


def test_more_partitions_are_more_tasks(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    world.clock.advance(1_000)
    world.grow("orders", 6)
    settle(world, [client], 1)
    assert len(active(client.told)) == 6


def test_members_are_told_that_one_of_them_ends_the_application(world: World) -> None:
    first, second = StreamsClient(world), StreamsClient(world)
    settle(world, [first, second])
    second.leave(shuts_down=True)
    first.beat()
    assert StatusCode.SHUTDOWN_APPLICATION in first.statuses
    first.leave()
    third = StreamsClient(world)
    third.beat()
    assert StatusCode.SHUTDOWN_APPLICATION not in third.statuses


def test_who_has_an_endpoint_is_told_of_with_its_partitions(world: World) -> None:
    first, second = StreamsClient(world), StreamsClient(world)
    settle(world, [first, second])
    second.start_over()
    reply = second.beat(user_endpoint=("h", 60_000), endpoint_epoch=-1).reply
    settle(world, [first, second])
    reply = first.beat(endpoint_epoch=reply.endpoint_epoch - 1).reply
    ((endpoint, partitions, standbys),) = reply.endpoints
    assert endpoint == ("h", 60_000)
    assert partitions == (("orders", tuple(sorted(p for _, p in active(second.told)))),)
    assert standbys == ()
    assert first.beat(endpoint_epoch=reply.endpoint_epoch).reply.endpoints is None


def test_standbys_are_of_other_processes(world: World) -> None:
    world.configure(streams_standby_replicas=Bounded(1, 0, 2))
    world.topics.create("counts-changelog", 4)
    clients = [StreamsClient(world, topology=COUNTING, process_id=f"p{n // 2}") for n in range(4)]
    settle(world, clients, 10)
    assert state(world) == "Stable"
    tasks = {("0", number) for number in range(4)}
    for process in ("p0", "p1"):
        own = [client for client in clients if client.process_id == process]
        actives = set().union(*(active(client.told) for client in own))
        copies = {(one, p) for c in own for one, ps in c.told.standby.items() for p in ps}
        assert actives | copies == tasks
        assert not actives & copies


def test_a_group_outlives_its_leader(world: World) -> None:
    """Everybody heartbeats on as if nothing had been."""
    first, second = StreamsClient(world), StreamsClient(world)
    settle(world, [first, second])
    epoch = world.group().epoch
    world.restart()
    for client in (first, second):
        had = client.told
        assert client.beat().error is NONE
        assert client.told == had
    assert world.group().epoch == epoch
    replayed = world.replayed().groups[GROUP]
    assert isinstance(replayed, StreamsGroup)
    assert replayed.holdings == world.group().holdings


def test_groups_become_one_another_only_while_they_are_empty(world: World) -> None:
    classic = ClassicClient(world)
    classic.start()
    assert StreamsClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND
    classic.leave()
    world.clock.advance(10_000)
    assert world.commit("orders", 0, 7).error is NONE
    streams = StreamsClient(world)
    assert streams.beat().error is NONE
    assert ClassicClient(world).join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND
    streams.leave()
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_ID_NOT_FOUND
    ClassicClient(world).start()
    assert isinstance(world.group(), ClassicGroup)
    assert world.committed("orders", 0) == 7


def test_a_group_with_members_cannot_be_deleted(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    assert world.ask(DeleteGroup(GROUP)).error is ErrorCode.NON_EMPTY_GROUP
    client.leave()
    assert world.ask(DeleteGroup(GROUP)).error is NONE
    assert GROUP not in world.state.groups
    assert GROUP not in world.replayed().groups


def test_groups_are_listed_by_state_and_type(world: World) -> None:
    StreamsClient(world, topology=COUNTING).beat()
    row = (GROUP, "streams", "NotReady", "streams")
    assert world.ask(ListGroups(types=frozenset({"streams"}))).reply.groups == (row,)
    assert world.ask(ListGroups(states=frozenset({"not_ready"}))).reply.groups == (row,)
    assert world.ask(ListGroups(states=frozenset({"notready"}))).reply.groups == ()


def test_a_member_whose_group_lost_its_topology_brings_it_again(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    world.group().topology = None
    assert client.beat().error is ErrorCode.FENCED_MEMBER_EPOCH
    client.start_over()
    assert client.beat().error is NONE
