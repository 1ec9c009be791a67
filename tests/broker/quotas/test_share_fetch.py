"""A member of a share group uses its client's quota of bytes, as a consumer does."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from tests.broker.quotas.test_charging import ms
from tests.broker.share.member import ACCEPT, Member, configure_group
from tests.sim.cluster.kit import Kit

SIZE = 20_000
# For which an answer may have been under way.
ON_ITS_WAY_MS = 100


@pytest.fixture
def member() -> Member:
    kit = Kit(37)
    configure_group(kit, "g")
    return Member(kit, "g-a").join()


def set_quota(kit: Kit, **values: float) -> None:
    entity = [{"entity_type": "client-id", "entity_name": None}]
    ops = [{"key": key, "value": value, "remove": False} for key, value in values.items()]
    body = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    node = kit.leader().node_id
    answer = kit.client.ask(node, ApiKey.ALTER_CLIENT_QUOTAS, body)
    assert not answer.entries[0].error_code
    kit.wait(lambda: all(host.node is not None and host.node.quotas for host in kit.world.brokers))


def fetched(member: Member) -> tuple[Any, int]:
    """The answer, and how many records it brought."""
    answer = member.try_fetch()
    assert answer.error_code == ErrorCode.NONE
    return answer, len(member._heard(answer))


def test_a_member_above_its_quota_is_told_and_not_heard_for_as_long(member: Member) -> None:
    kit = member.kit
    for _ in range(2):
        member.produce(bytes(SIZE))
    set_quota(kit, consumer_byte_rate=1000)
    answer, count = fetched(member)
    assert count == 1  # more than fits, so it gets no more than that
    told_ms = ms(answer)
    assert told_ms > 9_000
    began = kit.world.clock.now()
    _, count = fetched(member)
    assert count == 1
    assert kit.world.clock.now() - began >= told_ms - ON_ITS_WAY_MS


def test_what_comes_with_a_throttle_time_is_acknowledged_as_ever(member: Member) -> None:
    member.produce(bytes(SIZE))
    set_quota(member.kit, consumer_byte_rate=1000)
    answer, count = fetched(member)
    assert (ms(answer) > 0, count) == (True, 1)
    assert member.acknowledge(0, 0, ACCEPT) is ErrorCode.NONE
    assert fetched(member)[1] == 0


def test_a_member_below_its_quota_is_not_told_to_wait(member: Member) -> None:
    member.produce(b"1")
    set_quota(member.kit, consumer_byte_rate=1000)
    answer, count = fetched(member)
    assert (ms(answer), count) == (0, 1)


def test_consumers_and_members_of_one_client_use_one_quota(member: Member) -> None:
    kit = member.kit
    member.produce(bytes(9_000))
    set_quota(kit, consumer_byte_rate=1000)
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    leader = kit.leader()
    topics = [{"topic_id": kit.partition(leader).topic_id, "partitions": [row]}]
    body: dict[str, Any] = {"max_wait": 0, "min_bytes": 0, "max_bytes": 1 << 20}
    consumed = kit.client.ask(
        leader.node_id, ApiKey.FETCH, {**body, "session_epoch": -1, "topics": topics}
    )
    assert ms(consumed) == 0
    answer, count = fetched(member)
    assert (ms(answer) > 0, count) == (True, 1)


def test_partitions_made_by_another_nodes_controller_are_waited_for(member: Member) -> None:
    """Its answer comes through an envelope: whoever asked is not heard by the node it asked."""
    kit = member.kit
    set_quota(kit, controller_mutation_rate=1)
    controller = kit.world.wait_for_controller().node_id
    node = next(host.node_id for host in kit.world.brokers if host.node_id != controller)
    row = {"name": "many", "num_partitions": 30, "replication_factor": 1}
    topic = {**row, "assignments": [], "configs": []}
    body = {"topics": [topic], "timeout": 5_000, "validate_only": False}
    answer = kit.client.ask(node, ApiKey.CREATE_TOPICS, body)
    assert ms(answer) > 10_000
    began = kit.world.clock.now()
    kit.client.ask(node, ApiKey.LIST_GROUPS, {"states_filter": []})
    assert kit.world.clock.now() - began >= ms(answer) - ON_ITS_WAY_MS
