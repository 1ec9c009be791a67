"""Levels, against what `kafka-storage version-mapping` of 4.3.1 prints."""

import pytest

from kafkapy.kraft.features import (
    METADATA_VERSIONS,
    SUPPORTED_FEATURES,
    default_levels,
    downgrade_is_lossy,
    metadata_version_level,
    metadata_version_name,
    missing_dependency,
)


def test_a_new_cluster_gets_the_features_of_the_release_in_kafkas_order() -> None:
    assert list(default_levels().items()) == [
        ("metadata.version", 30),
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("share.version", 1),
        ("streams.version", 1),
        ("transaction.version", 2),
    ]


def test_an_older_release_gets_its_own() -> None:
    assert default_levels(25) == {
        "metadata.version": 25,
        "group.version": 1,
        "transaction.version": 2,
    }
    assert default_levels(21) == {"metadata.version": 21}


def test_supported_ranges_are_those_of_4_3_1() -> None:
    assert SUPPORTED_FEATURES == {
        "metadata.version": (7, 30),
        "kraft.version": (0, 1),
        "group.version": (0, 1),
        "transaction.version": (0, 2),
        "eligible.leader.replicas.version": (0, 1),
        "share.version": (0, 2),  # 2 is of 4.4: dead letters
        "streams.version": (0, 1),
    }


def test_levels_run_without_a_gap() -> None:
    assert [version.level for version in METADATA_VERSIONS] == list(range(7, 31))


@pytest.mark.parametrize(
    ("name", "level"), [("4.3-IV0", 30), ("4.0", 25), ("3.9", 21), ("3.7", 19), ("5.0", None)]
)
def test_releases_and_levels_have_names(name: str, level: int | None) -> None:
    assert metadata_version_level(name) == level


def test_a_level_from_the_future_is_a_number() -> None:
    assert metadata_version_name(30) == "4.3-IV0"
    assert metadata_version_name(99) == "99"


@pytest.mark.parametrize(
    ("current", "target", "is_lossy"), [(29, 27, False), (30, 29, True), (30, 30, False)]
)
def test_a_downgrade_across_a_change_of_records_is_lossy(
    current: int, target: int, is_lossy: bool
) -> None:
    assert downgrade_is_lossy(current, target) is is_lossy


def test_eligible_leader_replicas_need_their_fields() -> None:
    missing = missing_dependency("eligible.leader.replicas.version", 1, 22)
    assert missing is not None
    assert "metadata.version 23 (4.0-IV1)" in missing
    assert missing_dependency("eligible.leader.replicas.version", 1, 23) is None
    assert missing_dependency("eligible.leader.replicas.version", 0, 7) is None
