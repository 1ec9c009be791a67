"""What becomes of a partition when those in sync are gone: it waits for them, or goes on without
their records where the topic says so; and who comes back follows."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import NO_NODE
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit

BROKERS_APART = ("broker",) * 3 + ("controller",)
TOPIC, BROKER = 2, 4
UNCLEAN = "unclean.leader.election.enable"


class Alone(Kit):
    """`last` is the only one in sync and dead; `early` died before all others, `late` then."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, BROKERS_APART, **{"unclean.leader.election.interval.ms": "2000"})
        assert self.produce(b"on all")
        self.last = self.leader()
        self.early, self.late = (host for host in self.world.brokers if host is not self.last)
        self.die(self.early)
        self.produce_until_acknowledged(b"on two")
        self.die(self.late)
        self.produce_until_acknowledged(b"on the last one")
        self.last.kill()
        self.wait(lambda: self.state().leader == NO_NODE)

    def die(self, host: Host) -> None:
        host.kill()
        self.wait(lambda: host.node_id not in self.state().isr)

    def allow_unclean(self, resource_type: int = TOPIC, name: str = "t") -> None:
        """At run time, by whoever decides that an old answer is better than none."""
        change = {"name": UNCLEAN, "config_operation": 0, "value": "true"}
        resource = {"resource_type": resource_type, "resource_name": name, "configs": [change]}
        body = {"resources": [resource], "validate_only": False}
        alive = next(host for host in self.world.brokers if host.is_serving)
        answer = self.client.ask(alive.node_id, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
        assert answer.responses[0].error_code == ErrorCode.NONE

    def start(self, host: Host) -> None:
        host.start()
        self.wait(lambda: host.is_serving)


def test_nobody_leads_until_one_that_has_everything_is_back() -> None:
    kit = Alone(1)
    kit.start(kit.early)
    kit.start(kit.late)
    kit.world.run(30_000)
    assert kit.state().leader == NO_NODE
    kit.start(kit.last)
    kit.wait(lambda: kit.state().leader == kit.last.node_id)
    kit.check()


@pytest.mark.parametrize(("resource_type", "name"), [(TOPIC, "t"), (BROKER, "")])
def test_where_it_is_allowed_another_leads_and_all_follow_it(resource_type: int, name: str) -> None:
    """Of the topic, or of all by the default of all brokers."""
    kit = Alone(2)
    kit.start(kit.early)
    kit.allow_unclean(resource_type, name)
    kit.wait(lambda: kit.leader_or_none() is kit.early)
    kit.acknowledged = [b"on all"]
    kit.produce_until_acknowledged(b"in another history")
    kit.start(kit.last)
    kit.start(kit.late)
    kit.check()
    for host in kit.world.brokers:
        assert b"on two" not in kit.contents(host)
        assert b"on the last one" not in kit.contents(host)


def test_all_follow_one_whose_disk_is_empty_where_that_is_all_there_is() -> None:
    kit = Alone(3)
    kit.wipe(kit.early)
    kit.start(kit.early)
    kit.allow_unclean()
    kit.wait(lambda: kit.leader_or_none() is kit.early)
    kit.acknowledged = []
    kit.start(kit.last)
    kit.start(kit.late)
    kit.produce_until_acknowledged(b"anew")
    kit.check()
    assert b"on" not in kit.contents(kit.last)


def test_all_are_killed_at_once_and_nothing_is_lost() -> None:
    kit = Kit(4)
    for number in range(5):
        assert kit.produce(b"value-%d" % number)
    for host in kit.world.brokers:
        host.kill()
    kit.world.run(1_000)
    for host in kit.world.brokers:
        host.start()
    kit.produce_until_acknowledged(b"after")
    kit.check()


def test_a_follower_begins_anew_where_its_leader_does() -> None:
    """What it lacks was deleted meanwhile: it finds out by ListOffsets."""
    kit = Kit(5)
    assert kit.produce(b"before")
    away = kit.follower()
    away.kill()
    for number in range(6):
        kit.produce_until_acknowledged(b"value-%d" % number)
    partition: Any = {"partition_index": 0, "offset": 4}
    body = {"topics": [{"name": "t", "partitions": [partition]}], "timeout": 30_000}
    answer = kit.ask_leader(ApiKey.DELETE_RECORDS, body)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    away.start()
    kit.wait(lambda: away.node_id in kit.in_sync())
    log = kit.partition(away).log
    assert (log.log_start_offset, log.log_end_offset) == (4, 7)
    assert b"before" not in kit.contents(away)
