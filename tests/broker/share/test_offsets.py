"""How far a share group is, and moving it: describe, alter and delete its offsets."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.clients.direct import Client
from tests.broker.share.member import ACCEPT, Member, configure_group
from tests.sim.cluster.kit import Kit


@pytest.fixture(scope="module")
def kit() -> Kit:
    return Kit(41)


def member(kit: Kit, name: str, records: int) -> Member:
    kit.create(name)
    configure_group(kit, name)
    joined = Member(kit, f"{name}-a", group=name, topics=(name,)).join()
    for number in range(records):
        joined.produce(b"%d" % number)
    return joined


def leave(one: Member) -> None:
    if one.session_epoch:
        one.session_epoch = -1
        one.fetch()
    one.epoch = -1
    one.beat()


def ask(kit: Kit, group: str, api: ApiKey, body: dict[str, Any]) -> Any:
    find = {"key_type": 0, "coordinator_keys": [group]}
    node = kit.leader().node_id
    found = kit.client.ask(node, ApiKey.FIND_COORDINATOR, find).coordinators[0]
    return kit.client.ask(found.node_id, api, body)


def described(kit: Kit, group: str, topic: str) -> Any:
    asked = {"topic_name": topic, "partitions": [0]}
    body = {"groups": [{"group_id": group, "topics": [asked]}]}
    answer = ask(kit, group, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, body)
    return answer.groups[0].topics[0].partitions[0]


def alter(kit: Kit, group: str, topic: str, offset: int) -> Any:
    partition = {"partition_index": 0, "start_offset": offset}
    body = {"group_id": group, "topics": [{"topic_name": topic, "partitions": [partition]}]}
    return ask(kit, group, ApiKey.ALTER_SHARE_GROUP_OFFSETS, body)


def delete(kit: Kit, group: str, topic: str) -> Any:
    body = {"group_id": group, "topics": [{"topic_name": topic}]}
    return ask(kit, group, ApiKey.DELETE_SHARE_GROUP_OFFSETS, body)


def test_the_lag_is_what_is_not_over_also_between_what_is(kit: Kit) -> None:
    one = member(kit, "lags", records=5)
    one.fetch()
    one.acknowledge(1, 2, ACCEPT)
    row = described(kit, "lags", "lags")
    assert (row.start_offset, row.lag) == (0, 3)
    one.acknowledge(0, 0, ACCEPT)
    assert described(kit, "lags", "lags").lag == 2


def test_of_a_topic_that_it_does_not_read_nothing_is_known(kit: Kit) -> None:
    member(kit, "knows", records=0)
    kit.create("unread")
    row = described(kit, "knows", "unread")
    assert (row.start_offset, row.lag) == (-1, -1)


def test_offsets_move_once_nobody_reads(kit: Kit) -> None:
    one = member(kit, "moves", records=4)
    one.fetch()
    one.acknowledge(0, 3, ACCEPT)
    assert alter(kit, "moves", "moves", 2).error_code == ErrorCode.NON_EMPTY_GROUP
    leave(one)
    assert alter(kit, "moves", "moves", 2).responses[0].partitions[0].error_code == 0
    assert described(kit, "moves", "moves").start_offset == 2
    late = Member(kit, "moves-b", "moves", ("moves",)).join()
    assert [(got.offset, got.delivery_count) for got in late.fetch()] == [(2, 1), (3, 1)]


def test_what_there_is_moves_whatever_else_is_named(kit: Kit) -> None:
    kit.create("partly")
    rows = [{"partition_index": one, "start_offset": 0} for one in (9, 0)]
    topics = [{"topic_name": "partly", "partitions": rows}]
    body = {"group_id": "partly", "topics": topics}
    answer = ask(kit, "partly", ApiKey.ALTER_SHARE_GROUP_OFFSETS, body)
    told = [(one.partition_index, one.error_code) for one in answer.responses[0].partitions]
    assert told == [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (0, ErrorCode.NONE)]
    assert described(kit, "partly", "partly").start_offset == 0


def test_offsets_move_though_somebody_who_is_no_member_kept_a_session(kit: Kit) -> None:
    """Its leader goes on with what it knows, until the next one begins to read."""
    one = member(kit, "lingers", records=4)
    one.fetch()
    one.acknowledge(0, 3, ACCEPT)
    one.epoch = -1
    one.beat()
    assert alter(kit, "lingers", "lingers", 2).responses[0].partitions[0].error_code == 0
    late = Member(kit, "lingers-b", "lingers", ("lingers",))
    late.client = Client(kit.world, late.name)
    late.join()
    found: list[int] = []
    for _ in range(50):
        found = [got.offset for got in late.try_got()]
        if found:
            break
        kit.world.run(100)
    assert found == [2, 3]


def test_a_group_made_anew_begins_anew_though_somebody_kept_a_session(kit: Kit) -> None:
    """Its epochs are those of the first one again."""
    one = member(kit, "reborn", records=4)
    one.fetch()
    one.acknowledge(0, 3, ACCEPT)
    one.epoch = -1
    one.beat()
    body = {"groups_names": ["reborn"]}
    kit.wait(lambda: ask(kit, "reborn", ApiKey.DELETE_GROUPS, body).results[0].error_code == 0)
    late = Member(kit, "reborn-b", "reborn", ("reborn",))
    late.client = Client(kit.world, late.name)
    late.join()
    found: list[int] = []
    for _ in range(50):
        found = [got.offset for got in late.try_got()]
        if found:
            break
        kit.world.run(100)
    assert found == [0, 1, 2, 3]


def test_what_is_deleted_begins_anew(kit: Kit) -> None:
    one = member(kit, "deletes", records=2)
    one.fetch()
    one.acknowledge(0, 1, ACCEPT)
    assert delete(kit, "deletes", "deletes").error_code == ErrorCode.NON_EMPTY_GROUP
    leave(one)
    assert delete(kit, "deletes", "deletes").responses[0].error_code == ErrorCode.NONE
    assert described(kit, "deletes", "deletes").start_offset == -1
    again = delete(kit, "deletes", "deletes").responses[0]
    assert again.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    late = Member(kit, "deletes-b", "deletes", ("deletes",)).join()
    assert [got.offset for got in late.fetch()] == [0, 1]


def test_unknown_topics_are_said_to_be(kit: Kit) -> None:
    leave(member(kit, "strange", records=0))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(kit, "strange", "nowhere", 0).responses[0].partitions[0].error_code == unknown
    assert delete(kit, "strange", "nowhere").responses[0].error_code == unknown


def test_a_group_that_has_members_is_not_deleted(kit: Kit) -> None:
    one = member(kit, "goes", records=1)
    body = {"groups_names": ["goes"]}
    refused = ask(kit, "goes", ApiKey.DELETE_GROUPS, body).results[0]
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
    leave(one)
    kit.wait(lambda: ask(kit, "goes", ApiKey.DELETE_GROUPS, body).results[0].error_code == 0)
    describe = {"group_ids": ["goes"], "include_authorized_operations": False}
    answer = ask(kit, "goes", ApiKey.SHARE_GROUP_DESCRIBE, describe).groups[0]
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
