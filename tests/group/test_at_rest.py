"""Heartbeats at rest: which are answered in one go, and that the others are decided at length.

CheckedMachine decides each of them at length as well and compares the steps.
"""

from dataclasses import replace
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.consumer.at_rest import heartbeat_at_rest
from kafkapy.group.consumer.member import MemberState
from kafkapy.group.records import ClassicMemberMetadata
from tests.group.world import ConsumerClient, World, settle

SAYS_NOTHING = {"owned": None}


class Members:
    """A group at rest: one member by name, one with a regular expression, one static."""

    def __init__(self) -> None:
        self.world = World(initial_rebalance_delay_ms=0)
        self.world.topics.create("orders", 8)
        self.plain = ConsumerClient(self.world)
        self.regex = ConsumerClient(self.world, topics=None, regex="ord.*")
        self.static = ConsumerClient(self.world, instance_id="kiosk", rack="r1", assignor="range")
        self.consumers = [self.plain, self.regex, self.static]
        settle(self.world, self.consumers)
        self.settle()

    def settle(self) -> None:
        settle(self.world, self.consumers)

    def is_at_rest(self, client: ConsumerClient, **changes: Any) -> bool:
        """Whether the heartbeat is answered in one go; it is sent as well."""
        event = client.event(**{**SAYS_NOTHING, **changes})
        world = self.world
        group = world.group(event.group_id)
        short = heartbeat_at_rest(event, group, world.settings, world.clock.now())
        world.ask(event)
        return short is not None


@pytest.fixture
def members() -> Members:
    return Members()


def test_a_member_that_says_nothing_new_is_at_rest(members: Members) -> None:
    assert members.is_at_rest(members.plain)
    assert members.is_at_rest(members.static)
    assert members.is_at_rest(members.static, instance_id=None)


def test_its_session_goes_on_from_there(members: Members) -> None:
    timeout_ms = members.world.settings.session_timeout_ms(members.plain.group_id)
    for _ in range(3):
        members.world.clock.advance(timeout_ms - 1)
        for one in (members.plain, members.static):
            assert members.world.ask(one.event(**SAYS_NOTHING)).error is ErrorCode.NONE
        members.regex.beat()


def test_a_regular_expression_may_be_due(members: Members) -> None:
    assert not members.is_at_rest(members.regex)


@pytest.mark.parametrize(
    "changes",
    [
        {"owned": {}},
        {"subscribed_topics": ("returns",)},
        {"subscribed_regex": "ret.*"},
        {"subscribed_regex": ""},
        {"server_assignor": "uniform"},
        {"server_assignor": "nobody's"},
        {"rack_id": "r9"},
        {"rack_id": ""},
        {"rebalance_timeout_ms": 7},
        {"client_id": "another"},
        {"client_host": "/10.0.0.9"},
        {"instance_id": "kiosk"},
        {"instance_id": "unknown"},
        {"instance_id": ""},
        {"member_id": "unknown"},
        {"member_id": ""},
        {"member_epoch": 1},
        {"member_epoch": 99},
        {"member_epoch": -1},
        {"member_epoch": -2},
        {"member_epoch": -3},
    ],
    ids=str,
)
def test_whoever_says_more_is_decided_at_length(members: Members, changes: dict[str, Any]) -> None:
    assert not members.is_at_rest(members.plain, **changes)


@pytest.mark.parametrize("instance_id", ["another", ""])
def test_a_static_member_under_another_name_is_decided_at_length(
    members: Members, instance_id: str
) -> None:
    assert not members.is_at_rest(members.static, instance_id=instance_id)


def test_a_static_member_whose_place_was_taken_is_decided_at_length(members: Members) -> None:
    group = members.world.group()
    group.static_members["kiosk"] = "its next life"
    event = members.static.event(**SAYS_NOTHING)
    settings, now = members.world.settings, members.world.clock.now()
    assert heartbeat_at_rest(event, group, settings, now) is None


def test_a_group_with_a_new_topic_is_not_at_rest(members: Members) -> None:
    members.world.grow("orders", 9)
    assert not members.is_at_rest(members.plain)


def test_a_group_whose_targets_are_due_is_not_at_rest(members: Members) -> None:
    """The newcomer raises the epoch, and the targets have to wait for the interval."""
    members.plain.beat(rebalance_timeout_ms=30_000, subscribed_topics=("orders", "returns"))
    group = members.world.group()
    ConsumerClient(members.world).beat()
    assert group.epoch > group.assignment_epoch
    assert not members.is_at_rest(members.plain)


def test_a_member_that_waits_for_partitions_is_not_at_rest(members: Members) -> None:
    members.world.clock.advance(2_000)
    newcomer = ConsumerClient(members.world)
    newcomer.beat()
    group = members.world.group()
    assert newcomer.epoch == group.epoch == group.assignment_epoch
    assert group.holding(newcomer.member_id).state is MemberState.UNRELEASED_PARTITIONS
    assert not members.is_at_rest(newcomer)
    assert not members.is_at_rest(members.plain)


def test_a_member_that_spoke_the_classic_protocol_is_not_at_rest(members: Members) -> None:
    group, member_id = members.world.group(), members.plain.member_id
    classic = ClassicMemberMetadata(session_timeout_ms=10_000, supported_protocols=())
    group.profiles[member_id] = replace(group.profiles[member_id], classic=classic)
    assert not members.is_at_rest(members.plain)


def test_nobody_is_at_rest_once_the_protocol_is_switched_off(members: Members) -> None:
    members.world.configure(is_consumer_protocol_enabled=False)
    assert not members.is_at_rest(members.plain)
