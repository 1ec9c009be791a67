"""Ways to lose what was acknowledged, played: each was found by reading, and did lose it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import later
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit
from tests.sim.cluster.test_directories import BROKERS_APART, SPARE, Jbod

TOPIC = 2


def sent(kit: Kit, value: bytes) -> list[Any]:
    """To the leader, with acks=all; the list gets the error of the answer."""
    codes: list[Any] = []
    body: Mapping[str, Any] = {**kit.to_produce(value), "timeout": 60_000}

    def answered(answer: Any) -> None:
        codes.append(answer.responses[0].partition_responses[0].error_code)

    leader = kit.leader().node_id
    kit.client.send(leader, ApiKey.PRODUCE, body, answered, timeout_ms=90_000)
    return codes


class Behind(Kit):
    """Its topic is the last of many: a node that hears of all of them comes to it last."""

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        if name == "t":
            super().create("before", partitions=150)
            self.world.run_until(lambda: self.world.is_in_sync, 60_000)
        super().create(name, partitions, **configs)


@pytest.mark.parametrize("kind", [Kit, Behind])
def test_fewer_may_be_in_sync_while_a_leader_was_paused_that_has_been_replaced(
    kind: type[Kit],
) -> None:
    """The leader has a record that nobody else has, and is paused. Another one leads, and then
    min.insync.replicas is lowered so that the old leader, as it was, would be enough. It hears of
    both at once: it must hear that it leads no more before it counts."""
    quick = {"min.insync.replicas": "2", "controller.quorum.fetch.timeout.ms": "2000"}
    kit = kind(1, BROKERS_APART, **quick)
    world = kit.world
    old = kit.leader()
    new, dead = (host for host in world.brokers if host is not old)
    assert kit.produce(b"first")
    dead.kill()
    kit.wait(lambda: dead.node_id not in kit.state().isr)
    world.network.cut_both(old.name, new.name)
    codes = sent(kit, b"second")
    world.run(50)
    new.stop(lambda: None)
    kit.wait(lambda: not new.is_alive)
    world.run(200)
    old.pause()
    world.network.mend_both(old.name, new.name)
    new.start()
    kit.wait(lambda: kit.state().leader == new.node_id)
    change = {"name": "min.insync.replicas", "config_operation": 0, "value": "1"}
    resource = {"resource_type": TOPIC, "resource_name": "t", "configs": [change]}
    body = {"resources": [resource], "validate_only": False}
    kit.client.ask(new.node_id, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    world.run(500)
    assert codes == []
    old.resume()
    kit.wait(lambda: bool(codes))
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_broker_without_its_directory_does_not_lead_what_was_in_it() -> None:
    """It stood by in the ELR, its directory was lost, and it comes back without one: in another
    directory it begins anew, with nothing. Whoever has the records leads."""
    kit = Jbod(1, BROKERS_APART, **{"min.insync.replicas": "2"})
    world = kit.world
    has_all = kit.leader()
    loses, dead = (host for host in world.brokers if host is not has_all)
    kit.move(loses, "t", SPARE)
    assert kit.produce(b"first")
    kit.wait_for_all_in_sync()
    dead.kill()
    kit.wait(lambda: dead.node_id not in kit.state().isr)
    assert kit.produce(b"second")
    kit.lose_spare(loses)
    kit.wait(lambda: loses.node_id in kit.state().elr)
    kit.stop(loses)
    kit.stop(has_all)
    kit.wait(lambda: kit.state().leader == -1)
    loses.settings["log.dirs"] = "/data/a"
    loses.start()
    kit.wait(lambda: loses.is_serving)
    kit.wait(lambda: loses.node_id not in kit.state().elr)
    assert kit.state().leader == -1
    has_all.start()
    kit.wait(lambda: kit.state().leader == has_all.node_id)
    assert b"second" in kit.contents(has_all)
    dead.start()
    kit.check()


def test_a_directory_that_comes_back_leads_what_is_in_it() -> None:
    """The only one that has the records: it was not there for one start, and nobody began anew."""
    kit = Jbod(2, BROKERS_APART)
    has_all = kit.leader()
    kit.move(has_all, "t", SPARE)
    others = [host for host in kit.world.brokers if host is not has_all]
    for host in others:
        host.kill()
    kit.wait(lambda: kit.state().isr == (has_all.node_id,))
    assert kit.produce(b"alone")
    has_all.kill()
    has_all.disk.fail("any", in_path=f"{SPARE}/meta.properties")
    has_all.start()
    kit.wait(lambda: has_all.is_serving)
    assert kit.state().leader == -1
    has_all.kill()
    has_all.start()
    kit.wait(lambda: kit.state().leader == has_all.node_id)
    for host in others:
        host.start()
    kit.check()


def test_a_lost_directory_holds_up_nobody() -> None:
    """Its broker lives, and had everything when it fetched last: it is not in sync all the same."""
    kit = Jbod(3, BROKERS_APART, **{"min.insync.replicas": "2"})
    leader = kit.leader()
    loses = next(host for host in kit.world.brokers if host is not leader)
    kit.move(loses, "t", SPARE)
    kit.wait_for_all_in_sync()
    kit.lose_spare(loses)
    codes = sent(kit, b"goes on")
    kit.wait(lambda: bool(codes), 2_000)
    assert codes == [ErrorCode.NONE]
    kit.world.run(2_000)
    assert loses.node_id not in kit.state().isr


def test_a_dead_broker_is_fenced_though_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the ISRs some at a time. The leaders must not take it in again meanwhile, for what
    it had when it fetched last."""
    monkeypatch.setattr(sweeps, "SLICE", 4)
    go_on = sweeps.Sweeps.go_on

    def slowly(self: sweeps.Sweeps, key: Any, now: Any) -> Any:
        step = go_on(self, key, now)
        if step.timers.get(key) == now:
            step = replace(step, timers={**step.timers, key: later(now, 20)})
        return step

    monkeypatch.setattr(sweeps.Sweeps, "go_on", slowly)
    kit = Kit(1, BROKERS_APART)
    for name in ("many", "more"):
        kit.create(name, partitions=40)
    world = kit.world
    world.run_until(lambda: world.is_in_sync, 60_000)
    dead = kit.follower()
    dead.kill()

    def is_fenced() -> bool:
        node = world.wait_for_controller().node
        return node is not None and node.image.brokers[dead.node_id].fenced

    kit.wait(is_fenced, 2_000)
    dead.start()
    world.run_until(lambda: world.is_in_sync, 60_000)


