"""AssignReplicasToDirs: which replica is where."""

from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, ReplicaDirectory
from kafkapy.kraft.features import ELR_VERSION
from kafkapy.kraft.records.metadata import FeatureLevelRecord, MetadataRecord
from kafkapy.kraft.uuids import LOST, UNASSIGNED
from tests.kraft.controller.fakes import Cluster, directory_of

D0, D1 = directory_of(1, 0), directory_of(1, 1)


def _cluster() -> tuple[Cluster, UUID]:
    cluster = Cluster()
    cluster.join(1, log_dirs=(D0, D1))
    cluster.join(2)
    return cluster, cluster.create("t", (1, 2))


def _assign(cluster: Cluster, topic_id: UUID, directory: UUID, index: int = 0) -> Refused | None:
    epoch = cluster.image.brokers[1].epoch
    event = AssignReplicas(1, epoch, (ReplicaDirectory(directory, topic_id, index),))
    (verdict,) = cluster.ask(event)
    assert verdict is None or isinstance(verdict, Refused)
    return verdict


def test_a_broker_with_one_directory_has_no_choice() -> None:
    cluster, _ = _cluster()
    assert cluster.partition("t").directories == (UNASSIGNED, directory_of(2))


def test_a_broker_says_where_it_keeps_a_replica() -> None:
    cluster, topic_id = _cluster()
    assert _assign(cluster, topic_id, D1) is None
    assert cluster.partition("t").directories == (D1, directory_of(2))
    before = len(cluster.log.records)
    assert _assign(cluster, topic_id, D1) is None
    assert len(cluster.log.records) == before


def test_a_replica_in_a_failed_directory_leaves_the_isr() -> None:
    cluster, topic_id = _cluster()
    assert _assign(cluster, topic_id, LOST) is None
    state = cluster.partition("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert state.directories[0] == LOST


def test_what_is_not_there_is_refused_one_by_one() -> None:
    cluster, topic_id = _cluster()
    for refused, code in (
        (_assign(cluster, UUID(int=4711), D0), ErrorCode.UNKNOWN_TOPIC_ID),
        (_assign(cluster, topic_id, D0, 5), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        assert refused is not None
        assert refused.code is code
    other = cluster.create("other", (2,))
    refused = _assign(cluster, other, D0)
    assert refused is not None
    assert refused.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    stale = AssignReplicas(1, 999, ())
    assert cluster.refusal(stale) is ErrorCode.STALE_BROKER_EPOCH


def test_a_replica_that_begins_anew_elsewhere_is_nobody_to_elect() -> None:
    """Its directory is gone. As long as nothing is in its place, the disk may come back."""
    cluster, topic_id = _cluster()
    _assign(cluster, topic_id, D1)
    cluster.fence(2)
    assert cluster.partition("t").isr == (1,)
    cluster.beat(1, offline_dirs=(D1,))
    assert cluster.partition("t").leader == NO_NODE
    assert 1 in (*cluster.partition("t").isr, *cluster.partition("t").elr)
    assert _assign(cluster, topic_id, D0) is None
    state = cluster.partition("t")
    assert (state.leader, state.isr, state.elr, state.last_known_elr) == (NO_NODE, (), (), ())


@pytest.mark.parametrize("elr", [0, 1])
def test_a_replica_without_others_leads_where_it_begins_anew(elr: int) -> None:
    """Its disk was replaced: there is nothing to wait for, and nobody else to lead."""
    cluster = Cluster(bootstrap=_levels(elr))
    cluster.join(1, log_dirs=(D0, D1))
    topic_id = cluster.create("t", (1,))
    _assign(cluster, topic_id, D1)
    cluster.beat(1, wants_fence=True, wants_shutdown=True)
    replaced = directory_of(1, 2)
    cluster.join(1, log_dirs=(D0, replaced), previous_epoch=cluster.image.brokers[1].epoch)
    assert cluster.partition("t").leader == NO_NODE
    _assign(cluster, topic_id, replaced)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (1, (1,))


def test_without_elr_the_last_in_sync_does_not_lead_at_once_where_it_begins_anew() -> None:
    """Others may have more than it has now: somebody says who leads."""
    cluster = Cluster(bootstrap=_levels(elr=0))
    cluster.join(1, log_dirs=(D0, D1))
    cluster.join(2)
    topic_id = cluster.create("t", (1, 2))
    _assign(cluster, topic_id, D1)
    cluster.fence(2)
    cluster.beat(1, offline_dirs=(D1,))
    assert cluster.partition("t").isr == (1,)
    _assign(cluster, topic_id, D0)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (NO_NODE, (1,))


def _levels(elr: int) -> list[MetadataRecord]:
    levels = {"metadata.version": 30, ELR_VERSION: elr}
    return [FeatureLevelRecord(name=name, feature_level=one) for name, one in levels.items()]
