"""Several log directories on each node: the controller knows what is where, and what is lost."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.kraft.storage.format import format_directories
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster import world
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import COMBINED
from tests.sim.cluster.kit import Kit

# The metadata is in /data/a: a node that loses that ends.
SPARE = "/data/b"
BROKERS_APART = ("broker",) * 3 + ("controller",)


class Jbod(Kit):
    """A topic of four partitions: two in each directory of each node."""

    def __init__(self, seed: int, roles: Sequence[str] = (COMBINED,) * 3, **settings: str) -> None:
        super().__init__(seed, roles, **settings)
        self.create("many", partitions=4)
        self.wait(self.says_the_truth)

    def broker(self, host: Host) -> BrokerRole:
        assert host.node is not None
        assert host.node.broker is not None
        return host.node.broker

    def where(self, host: Host, index: int) -> UUID | None:
        """By the disk; None if it is not there."""
        broker = self.broker(host)
        partition = broker.partitions.get("many", index)
        return None if partition is None else broker.logs.directory_id_of(partition.log)

    def move(self, host: Host, topic: str, path: str) -> None:
        """The replica of its first partition, to another directory of the same node."""
        wanted = {"path": path, "topics": [{"name": topic, "partitions": [0]}]}
        answer = self.client.ask(host.node_id, ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": [wanted]})
        assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
        self.wait(lambda: path in self.partition(host).log.directory)

    def stop(self, host: Host) -> None:
        stopped: list[bool] = []
        host.stop(lambda: stopped.append(True))
        self.wait(lambda: bool(stopped))

    def says_the_truth(self) -> bool:
        return all(
            self.state("many", index).directory(host.node_id) == self.where(host, index)
            for host in self.world.brokers
            for index in range(4)
        )

    def in_spare(self, host: Host) -> list[int]:
        logs = [log for log, _ in self.broker(host).logs.in_directory(SPARE)]
        found = [log.topic_partition for log in logs]
        return sorted(one.partition for one in found if one.topic == "many")

    def leaders(self) -> list[int]:
        return [self.state("many", index).leader for index in range(4)]

    def epochs(self) -> list[int]:
        return [self.state("many", index).leader_epoch for index in range(4)]

    def are_all_in_sync(self) -> bool:
        return all(set(self.state("many", index).isr) == {1, 2, 3} for index in range(4))

    def lose_spare(self, host: Host) -> None:
        failed = DiskFailed(f"{SPARE}/many-0/0.log", "I/O error")
        host.run(lambda: self.broker(host).directory_failed(failed))


def test_the_controller_knows_where_every_replica_is() -> None:
    kit = Jbod(1)
    for host in kit.world.brokers:
        assert len({kit.where(host, index) for index in range(4)}) == 2


def test_a_replica_that_moves_between_directories_says_so() -> None:
    kit = Jbod(2)
    host = kit.follower()
    index = kit.in_spare(host)[0]
    before = kit.where(host, index)
    move = {"path": "/data/a", "topics": [{"name": "many", "partitions": [index]}]}
    answer = kit.client.ask(host.node_id, ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": [move]})
    assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
    kit.wait(lambda: kit.where(host, index) != before)
    kit.wait(kit.says_the_truth)


def test_what_a_failed_directory_led_others_lead_at_once() -> None:
    kit = Jbod(3)
    host = next(one for one in kit.world.brokers if one.node_id in lost_leaders(kit, one))
    lost = kit.in_spare(host)
    epochs = kit.epochs()
    kit.lose_spare(host)
    kit.wait(
        lambda: all(
            kit.state("many", index).leader != host.node_id
            and host.node_id not in kit.state("many", index).isr
            for index in lost
        ),
        500,  # much sooner than the next heartbeat would be
    )
    for index in range(4):
        if index not in lost:
            assert host.node_id in kit.state("many", index).isr
            assert kit.epochs()[index] == epochs[index]
    assert kit.produce(b"goes on")


def lost_leaders(kit: Jbod, host: Host) -> set[int]:
    leaders = kit.leaders()
    return {leaders[index] for index in kit.in_spare(host)}


def test_a_replaced_directory_is_filled_again_before_its_replicas_are_in_sync() -> None:
    """One of two disks is new and empty: the node must not say that it stopped cleanly."""
    kit = Jbod(4)
    host = kit.follower()
    lost = kit.in_spare(host)
    kit.stop(host)
    kit.wipe(host, SPARE)
    host.start()
    kit.wait(lambda: host.is_serving)
    kit.wait(kit.are_all_in_sync)
    kit.wait(kit.says_the_truth)
    assert lost


def test_a_directory_that_is_not_there_at_the_start_takes_its_replicas_with_it() -> None:
    """They are not made anew in the other one; back with their disk they are as they were."""
    kit = Jbod(5)
    host = kit.follower()
    lost = kit.in_spare(host)
    host.kill()
    host.disk.fail("any", in_path=f"{SPARE}/meta.properties")
    host.start()
    kit.wait(lambda: host.is_serving)
    kit.wait(lambda: all(host.node_id not in kit.state("many", index).isr for index in lost))
    assert [kit.where(host, index) for index in lost] == [None] * len(lost)
    host.kill()
    host.start()
    kit.wait(kit.are_all_in_sync)
    assert kit.in_spare(host) == lost


def test_a_node_with_empty_disks_is_filled_again_before_it_is_in_sync() -> None:
    kit = Jbod(6, BROKERS_APART)
    for number in range(5):
        assert kit.produce(b"value-%d" % number)
    host = kit.follower()
    host.kill()
    kit.wipe(host)
    host.start()
    kit.wait(lambda: host.is_serving)
    joined_empty: list[int] = []

    def look() -> bool:
        partition = kit.partition(host)
        if host.node_id in kit.in_sync() and partition.log.log_end_offset < 5:
            joined_empty.append(partition.log.log_end_offset)
        return host.node_id in kit.in_sync()

    kit.wait(look)
    assert not joined_empty
    kit.check()


def test_the_leaders_disks_are_lost_and_nothing_else() -> None:
    kit = Jbod(7, BROKERS_APART)
    for number in range(5):
        assert kit.produce(b"value-%d" % number)
    old = kit.leader()
    old.kill()
    kit.wipe(old)
    old.start()
    kit.produce_until_acknowledged(b"after")
    kit.check()


def test_one_new_disk_of_two_keeps_a_node_from_leading_what_was_on_it() -> None:
    """Two in sync are too few, so who stops cleanly may lead again (KIP-966): but not once one
    of its disks was replaced meanwhile, even where it is the only one there."""
    kit = Jbod(8, BROKERS_APART, **{"min.insync.replicas": "2"})
    leader = kit.leader()
    dead, replaced = (host for host in kit.world.brokers if host is not leader)
    kit.move(replaced, "t", SPARE)
    assert kit.produce(b"on all")
    dead.kill()
    kit.wait(lambda: dead.node_id not in kit.state().isr)
    assert kit.produce(b"on two")
    kit.stop(replaced)
    kit.stop(leader)
    assert replaced.node_id in (*kit.state().isr, *kit.state().elr)
    kit.wipe(replaced, SPARE)
    replaced.start()
    kit.wait(lambda: replaced.is_serving)
    kit.world.run(30_000)
    assert kit.state().leader != replaced.node_id
    assert replaced.node_id not in (*kit.state().isr, *kit.state().elr)
    leader.start()
    dead.start()
    kit.produce_until_acknowledged(b"after")
    kit.check()


def test_a_directory_that_fails_is_told_of_after_an_upgrade_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cluster began when registrations had no directories (metadata.version 14): nobody is
    started anew, and then a directory fails."""
    monkeypatch.setattr(world, "format_directories", partial(format_directories, **_OLD))
    kit = Upgraded(1)
    image = kit.broker(kit.world.brokers[0]).image
    assert (image.metadata_version, {one.log_dirs for one in image.brokers.values()}) == (14, {()})
    for level in (17, 30):
        update = {"feature": "metadata.version", "max_version_level": level, "upgrade_type": 1}
        body = {"timeout": 5000, "feature_updates": [update], "validate_only": False}
        answer = kit.client.ask(1, ApiKey.UPDATE_FEATURES, body)
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        # Without them no feature is raised any more.
        kit.wait(lambda: len(image.controllers) == 3)
    kit.wait(kit.says_the_truth)
    kit.wait(lambda: all(len(one.log_dirs) == 2 for one in image.brokers.values()))
    kit.wait(kit.are_all_in_sync)
    host = kit.world.brokers[0]
    lost = kit.in_spare(host)
    kit.lose_spare(host)
    kit.wait(lambda: all(host.node_id not in kit.state("many", index).isr for index in lost))


_OLD: dict[str, Any] = {"metadata_version": 14}


class Upgraded(Jbod):
    def says_the_truth(self) -> bool:
        """It cannot, before."""
        version = self.broker(self.world.brokers[0]).image.metadata_version
        return version < 17 or super().says_the_truth()
