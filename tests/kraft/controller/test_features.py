"""UpdateFeatures: what the cluster agrees on, all or nothing."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.brokers.registration import RegisterController
from kafkapy.kraft.controller.configs import Alteration, AlterConfigs, Operation
from kafkapy.kraft.controller.features import (
    FeaturesUpdated,
    FeatureUpdate,
    UpdateFeatures,
    UpgradeType,
)
from kafkapy.kraft.features import ELR_VERSION
from kafkapy.kraft.image.topics import RECOVERING
from kafkapy.kraft.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    FeatureRange,
    MetadataRecord,
    NoOpRecord,
)
from tests.kraft.controller.fakes import FEATURES, Cluster

UP, SAFE, UNSAFE = UpgradeType


def _levels(**levels: int) -> Sequence[MetadataRecord]:
    return [
        FeatureLevelRecord(name=name.replace("_", "."), feature_level=level)
        for name, level in levels.items()
    ]


def test_a_level_is_raised_and_lowered() -> None:
    cluster = Cluster(brokers=1, bootstrap=_levels(metadata_version=30))
    up = UpdateFeatures((FeatureUpdate("group.version", 1),))
    assert cluster.records_of(up) == list(_levels(group_version=1))
    down = UpdateFeatures((FeatureUpdate("group.version", 0, SAFE),))
    assert cluster.ask(down) == FeaturesUpdated()
    assert "group.version" not in cluster.image.features


def test_metadata_version_is_raised() -> None:
    cluster = Cluster(brokers=1, bootstrap=_levels(metadata_version=25))
    cluster.ask(UpdateFeatures((FeatureUpdate("metadata.version", 30),)))
    assert cluster.image.metadata_version == 30


def test_metadata_version_is_lowered_where_no_record_would_be_lost() -> None:
    cluster = Cluster(brokers=1, bootstrap=_levels(metadata_version=29))
    cluster.ask(UpdateFeatures((FeatureUpdate("metadata.version", 28, SAFE),)))
    assert cluster.image.metadata_version == 28


@pytest.mark.parametrize(
    "update",
    [
        FeatureUpdate("unknown.feature", 1),
        FeatureUpdate("unknown.feature", 0),
        FeatureUpdate("unknown.feature", 0, SAFE),
        FeatureUpdate("metadata.version", 99),
        FeatureUpdate("metadata.version", 0, SAFE),
        FeatureUpdate("metadata.version", 29),
        FeatureUpdate("metadata.version", 29, SAFE),
        FeatureUpdate("metadata.version", 29, UNSAFE),
        FeatureUpdate("group.version", 2),
        FeatureUpdate("group.version", -1, SAFE),
        FeatureUpdate("group.version", 0),
        FeatureUpdate("group.version", 1, 9),
        FeatureUpdate("group.version", 1, 0),
        FeatureUpdate("kraft.version", 0, SAFE),
    ],
)
def test_what_may_not_be_is_refused(update: FeatureUpdate) -> None:
    cluster = Cluster(brokers=1)
    assert cluster.refusal(UpdateFeatures((update,))) is ErrorCode.INVALID_UPDATE_VERSION


def test_one_bad_update_refuses_them_all() -> None:
    cluster = Cluster(brokers=1, bootstrap=_levels(metadata_version=30))
    updates = (FeatureUpdate("group.version", 1), FeatureUpdate("share.version", 9))
    assert cluster.refusal(UpdateFeatures(updates)) is ErrorCode.INVALID_UPDATE_VERSION
    assert "group.version" not in cluster.image.features


def test_validate_only_writes_nothing() -> None:
    cluster = Cluster(brokers=1, bootstrap=_levels(metadata_version=30))
    event = UpdateFeatures((FeatureUpdate("group.version", 1),), validate_only=True)
    assert cluster.records_of(event) == []


def test_every_broker_must_know_the_level() -> None:
    cluster = Cluster(bootstrap=_levels(metadata_version=25))
    old = FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=25)
    cluster.register(1, features=(old,))
    update = UpdateFeatures((FeatureUpdate("metadata.version", 26),))
    assert cluster.refusal(update) is ErrorCode.INVALID_UPDATE_VERSION


def test_every_controller_must_be_registered_and_know_the_level() -> None:
    cluster = Cluster(bootstrap=_levels(metadata_version=25), quorum_ids=lambda: (0, 3000))
    update = UpdateFeatures((FeatureUpdate("metadata.version", 26),))
    assert cluster.refusal(update) is ErrorCode.INVALID_UPDATE_VERSION
    cluster.ask(RegisterController(3000, UUID(int=5), (), FEATURES))
    assert cluster.ask(update) == FeaturesUpdated()


def test_a_feature_that_needs_a_later_metadata_version_can_come_with_it() -> None:
    elr = FeatureUpdate("eligible.leader.replicas.version", 1)
    cluster = Cluster(bootstrap=_levels(metadata_version=22))
    assert cluster.refusal(UpdateFeatures((elr,))) is ErrorCode.INVALID_UPDATE_VERSION
    both = UpdateFeatures((FeatureUpdate("metadata.version", 30), elr))
    assert cluster.ask(both) == FeaturesUpdated()
    assert cluster.controller.image.features["eligible.leader.replicas.version"] == 1


def test_elr_makes_min_insync_replicas_the_same_for_all_brokers() -> None:
    cluster = Cluster(brokers=1, bootstrap=_levels(metadata_version=30))
    cluster.log.records.clear()
    cluster.controller.image.all_configs[4, "1"] = {"min.insync.replicas": "2", "other": "1"}
    elr = UpdateFeatures((FeatureUpdate("eligible.leader.replicas.version", 1),))
    records = cluster.records_of(elr)
    assert [one for one in records if isinstance(one, ConfigRecord)] == [
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        ConfigRecord(resource_type=4, resource_name="1", name="min.insync.replicas", value=None),
    ]


def test_kraft_version_is_raised_by_the_quorum_and_then_stays() -> None:
    cluster = Cluster(brokers=1, kraft_version=0)
    raised = UpdateFeatures((FeatureUpdate("kraft.version", 1), FeatureUpdate("group.version", 1)))
    assert cluster.ask(replace(raised, validate_only=True)) == FeaturesUpdated()
    records = cluster.records_of(raised)
    # The quorum's own two come first.
    assert records[2:] == [NoOpRecord(), *_levels(group_version=1)]
    assert cluster.records_of(UpdateFeatures((FeatureUpdate("kraft.version", 1),))) == []
    lowered = UpdateFeatures((FeatureUpdate("kraft.version", 0, SAFE),))
    assert cluster.refusal(lowered) is ErrorCode.INVALID_UPDATE_VERSION
    offset = cluster.log.next_offset
    cluster.register(2)
    assert cluster.image.brokers[2].epoch == offset


def test_kraft_version_is_not_raised_before_every_voter_has_told_of_itself() -> None:
    cluster = Cluster(brokers=1, kraft_version=0)
    raised = UpdateFeatures((FeatureUpdate("kraft.version", 1),))
    cluster.log.why_not_raise = "Voter 2 has not."
    assert cluster.refusal(raised) is ErrorCode.INVALID_UPDATE_VERSION


@pytest.mark.parametrize("is_enabled_again", [False, True])
def test_who_was_eligible_before_elr_was_disabled_is_so_no_more(is_enabled_again: bool) -> None:
    """2 was eligible while the ISR was too small. Then that is large enough, and its leader
    commits without 2; neither a lone leader's end nor ELR's return may make 2 lead."""
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2, 3), min_insync_replicas="2")
    cluster.fence(3)
    cluster.fence(2)
    assert cluster.partition("t").elr == (2,)
    _set_elr(cluster, 0, SAFE)
    one = Alteration("min.insync.replicas", Operation.SET, "1")
    assert cluster.ask(AlterConfigs((((2, "t"), (one,)),))) == {(2, "t"): None}
    if is_enabled_again:
        _set_elr(cluster, 1, UP)
        assert cluster.partition("t").elr == ()
    cluster.unfence(2)
    cluster.fence(1)
    assert cluster.partition("t").leader == -1
    cluster.unfence(1)
    assert cluster.partition("t").leader == 1


def test_who_is_eligible_where_nobody_leads_stays_so_when_elr_goes_and_comes() -> None:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2, 3), min_insync_replicas="2")
    for broker in (3, 2, 1):
        cluster.fence(broker)
    assert (cluster.partition("t").isr, cluster.partition("t").elr) == ((), (1, 2))
    _set_elr(cluster, 0, SAFE)
    _set_elr(cluster, 1, UP)
    cluster.unfence(2)
    assert cluster.partition("t").leader == 2


def test_the_last_in_sync_of_what_nobody_leads_may_lead_after_elr_has_come() -> None:
    """Without ELR it stayed in the ISR. It comes back, and has not stopped cleanly."""
    cluster = Cluster(brokers=2, bootstrap=_levels(metadata_version=30))
    cluster.create("t", (1, 2))
    cluster.fence(2)
    cluster.fence(1)
    assert cluster.partition("t").isr == (1,)
    _set_elr(cluster, 1, UP)
    cluster.wait(20_000)
    cluster.join(1, previous_epoch=-1)
    state = cluster.partition("t")
    assert (state.leader, state.leader_recovery_state) == (1, RECOVERING)


def _set_elr(cluster: Cluster, level: int, how: UpgradeType) -> None:
    update = UpdateFeatures((FeatureUpdate(ELR_VERSION, level, how),))
    assert cluster.ask(update) == FeaturesUpdated()
