"""DeleteRecords on several nodes: answered once all that are alive have deleted."""

from typing import Any

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from tests.sim.cluster.kit import Kit


def delete(kit: Kit, offset: int, timeout_ms: int = 30_000) -> Any:
    body = {
        "topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": offset}]}],
        "timeout": timeout_ms,
    }
    return kit.ask_leader(ApiKey.DELETE_RECORDS, body).topics[0].partitions[0]


def starts(kit: Kit) -> list[int]:
    return [kit.partition(host).log.log_start_offset for host in kit.world.brokers]


def filled(seed: int) -> Kit:
    kit = Kit(seed)
    for number in range(8):
        assert kit.produce(b"value-%d" % number)
    return kit


def test_all_replicas_have_deleted_when_it_is_answered() -> None:
    kit = filled(1)
    row = delete(kit, 5)
    assert (row.error_code, row.low_watermark) == (ErrorCode.NONE, 5)
    assert starts(kit) == [5, 5, 5]
    row = delete(kit, -1)
    assert (row.error_code, row.low_watermark) == (ErrorCode.NONE, 8)
    assert starts(kit) == [8, 8, 8]


def test_a_follower_that_is_away_is_waited_for_until_the_time_is_up() -> None:
    """It is alive by the metadata, so nobody knows whether it has deleted."""
    kit = filled(2)
    away = kit.follower()
    kit.world.network.cut(away.name, kit.leader().name)
    kit.world.network.cut(kit.leader().name, away.name)
    row = delete(kit, 5, timeout_ms=2_000)
    assert row.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert row.low_watermark == 0
    assert kit.partition(kit.leader()).log.log_start_offset == 5
    assert not kit.partition(kit.leader()).start_watchers


def test_a_dead_follower_is_not_waited_for() -> None:
    kit = filled(3)
    dead = kit.follower()
    dead.kill()
    row = delete(kit, 5, timeout_ms=60_000)
    assert (row.error_code, row.low_watermark) == (ErrorCode.NONE, 5)
    dead.start()
    kit.wait_for_all_in_sync()
    kit.wait(lambda: starts(kit) == [5, 5, 5])


def test_a_leader_that_is_replaced_says_so_to_who_waits() -> None:
    kit = filled(4)
    old = kit.leader()
    for other in kit.others(old):
        kit.world.network.cut_both(old.name, other)
    answers: list[Any] = []
    partition = {"partition_index": 0, "offset": 5}
    body = {"topics": [{"name": "t", "partitions": [partition]}], "timeout": 60_000}
    kit.client.send(old.node_id, ApiKey.DELETE_RECORDS, body, answers.append, timeout_ms=60_000)
    kit.wait(lambda: kit.leader_or_none() not in (None, old))
    kit.world.network.heal()
    kit.wait(lambda: bool(answers))
    row = answers[0].topics[0].partitions[0]
    assert (row.error_code, row.low_watermark) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
