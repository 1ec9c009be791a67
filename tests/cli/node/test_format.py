"""`kafkapy format` writes what Apache Kafka's kafka-storage does, and refuses what it refuses."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkapy.cli.main import main
from kafkapy.kraft.log.snapshot_file import BOOTSTRAP_SNAPSHOT, read_snapshot
from kafkapy.kraft.quorum.voters import voters_from
from kafkapy.kraft.records.control import KRaftVersion, KRaftVoters
from kafkapy.kraft.records.metadata import FeatureLevelRecord
from kafkapy.kraft.storage.adoption import METADATA_DIRECTORY
from kafkapy.kraft.uuids import uuid_to_text
from kafkapy.server.disk.real_disk import RealDisk

FIRST, SECOND = UUID(int=7 << 100), UUID(int=8 << 100)
INITIAL = f"1@one:9093:{uuid_to_text(FIRST)},2@[::2]:9093:{uuid_to_text(SECOND)}"
DYNAMIC = "controller.quorum.bootstrap.servers=one:9093,two:9093"
STATIC = "controller.quorum.voters=1@127.0.0.1:9093"


def formatted(path: Path, setting: str, *options: str, roles: str = "broker,controller") -> int:
    config = path / "server.properties"
    listeners = "PLAINTEXT://127.0.0.1:9092" if "broker" in roles else ""
    if "controller" in roles:
        listeners = f"{listeners},CONTROLLER://127.0.0.1:9093".strip(",")
    lines = (
        f"process.roles={roles}",
        "node.id=1",
        f"listeners={listeners}",
        "controller.listener.names=CONTROLLER",
        f"log.dirs={path}/data",
        setting,
    )
    config.write_text("\n".join(lines))
    return main(["format", "--config", str(config), "--json", *options])


def control_of(path: Path) -> list[Any]:
    snapshot = path / "data" / METADATA_DIRECTORY / BOOTSTRAP_SNAPSHOT.file_name
    if not snapshot.exists():
        return []
    return [one for batch in read_snapshot(RealDisk().open(str(snapshot))) for one in batch.control]


def levels_of(path: Path) -> dict[str, int]:
    bootstrap = RealDisk().open(str(path / "data" / "bootstrap.checkpoint"))
    return {
        one.name: one.feature_level
        for batch in read_snapshot(bootstrap)
        for one in batch.records
        if isinstance(one, FeatureLevelRecord)
    }


def test_the_only_voter(tmp_path: Path) -> None:
    assert formatted(tmp_path, DYNAMIC, "--standalone") == 0
    control = control_of(tmp_path)
    assert KRaftVersion(k_raft_version=1) in control
    (voters,) = [voters_from(one) for one in control if isinstance(one, KRaftVoters)]
    assert voters.ids == [1]


def test_all_first_voters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert formatted(tmp_path, DYNAMIC, "--initial-controllers", INITIAL) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["directory_id"] == uuid_to_text(FIRST), "that of the list"
    (voters,) = [voters_from(one) for one in control_of(tmp_path) if isinstance(one, KRaftVoters)]
    second = voters.get(2)
    assert second is not None
    assert (second.key.directory_id, second.endpoints[0].host) == (SECOND, "::2")


def test_voters_that_are_not_known_yet(tmp_path: Path) -> None:
    assert formatted(tmp_path, DYNAMIC, "--no-initial-controllers") == 0
    assert control_of(tmp_path) == []


def test_a_static_quorum(tmp_path: Path) -> None:
    assert formatted(tmp_path, STATIC) == 0
    assert control_of(tmp_path) == []


def test_levels_of_a_release_and_of_single_features(tmp_path: Path) -> None:
    options = ("--release-version", "4.0", "--feature", "transaction.version=1")
    assert formatted(tmp_path, STATIC, *options) == 0
    expected = {"metadata.version": 25, "group.version": 1, "transaction.version": 1}
    assert levels_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("setting", "options", "told"),
    [
        (DYNAMIC, (), "--no-initial-controllers"),
        (STATIC, ("--standalone",), "controller.quorum.voters"),
        (STATIC, ("--feature", "kraft.version=1"), "kraft.version"),
        (DYNAMIC, ("--standalone", "--feature", "kraft.version=0"), "kraft.version"),
        (DYNAMIC, ("--standalone", "--feature", "foo=1"), "foo"),
        (DYNAMIC, ("--standalone", "--feature", "group.version"), "NAME=LEVEL"),
        (DYNAMIC, ("--standalone", "--release-version", "9.0"), "4.3-IV0"),
        (
            DYNAMIC,
            ("--standalone", "--release-version", "4.0", "--feature", "metadata.version=25"),
            "--release-version",
        ),
        (DYNAMIC, ("--initial-controllers", "1@one:9093"), "id@host:port:directory"),
        (DYNAMIC, ("--initial-controllers", f"{INITIAL},{INITIAL}"), "twice"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    options: tuple[str, ...],
    told: str,
) -> None:
    assert formatted(tmp_path, setting, *options) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "data" / "meta.properties").exists()
