"""Topics whose records go once all share groups are done with them."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from tests.broker.share.member import (
    ACCEPT,
    RELEASE,
    TOPIC_RESOURCE,
    Member,
    configure,
    configure_group,
)
from tests.sim.cluster.kit import Kit

FOLLOWS = {"kafkapy.retention.follows.share.groups": "true"}
LOOKS_MS = 11_000


def kit(seed: int, records: int = 6) -> Kit:
    made = Kit(seed)
    for number in range(records):
        made.produce_until_acknowledged(b"%d" % number)
    return made


def member(made: Kit, group: str) -> Member:
    configure_group(made, group)
    return Member(made, f"{group}-a", group=group).join()


def starts(made: Kit) -> set[int]:
    """Of all replicas that are there."""
    partitions = [made.partition(host) for host in made.world.brokers]
    return {one.log.log_start_offset for one in partitions if one is not None}


def test_the_log_begins_where_the_slowest_group_is() -> None:
    made = kit(51)
    configure(made, TOPIC_RESOURCE, "t", FOLLOWS)
    fast, slow = member(made, "fast"), member(made, "slow")
    for one in (fast, slow):
        one.fetch()
    fast.acknowledge(0, 5, ACCEPT)
    slow.acknowledge(2, 3, ACCEPT)
    made.world.run(LOOKS_MS)
    assert starts(made) == {0}, "slow has 0 and 1 still"
    slow.acknowledge(0, 1, ACCEPT)
    made.wait(lambda: starts(made) == {4}, LOOKS_MS)
    slow.acknowledge(4, 5, ACCEPT)
    made.wait(lambda: starts(made) == {6}, LOOKS_MS)


def test_a_group_of_which_nobody_is_there_is_waited_for() -> None:
    made = kit(52)
    configure(made, TOPIC_RESOURCE, "t", FOLLOWS)
    away, here = member(made, "away"), member(made, "here")
    away.fetch()
    away.acknowledge(0, 1, ACCEPT)
    away.acknowledge(2, 5, RELEASE)
    away.session_epoch = -1
    away.fetch()
    away.epoch = -1
    away.beat()
    here.fetch()
    here.acknowledge(0, 5, ACCEPT)
    made.wait(lambda: starts(made) == {2}, 2 * LOOKS_MS)
    made.world.run(3 * LOOKS_MS)
    assert starts(made) == {2}


def test_a_group_that_was_moved_back_keeps_what_is_behind() -> None:
    """Though the leader still knows where it was: somebody kept a session."""
    made = kit(57)
    one = member(made, "g")
    one.fetch()
    one.acknowledge(0, 5, ACCEPT)
    one.epoch = -1
    one.beat()
    partition = {"partition_index": 0, "start_offset": 2}
    topics = [{"topic_name": "t", "partitions": [partition]}]
    find = {"key_type": 0, "coordinator_keys": ["g"]}
    node = made.client.ask(made.leader().node_id, ApiKey.FIND_COORDINATOR, find).coordinators[0]
    body = {"group_id": "g", "topics": topics}
    answer = made.client.ask(node.node_id, ApiKey.ALTER_SHARE_GROUP_OFFSETS, body)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
    configure(made, TOPIC_RESOURCE, "t", FOLLOWS)
    made.wait(lambda: starts(made) != {0}, 2 * LOOKS_MS)
    made.world.run(2 * LOOKS_MS)
    assert starts(made) == {2}


def test_topics_that_do_not_ask_for_it_keep_their_records() -> None:
    made = kit(53)
    one = member(made, "g")
    one.fetch()
    one.acknowledge(0, 5, ACCEPT)
    made.world.run(3 * LOOKS_MS)
    assert starts(made) == {0}


def test_without_a_share_group_nothing_goes() -> None:
    made = kit(54)
    configure(made, TOPIC_RESOURCE, "t", FOLLOWS)
    made.world.run(3 * LOOKS_MS)
    assert starts(made) == {0}


def test_whoever_coordinates_the_slowest_group_next_knows_of_it() -> None:
    made = kit(55)
    configure(made, TOPIC_RESOURCE, "t", FOLLOWS)
    slow, fast = member(made, "slow"), member(made, "fast")
    slow.fetch()
    find = {"key_type": 0, "coordinator_keys": ["slow"]}
    node = made.leader().node_id
    dead = made.client.ask(node, ApiKey.FIND_COORDINATOR, find).coordinators[0].node_id
    host = next(one for one in made.world.brokers if one.node_id == dead)
    host.kill()
    made.wait(lambda: made.leader_or_none() is not None, 60_000)
    made.wait(lambda: len(fast.try_got()) == 6)
    made.wait(lambda: fast.try_acknowledge(0, 5, ACCEPT).error_code == ErrorCode.NONE)
    made.world.run(3 * LOOKS_MS)
    assert starts(made) == {0}
    host.start()


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_compacted_topics_are_refused_it(policy: str) -> None:
    made = Kit(56)
    configs = [
        {"name": "cleanup.policy", "config_operation": 0, "value": policy},
        {"name": next(iter(FOLLOWS)), "config_operation": 0, "value": "true"},
    ]
    resource = {"resource_type": TOPIC_RESOURCE, "resource_name": "t", "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    node = made.world.wait_for_controller().node_id
    answer = made.client.ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    assert answer.responses[0].error_code == ErrorCode.INVALID_CONFIG