def test_who_was_not_heard_for_a_while_is_in_sync_again_where_nothing_is_written() -> None:
    """It has nothing to say of such a partition; that it fetches on is enough."""
    kit = Kit(5, BROKERS_APART)
    kit.create("idle", partitions=6)
    world = kit.world
    world.run_until(lambda: world.is_in_sync, 60_000)
    paused = kit.follower()
    paused.pause()
    kit.wait(lambda: all(paused.node_id not in kit.state("idle", n).isr for n in range(6)))
    paused.resume()
    world.run_until(lambda: world.is_in_sync, 20_000)


def test_a_replica_that_is_taken_away_and_given_back_keeps_its_log() -> None:
    """A node that is behind hears of both, and of a setting between them that acts at once. What
    was to be put aside is in use again."""
    kit = Kit(1, BROKERS_APART, **{"broker.session.timeout.ms": "30000"})
    world = kit.world
    kit.lead([1, 2, 3])
    for n in range(3):
        assert kit.produce(b"record %d" % n)
    kit.wait_for_all_in_sync()
    behind = next(host for host in world.brokers if host.node_id == 3)
    behind.pause()
    for name, count, replicas in (("few", 1, 2), ("many", 100, 3)):
        topic = {"name": name, "num_partitions": count, "replication_factor": replicas}
        body = {"topics": [{**topic, "configs": []}], "timeout": 5_000}
        kit.client.send(1, ApiKey.CREATE_TOPICS, body, lambda _: None)
        world.run(300)
    reassign(kit, [1, 2])
    configs = [{"name": "retention.ms", "config_operation": 0, "value": "86400000"}]
    resource = {"resource_type": TOPIC, "resource_name": "t", "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    kit.client.ask(1, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    world.run(100)
    reassign(kit, [1, 2, 3])
    behind.resume()
    kit.wait(lambda: 3 in kit.state().isr)
    world.run(3_000)
    others = [host for host in world.brokers if host is not behind]
    for host in others:
        host.kill()
        kit.wait(partial(has_left, kit, host))
    behind.kill()
    behind.start()
    kit.wait(lambda: behind.is_serving)
    for host in others:
        host.start()
    kit.check()


def has_left(kit: Kit, host: Host) -> bool:
    return host.node_id not in kit.state().isr


def reassign(kit: Kit, replicas: list[int]) -> None:
    partition = {"partition_index": 0, "replicas": replicas}
    body = {"topics": [{"name": "t", "partitions": [partition]}], "timeout": 10_000}
    kit.client.ask(1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
    kit.world.run(100)


def test_where_a_replica_was_moved_to_is_told_before_what_was_lost() -> None:
    """It moved to another directory while no controller was there, and then the first one failed:
    it has not begun anew, it has everything."""
    kit = Jbod(2, BROKERS_APART)
    world = kit.world
    has_all = kit.leader()
    kit.move(has_all, "t", SPARE)
    kit.wait_for_all_in_sync()
    others = [host for host in world.brokers if host is not has_all]
    for host in others:
        host.kill()
    kit.wait(lambda: kit.state().isr == (has_all.node_id,))
    assert kit.produce(b"alone")
    world.run(1_000)
    controller = next(host for host in world.hosts.values() if host not in world.brokers)
    controller.kill()
    world.run(200)
    kit.move(has_all, "t", "/data/a")
    kit.lose_spare(has_all)
    world.run(300)
    controller.start()
    kit.wait(lambda: kit.state().leader == has_all.node_id)
    for host in others:
        host.start()
    kit.check()


def test_a_broker_leads_nothing_in_a_directory_that_fails_as_it_starts() -> None:
    """The heartbeat that asks to serve says so, too."""
    kit = Jbod(3, BROKERS_APART, **{"min.insync.replicas": "2"})
    world = kit.world
    loses = kit.leader()
    other, dead = (host for host in world.brokers if host is not loses)
    kit.move(loses, "t", SPARE)
    kit.wait_for_all_in_sync()
    dead.kill()
    kit.wait(lambda: dead.node_id not in kit.state().isr)
    assert kit.produce(b"two")
    world.run(1_000)
    kit.stop(other)
    kit.stop(loses)
    kit.wait(lambda: kit.state().leader == -1)
    controller = next(host for host in world.hosts.values() if host not in world.brokers)
    loses.disk.fail("any", in_path=f"{SPARE}/t-0")

    def heard(_: object, line: object) -> None:
        if "log directory offline" in str(line):
            controller.kill()

    loses.on_line.append(heard)
    loses.start()
    world.run(2_500)
    controller.start()
    kit.wait(lambda: loses.is_serving)
    world.run(1_000)
    assert kit.state().leader == -1
    other.start()
    kit.wait(lambda: kit.state().leader == other.node_id)
    dead.start()
    kit.wait(lambda: dead.node_id in kit.state().isr)
    assert b"two" in kit.contents(dead)
