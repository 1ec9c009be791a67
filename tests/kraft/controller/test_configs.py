"""Settings: altered one by one or replaced, judged resource by resource."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.configs import (
    Alteration,
    AlterConfigs,
    Operation,
    ReplaceConfigs,
)
from kafkapy.kraft.records.metadata import ClearElrRecord, ConfigRecord, FeatureLevelRecord
from tests.kraft.controller.fakes import Cluster

TOPIC, BROKER, GROUP = (2, "t"), (4, ""), (32, "g")
SET, DELETE, APPEND, SUBTRACT = Operation


def _cluster(*, elr: bool = True) -> Cluster:
    bootstrap = None
    if not elr:
        bootstrap = [FeatureLevelRecord(name="metadata.version", feature_level=30)]
    cluster = Cluster(brokers=3, bootstrap=bootstrap)
    cluster.create("t", (1, 2, 3))
    return cluster


def _alter(
    cluster: Cluster, resource: tuple[int, str], *changes: tuple[str, int, str | None], **how: Any
) -> Refused | None:
    alterations = tuple(Alteration(*change) for change in changes)
    reply = cluster.ask(AlterConfigs(((resource, alterations),), **how))
    verdict: Refused | None = reply[resource]
    return verdict


def test_a_value_is_set_and_deleted() -> None:
    cluster = _cluster()
    assert _alter(cluster, TOPIC, ("a", SET, "1"), ("b", SET, "2")) is None
    assert cluster.image.configs(*TOPIC) == {"a": "1", "b": "2"}
    assert _alter(cluster, TOPIC, ("a", DELETE, None)) is None
    assert cluster.image.configs(*TOPIC) == {"b": "2"}


def test_what_does_not_change_is_not_written_except_for_brokers() -> None:
    cluster = _cluster()
    change = AlterConfigs(((TOPIC, (Alteration("a", SET, "1"),)),))
    assert len(cluster.records_of(change)) == 1
    assert cluster.records_of(change) == []
    reload = AlterConfigs(((BROKER, (Alteration("a", SET, "1"),)),))
    assert len(cluster.records_of(reload)) == 1
    assert len(cluster.records_of(reload)) == 1


def test_deleting_what_is_not_set_is_no_error() -> None:
    cluster = _cluster()
    assert _alter(cluster, TOPIC, ("a", DELETE, None)) is None
    assert cluster.image.configs(*TOPIC) == {}


def test_lists_grow_and_shrink() -> None:
    cluster = _cluster()
    assert _alter(cluster, TOPIC, ("the.list", APPEND, "a,b")) is None
    assert _alter(cluster, TOPIC, ("the.list", APPEND, "b,c")) is None
    assert cluster.image.configs(*TOPIC)["the.list"] == "a,b,c"
    assert _alter(cluster, TOPIC, ("the.list", SUBTRACT, "a,c,x")) is None
    assert cluster.image.configs(*TOPIC)["the.list"] == "b"


def test_a_list_that_is_not_set_starts_at_its_default() -> None:
    cluster = _cluster()
    assert _alter(cluster, TOPIC, ("defaulted.list", APPEND, "a")) is None
    assert cluster.image.configs(*TOPIC)["defaulted.list"] == "default,a"


def test_replacing_unsets_what_is_not_named() -> None:
    cluster = _cluster()
    _alter(cluster, TOPIC, ("a", SET, "1"), ("b", SET, "2"))
    reply = cluster.ask(ReplaceConfigs(((TOPIC, (("b", "3"), ("c", "4"))),)))
    assert reply == {TOPIC: None}
    assert cluster.image.configs(*TOPIC) == {"b": "3", "c": "4"}


def test_resources_are_judged_one_by_one() -> None:
    cluster = _cluster()
    good = (Alteration("a", SET, "1"),)
    bad = (Alteration("bad", SET, "1"),)
    reply = cluster.ask(AlterConfigs(((TOPIC, bad), (GROUP, good))))
    assert reply[TOPIC].code is ErrorCode.INVALID_CONFIG
    assert reply[GROUP] is None
    assert cluster.image.configs(*TOPIC) == {}
    assert cluster.image.configs(*GROUP) == {"a": "1"}


def test_validate_only_writes_nothing() -> None:
    cluster = _cluster()
    assert _alter(cluster, TOPIC, ("a", SET, "1"), validate_only=True) is None
    assert cluster.image.configs(*TOPIC) == {}


@pytest.mark.parametrize(
    ("resource", "change", "code"),
    [
        ((2, "nope"), ("a", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((4, "9"), ("a", SET, "1"), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (TOPIC, ("plain", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, ("plain", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, ("a", 9, "1"), ErrorCode.INVALID_REQUEST),
        (TOPIC, ("a", SET, "x" * 32768), ErrorCode.INVALID_CONFIG),
        ((4, "1"), ("min.insync.replicas", SET, "2"), ErrorCode.INVALID_CONFIG),
        (BROKER, ("min.insync.replicas", DELETE, None), ErrorCode.INVALID_CONFIG),
    ],
)
def test_what_may_not_be_says_why(
    resource: tuple[int, str], change: tuple[str, int, str | None], code: ErrorCode
) -> None:
    cluster = _cluster()
    refused = _alter(cluster, resource, change)
    assert refused is not None
    assert refused.code is code


def test_a_group_need_not_exist_nor_a_topic_that_is_being_created() -> None:
    cluster = _cluster()
    assert _alter(cluster, GROUP, ("a", SET, "1")) is None


def test_a_new_min_insync_replicas_empties_the_elrs_it_made() -> None:
    cluster = _cluster()
    _alter(cluster, TOPIC, ("min.insync.replicas", SET, "3"))
    cluster.fence(3)
    assert cluster.partition("t").elr == (3,)
    change = AlterConfigs(((TOPIC, (Alteration("min.insync.replicas", SET, "2"),)),))
    records = cluster.records_of(change)
    assert [type(one) for one in records] == [ConfigRecord, ClearElrRecord]
    assert cluster.partition("t").elr == ()


@pytest.mark.parametrize("resource", [TOPIC, BROKER])
def test_a_new_min_insync_replicas_forgets_nobody_who_may_lead_again(
    resource: tuple[int, str],
) -> None:
    """Where nobody leads: nobody would ever again."""
    cluster = _cluster()
    _alter(cluster, TOPIC, ("min.insync.replicas", SET, "3"))
    for broker in (3, 2, 1):
        cluster.fence(broker)
    before = cluster.partition("t")
    assert (before.isr, before.leader, before.elr) == ((), -1, (1, 2, 3))
    _alter(cluster, resource, ("min.insync.replicas", SET, "1"))
    assert cluster.partition("t").elr == before.elr
    assert cluster.partition("t").last_known_elr == before.last_known_elr
    cluster.unfence(2)
    assert cluster.partition("t").leader == 2


def test_without_elr_min_insync_replicas_is_a_setting_like_any_other() -> None:
    cluster = _cluster(elr=False)
    assert _alter(cluster, (4, "1"), ("min.insync.replicas", SET, "2")) is None
    assert _alter(cluster, BROKER, ("min.insync.replicas", DELETE, None)) is None
    assert not any(isinstance(one, ClearElrRecord) for one in cluster.log.records)


def test_cordoned_directories_need_a_metadata_version_that_knows_them() -> None:
    old = [FeatureLevelRecord(name="metadata.version", feature_level=29)]
    cluster = Cluster(brokers=1, bootstrap=old)
    refused = _alter(cluster, (4, "1"), ("cordoned.log.dirs", SET, "/d"))
    assert refused is not None
    assert refused.code is ErrorCode.INVALID_CONFIG
