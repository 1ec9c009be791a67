"""A broker's life as the controller sees it."""

from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.brokers.liveness import BrokerDied, UnregisterBroker
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, ReplicaDirectory
from kafkapy.kraft.records.metadata import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)
from tests.kraft.controller.fakes import ALL_FEATURES, Cluster, directory_of


def test_a_broker_is_unfenced_once_it_has_read_its_registration() -> None:
    cluster = Cluster()
    epoch = cluster.register(1)
    behind = cluster.beat(1, metadata_offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    waiting = cluster.beat(1, metadata_offset=epoch, wants_fence=True)
    assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
    serving = cluster.beat(1, metadata_offset=epoch)
    assert (serving.is_caught_up, serving.is_fenced) == (True, False)
    assert cluster.log.records[-1] == BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=epoch, fenced=-1
    )


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    cluster = Cluster(brokers=1)
    assert cluster.records_of(cluster.heartbeat(1)) == []


def test_a_heartbeat_of_nobody_or_of_a_former_life_is_stale() -> None:
    cluster = Cluster(brokers=1)
    beat = cluster.heartbeat(1, epoch=12345)
    assert cluster.refusal(beat) is ErrorCode.STALE_BROKER_EPOCH
    assert cluster.refusal(cluster.heartbeat(1, broker_id=7)) is ErrorCode.STALE_BROKER_EPOCH


def test_a_silent_broker_is_fenced_and_its_leaderships_move() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1, 2))
    cluster.wait(8_000, silent=(1,))
    assert not cluster.image.brokers[1].fenced
    cluster.wait(2_000, silent=(1,))
    assert cluster.image.brokers[1].fenced
    state = cluster.partition("t")
    assert (state.leader, state.isr) == (2, (2,))


def test_a_broker_whose_process_died_is_fenced_at_once_and_may_register() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1, 2))
    epoch = cluster.image.brokers[1].epoch
    cluster.ask(BrokerDied(1, epoch, cluster.clock.now()))
    assert cluster.image.brokers[1].fenced
    assert cluster.partition("t").leader == 2
    assert cluster.register(1) > epoch


def test_a_death_that_is_no_news_changes_nothing() -> None:
    """Of a former life, of one that was heard of since, or of nobody."""
    cluster = Cluster(brokers=1)
    epoch = cluster.image.brokers[1].epoch
    before = cluster.clock.now()
    cluster.wait(1000)
    for died in (
        BrokerDied(1, epoch - 1, cluster.clock.now()),
        BrokerDied(1, epoch, before),
        BrokerDied(9, epoch, cluster.clock.now()),
    ):
        assert cluster.records_of(died) == []
    assert cluster.refusal(cluster.registration(1)) is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_every_heartbeat_gives_a_whole_session() -> None:
    cluster = Cluster(brokers=1)
    cluster.wait(60_000)
    assert not cluster.image.brokers[1].fenced


def test_a_broker_that_comes_back_leads_what_nobody_leads() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1, 2))
    cluster.fence(2)
    cluster.fence(1)
    assert cluster.partition("t").leader == -1
    cluster.unfence(1)
    assert cluster.partition("t").leader == 1


def test_shutting_down_hands_over_then_waits_for_the_others() -> None:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2), (2, 3))
    started = cluster.beat(1, wants_shutdown=True)
    assert (started.is_fenced, started.should_shut_down) == (False, False)
    assert cluster.image.brokers[1].in_controlled_shutdown
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))
    last = cluster.log.next_offset - 1
    cluster.beat(2, metadata_offset=last - 1)
    cluster.beat(3, metadata_offset=last)
    assert not cluster.beat(1, wants_shutdown=True).should_shut_down
    cluster.beat(2, metadata_offset=last)
    gone = cluster.beat(1, wants_shutdown=True)
    assert (gone.is_fenced, gone.should_shut_down) == (True, True)
    assert cluster.image.brokers[1].fenced


def test_a_broker_that_leads_nothing_may_go_at_once() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1, 2))
    assert cluster.beat(2, wants_shutdown=True).should_shut_down
    assert cluster.partition("t").isr == (1,)


def test_the_last_broker_may_go_although_nobody_takes_over() -> None:
    cluster = Cluster(brokers=1)
    cluster.create("t", (1,))
    assert not cluster.beat(1, wants_shutdown=True).should_shut_down
    assert cluster.partition("t").leader == -1
    assert cluster.beat(1, wants_shutdown=True).should_shut_down


def test_a_fenced_broker_may_go_at_once_and_nothing_is_written() -> None:
    cluster = Cluster()
    cluster.register(1)
    before = len(cluster.log.records)
    assert cluster.beat(1, wants_fence=True, wants_shutdown=True).should_shut_down
    assert len(cluster.log.records) == before


def test_after_going_the_same_id_can_register_at_once() -> None:
    cluster = Cluster(brokers=1)
    cluster.beat(1, wants_shutdown=True)
    cluster.register(1)


def test_a_failed_directory_takes_its_replicas_out_of_service() -> None:
    cluster = Cluster()
    dirs = (directory_of(1, 0), directory_of(1, 1))
    cluster.join(1, log_dirs=dirs)
    cluster.join(2)
    cluster.create("t", (1, 2), (1, 2))
    topic_id = cluster.image.topics_by_name["t"].id
    epoch = cluster.image.brokers[1].epoch
    cluster.ask(
        AssignReplicas(
            1, epoch, tuple(ReplicaDirectory(dirs[index], topic_id, index) for index in (0, 1))
        )
    )
    cluster.beat(1, offline_dirs=(dirs[0],))
    assert (cluster.partition("t", 0).leader, cluster.partition("t", 0).isr) == (2, (2,))
    assert (cluster.partition("t", 1).leader, cluster.partition("t", 1).isr) == (1, (1, 2))
    assert cluster.image.brokers[1].log_dirs == (dirs[1],)
    assert cluster.records_of(cluster.heartbeat(1, offline_dirs=(dirs[0],))) == []


def test_cordoned_directories_are_noted_when_they_change() -> None:
    cluster = Cluster(brokers=1)
    cordoned: tuple[UUID, ...] = (directory_of(1),)
    cluster.beat(1, cordoned_dirs=cordoned)
    assert cluster.image.brokers[1].cordoned_log_dirs == cordoned
    assert cluster.records_of(cluster.heartbeat(1, cordoned_dirs=cordoned)) == []
    cluster.beat(1, cordoned_dirs=())
    assert cluster.image.brokers[1].cordoned_log_dirs == ()


def test_unregistering_forgets_the_broker_and_its_places() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1, 2))
    records = cluster.records_of(UnregisterBroker(1))
    assert [type(record) for record in records] == [PartitionChangeRecord, UnregisterBrokerRecord]
    assert 1 not in cluster.image.brokers
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))
    assert cluster.refusal(UnregisterBroker(1)) is ErrorCode.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize("elr", [True, False])
def test_unregistering_the_last_replica_leaves_the_partition_leaderless(elr: bool) -> None:
    levels = {**ALL_FEATURES, "eligible.leader.replicas.version": int(elr)}
    bootstrap = [
        FeatureLevelRecord(name=name, feature_level=level)
        for name, level in levels.items()
        if level
    ]
    cluster = Cluster(brokers=1, bootstrap=bootstrap)
    cluster.create("t", (1,))
    cluster.ask(UnregisterBroker(1))
    assert cluster.partition("t").leader == -1
    assert cluster.partition("t").isr == (() if elr else (1,))
    assert cluster.partition("t").elr == ()
