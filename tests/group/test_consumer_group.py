"""KIP-848 as members see it: epochs, targets, and partitions that change hands."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.consumer.group import ConsumerGroupState
from kafkapy.group.consumer.member import MemberState
from kafkapy.group.consumer.stored import holding_record
from kafkapy.group.events import TopicsChanged
from kafkapy.group.settings import Bounded
from tests.group.world import GROUP, ConsumerClient, World, settle

NONE = ErrorCode.NONE
STATE = ConsumerGroupState
NO_WAIT = Bounded(0, 0, 15_000)


@pytest.fixture
def world() -> World:
    made = World(consumer_assignment_interval_ms=NO_WAIT)
    made.topics.create("orders", 4)
    made.topics.create("returns", 2)
    return made


def test_the_first_member_gets_everything_at_once(world: World) -> None:
    client = ConsumerClient(world)
    reply = client.beat().reply
    assert (reply.member_id, reply.member_epoch) == (client.member_id, 2)
    assert reply.heartbeat_interval_ms == 5_000
    assert client.partitions() == {0, 1, 2, 3}
    assert world.group().state() is STATE.STABLE


def test_a_heartbeat_that_changes_nothing_writes_nothing_and_says_nothing(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    client.beat()
    written = len(world.log.batches)
    reply = client.beat().reply
    assert reply.assignment is None
    assert len(world.log.batches) == written


def test_a_second_member_waits_until_the_first_has_let_go(world: World) -> None:
    first, second = ConsumerClient(world), ConsumerClient(world)
    first.beat()
    first.is_slow = True
    first.owned = first.told or {}
    assert second.beat().reply.member_epoch == 3
    assert second.partitions() == set()
    assert world.group().holding(second.member_id).state is MemberState.UNRELEASED_PARTITIONS

    told = first.beat().reply
    assert told.member_epoch == 2
    assert len(first.partitions()) == 2
    assert world.group().state() is STATE.RECONCILING
    second.beat()
    assert second.partitions() == set()

    first.is_slow = False
    assert first.beat().reply.member_epoch == 3
    second.beat()
    assert first.partitions() | second.partitions() == {0, 1, 2, 3}
    assert not first.partitions() & second.partitions()
    assert world.group().state() is STATE.STABLE


def test_members_scale_up_and_down(world: World) -> None:
    clients = [ConsumerClient(world)]
    settle(world, clients, 1)
    clients += [ConsumerClient(world) for _ in range(3)]
    settle(world, clients)
    assert [len(client.partitions()) for client in clients] == [1, 1, 1, 1]
    for client in clients[2:]:
        assert client.leave().reply.member_epoch == -1
    settle(world, clients[:2])
    assert [len(client.partitions()) for client in clients[:2]] == [2, 2]


def test_moving_is_kept_to_what_is_needed(world: World) -> None:
    first = ConsumerClient(world)
    settle(world, [first], 1)
    second = ConsumerClient(world)
    settle(world, [first, second])
    kept = first.partitions()
    third = ConsumerClient(world)
    settle(world, [first, second, third])
    assert len(first.partitions() & kept) >= 1
    assert sum(len(c.partitions()) for c in (first, second, third)) == 4


def test_silence_for_a_session_timeout_is_leaving(world: World) -> None:
    first, second = ConsumerClient(world), ConsumerClient(world)
    settle(world, [first, second])
    for _ in range(10):
        world.clock.advance(5_000)
        second.beat()
    assert first.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    second.beat()
    assert second.partitions() == {0, 1, 2, 3}


def test_who_does_not_let_go_in_its_rebalance_timeout_is_out(world: World) -> None:
    first = ConsumerClient(world, rebalance_timeout_ms=20_000)
    first.beat()
    first.is_slow = True
    first.owned = first.told or {}
    second = ConsumerClient(world)
    second.beat()
    for _ in range(4):
        first.beat()
        world.clock.advance(5_000)
    assert first.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    settle(world, [second], 2)
    assert second.partitions() == {0, 1, 2, 3}


def test_who_lets_go_in_time_is_not_thrown_out_later(world: World) -> None:
    first = ConsumerClient(world, rebalance_timeout_ms=20_000)
    first.beat()
    second = ConsumerClient(world)
    second.beat()
    for _ in range(10):
        assert first.beat().error is second.beat().error is NONE
        world.clock.advance(5_000)


def test_an_epoch_above_ours_is_fenced(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    client.epoch = 9
    assert client.beat().error is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_lost_answer_is_forgiven_if_the_member_owns_no_more_than_it_should(
    world: World,
) -> None:
    first = ConsumerClient(world)
    first.beat()
    owned = dict(first.owned)
    second = ConsumerClient(world)
    second.beat()
    first.beat()
    first.beat()
    assert first.epoch == 3
    first.epoch = 2
    assert first.beat().error is NONE
    assert first.epoch == 3
    first.epoch = 2
    assert first.beat(owned=owned).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert first.beat(owned=None).error is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_may_always_start_over(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    client.epoch = 0
    client.owned = {}
    client.told = None
    assert client.beat().error is NONE
    assert client.partitions() == {0, 1, 2, 3}


def test_a_full_heartbeat_gets_a_full_answer(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    client.beat()
    partial = client.beat()
    assert partial.reply.assignment is None
    full = client.beat(rebalance_timeout_ms=30_000, subscribed_topics=("orders",))
    assert full.reply.assignment == client.owned


@pytest.mark.parametrize(
    "changes",
    [
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"member_id": ""},
        {"rebalance_timeout_ms": -1},
        {"owned": None},
        {"owned": {"some": frozenset({1})}},
        {"subscribed_topics": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": 1, "member_id": ""},
    ],
)
def test_a_request_that_makes_no_sense_is_invalid(world: World, changes: object) -> None:
    assert isinstance(changes, dict)
    assert ConsumerClient(world).beat(**changes).error is ErrorCode.INVALID_REQUEST


def test_who_subscribes_to_nothing_yet_changes_nothing_for_the_others(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    idle = ConsumerClient(world, topics=())
    assert idle.beat().reply.member_epoch == 2
    assert idle.told == {}
    assert client.beat().reply.assignment is None
    idle.beat(subscribed_topics=("orders",))
    assert world.group().epoch == 3


def test_a_first_member_that_subscribes_to_nothing_is_a_member(world: World) -> None:
    idle = ConsumerClient(world, topics=())
    assert idle.beat().reply.member_epoch == 1
    world.restart()
    assert idle.beat().reply.member_epoch == 1


def test_an_assignor_we_do_not_have_is_refused(world: World) -> None:
    client = ConsumerClient(world, assignor="sticky")
    assert client.beat().error is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_old_clients_are_given_an_id(world: World) -> None:
    client = ConsumerClient(world)
    reply = client.beat(member_id="", may_generate_id=True).reply
    assert reply.member_id == "generated"


def test_who_is_not_a_member_is_told_so(world: World) -> None:
    stranger = ConsumerClient(world, epoch=3)
    assert stranger.beat().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert stranger.leave().error is ErrorCode.GROUP_ID_NOT_FOUND
    ConsumerClient(world).beat()
    assert stranger.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.leave().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_nobody_new(world: World) -> None:
    world.configure(consumer_max_size=1)
    client = ConsumerClient(world)
    client.beat()
    assert ConsumerClient(world).beat().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert client.beat().error is NONE


def test_the_protocol_can_be_off(world: World) -> None:
    world.configure(is_consumer_protocol_enabled=False)
    assert ConsumerClient(world).beat().error is ErrorCode.UNSUPPORTED_VERSION


def test_topics_that_grow_are_seen_at_the_next_heartbeat(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    world.grow("orders", 6)
    assert client.beat().reply.member_epoch == 3
    assert client.partitions() == {0, 1, 2, 3, 4, 5}


def test_topics_nobody_subscribes_to_do_not_matter(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    world.grow("returns", 6)
    assert client.beat().reply.member_epoch == 2


def test_a_topic_may_come_after_its_subscribers(world: World) -> None:
    client = ConsumerClient(world, topics=("later",))
    client.beat()
    assert client.told == {}
    world.grow("later", 3)
    client.beat()
    assert client.partitions("later") == {0, 1, 2}


def test_what_changed_while_nobody_led_is_seen_after_loading(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    world.topics.create("orders", 5)
    world.restart()
    client.beat()
    assert client.partitions() == {0, 1, 2, 3, 4}


def test_a_subscription_may_change(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    client.beat(subscribed_topics=("orders", "returns"))
    assert client.partitions("returns") == {0, 1}
    client.beat()
    client.beat(subscribed_topics=("returns",))
    client.beat()
    assert client.partitions("orders") == set()
    assert client.partitions("returns") == {0, 1}


def test_an_unsubscribed_topic_goes_at_once_even_before_there_is_a_new_target(
    world: World,
) -> None:
    world.configure(consumer_assignment_interval_ms=Bounded(15_000, 0, 15_000))
    client = ConsumerClient(world, topics=("orders", "returns"))
    client.beat()
    client.beat(subscribed_topics=("returns",))
    assert client.partitions("orders") == set()
    assert client.partitions("returns") == {0, 1}


def test_members_that_come_together_are_assigned_together(world: World) -> None:
    world.configure(consumer_assignment_interval_ms=Bounded(1_000, 0, 15_000))
    first, second = ConsumerClient(world), ConsumerClient(world)
    first.beat()
    second.beat()
    assert world.group().epoch == 3
    assert world.group().assignment_epoch == 2
    assert world.group().state() is STATE.ASSIGNING
    world.clock.advance(1_000)
    second.beat()
    assert world.group().assignment_epoch == 3


def test_a_groups_own_settings_apply_within_the_brokers_bounds(world: World) -> None:
    world.configure(
        groups={
            GROUP: {
                "consumer.session.timeout.ms": "50000",
                "consumer.heartbeat.interval.ms": "99000",
            }
        }
    )
    client = ConsumerClient(world)
    assert client.beat().reply.heartbeat_interval_ms == 15_000
    world.clock.advance(49_999)
    assert client.beat().error is NONE
    world.clock.advance(50_000)
    assert client.beat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_assignor_most_members_ask_for_is_used(world: World) -> None:
    clients = [ConsumerClient(world, member_id=f"m{n}", assignor="range") for n in range(2)]
    clients.append(ConsumerClient(world, member_id="m2", assignor="uniform"))
    settle(world, clients)
    assert world.group().preferred_assignor() == "range"
    assert [sorted(client.partitions()) for client in clients] == [[0, 1], [2], [3]]


def test_the_group_is_there_after_a_new_leader_loaded_it(world: World) -> None:
    clients = [ConsumerClient(world) for _ in range(3)]
    settle(world, clients)
    before = [client.partitions() for client in clients]
    world.restart()
    settle(world, clients, 2)
    assert [client.partitions() for client in clients] == before
    world.clock.advance(60_000)
    assert world.group().is_empty


def test_a_member_half_way_goes_on_after_a_new_leader_loaded_the_group(world: World) -> None:
    first = ConsumerClient(world)
    first.beat()
    second = ConsumerClient(world)
    second.beat()
    first.beat()
    world.restart()
    settle(world, [first, second], 2)
    assert len(first.partitions()) == len(second.partitions()) == 2


def test_answers_wait_until_the_records_are_durable() -> None:
    world = World(commits_at_once=False)
    world.topics.create("orders", 1)
    client = ConsumerClient(world)
    asked = world.ask(client.event())
    assert asked.is_waiting
    world.log.commit()
    assert asked.reply.member_epoch == 2


def test_static_members_keep_their_partitions_while_they_are_away(world: World) -> None:
    first = ConsumerClient(world, instance_id="a")
    second = ConsumerClient(world, instance_id="b")
    settle(world, [first, second])
    mine = first.partitions()
    epoch = world.group().epoch
    assert first.leave(-2).reply.member_epoch == -2
    settle(world, [second], 2)
    again = ConsumerClient(world, instance_id="a")
    again.beat()
    assert again.partitions() == mine
    assert world.group().epoch == epoch
    assert second.beat().reply.assignment is None
    assert first.beat(member_epoch=3).error is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_is_away_need_not_give_up_anything_in_time(world: World) -> None:
    """It leaves for a while owing partitions: its session ends its time, and nothing earlier."""
    first = ConsumerClient(world, instance_id="till-1", rebalance_timeout_ms=30_000)
    second = ConsumerClient(world)
    settle(world, [first])
    first.is_slow = True
    second.beat()
    world.clock.advance(1_000)
    first.beat()
    world.clock.advance(20_000)
    second.beat()
    first.beat()
    first.leave(-2)
    world.clock.advance(20_000)
    second.beat()
    assert first.member_id in world.group().profiles
    world.restart()
    world.clock.advance(31_000)
    second.beat()
    assert first.member_id in world.group().profiles
    world.clock.advance(15_000)
    assert first.member_id not in world.group().profiles


def test_a_static_member_that_does_not_come_back_is_gone(world: World) -> None:
    first = ConsumerClient(world, instance_id="a")
    second = ConsumerClient(world, instance_id="b")
    settle(world, [first, second])
    first.leave(-2)
    for _ in range(10):
        world.clock.advance(5_000)
        second.beat()
    assert second.partitions() == {0, 1, 2, 3}


def test_an_instance_that_is_alive_is_not_released(world: World) -> None:
    first = ConsumerClient(world, instance_id="a")
    first.beat()
    assert ConsumerClient(world, instance_id="a").beat().error is (ErrorCode.UNRELEASED_INSTANCE_ID)
    assert first.beat().error is NONE


def test_a_static_member_may_leave_for_good(world: World) -> None:
    first = ConsumerClient(world, instance_id="a")
    first.beat()
    first.leave(-1)
    assert world.group().is_empty
    assert ConsumerClient(world, instance_id="a").beat().error is NONE


def test_an_unknown_instance_is_unknown(world: World) -> None:
    ConsumerClient(world).beat()
    stranger = ConsumerClient(world, instance_id="x", epoch=2)
    assert stranger.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.leave(-2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_in_a_state_of_the_future_starts_over(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    key, value = holding_record(GROUP, client.member_id, world.group().holding(client.member_id))
    assert value is not None
    world.state.apply((key, replace(value, state=9)))
    assert client.beat().error is ErrorCode.FENCED_MEMBER_EPOCH
    client.epoch, client.owned, client.told = 0, {}, None
    assert client.beat().error is NONE
    assert client.partitions() == {0, 1, 2, 3}


def test_news_of_thousands_of_topics_is_held_against_few_subscriptions(world: World) -> None:
    """A group looks at its own topics, not at all that changed."""
    client = ConsumerClient(world)
    settle(world, [client])
    other = ConsumerClient(world, group_id="others", topics=("orders-7",))
    settle(world, [other])

    class Watched(frozenset[str]):
        looks = 0

        def __iter__(self) -> Iterator[str]:
            for name in frozenset.__iter__(self):
                self.looks += 1
                yield name

    changed = Watched(f"orders-{number}" for number in range(5_000))
    world.shard.submit(TopicsChanged(changed))
    assert not world.group().wants_refresh
    assert world.group("others").wants_refresh
    assert changed.looks == 0
