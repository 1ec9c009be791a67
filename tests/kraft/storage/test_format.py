"""Formatting, against the directory that Kafka 4.3.1's own tool formatted."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet
from kafkapy.kraft.records.metadata import FeatureLevelRecord, UserScramCredentialRecord
from kafkapy.kraft.storage.adoption import DirectoryRefused, adopt
from kafkapy.kraft.storage.bootstrap import read_bootstrap
from kafkapy.kraft.storage.format import Formatted, format_directories
from kafkapy.protocol.batches.batch import BatchHeader, Record, batches, records
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng
from tests.kraft import fixtures

NOW = Instant(1_795_006_298_123)
ID = UUID("73546667-a3b7-438a-878e-e3c1e3796748")
ADDRESS = VoterAddress("CONTROLLER", "127.0.0.1", 19093)
CHECKPOINT = "00000000000000000000-0000000000.checkpoint"
METADATA = "/a/__cluster_metadata-0"


class FixedRng:
    def below(self, limit: int) -> int:
        return 0

    def uuid(self) -> UUID:
        return ID


def formatted(disk: SimDisk, *paths: str, **rest: Any) -> Formatted:
    given: dict[str, Any] = {
        "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg",
        "node_id": 1,
        "standalone": ADDRESS,
        **rest,
    }
    rng = SimRng(1) if len(paths) > 1 else FixedRng()
    return format_directories(disk, rng, NOW, paths or ["/a"], **given)


def without_times(data: bytes) -> list[tuple[BatchHeader, list[Record]]]:
    return [
        (
            header._replace(crc=0, base_timestamp=0, max_timestamp=0),
            [one._replace(timestamp=0) for one in records(data[position:][: header.size])],
        )
        for position, header in batches(data)
    ]


def test_the_files_are_those_of_kafkas_tool_but_for_the_times() -> None:
    disk = SimDisk()
    formatted(disk)
    assert disk.list("/a") == ["__cluster_metadata-0", "bootstrap.checkpoint", "meta.properties"]
    assert disk.list(METADATA) == [CHECKPOINT]
    assert disk.read_file("/a/meta.properties") == fixtures.read("after-format/meta.properties")
    ours = without_times(disk.read_file("/a/bootstrap.checkpoint"))
    assert ours == without_times(fixtures.read("after-format/bootstrap.checkpoint"))
    (head, first), (foot, last) = without_times(disk.read_file(f"{METADATA}/{CHECKPOINT}"))
    (their_head, theirs), their_end = without_times(fixtures.read(f"after-format/{CHECKPOINT}"))
    assert (head, first[1:], (foot, last)) == (their_head, theirs[1:], their_end)


def test_formatted_directories_are_adopted() -> None:
    disk = SimDisk()
    made = formatted(disk, "/a", "/b")
    found = adopt(disk, SimRng(2), NOW, ["/a", "/b"], metadata_path="/a", node_id=1)
    assert found.directory_ids == made.directory_ids
    assert made.new == ("/a", "/b")
    assert disk.list("/b") == ["bootstrap.checkpoint", "meta.properties"]


def test_a_static_quorum_has_no_checkpoint_of_voters() -> None:
    disk = SimDisk()
    formatted(disk, standalone=None)
    assert disk.list("/a") == ["bootstrap.checkpoint", "meta.properties"]


def test_initial_voters_bring_their_directory_ids() -> None:
    disk = SimDisk()
    mine = UUID(int=5 << 80)
    voters = VoterSet(
        [
            Voter(ReplicaKey(1, mine), (ADDRESS,)),
            Voter(ReplicaKey(2, UUID(int=6 << 80)), (ADDRESS,)),
        ]
    )
    made = formatted(disk, standalone=None, initial_voters=voters)
    assert made.directory_ids == {"/a": mine}
    assert disk.list(METADATA) == [CHECKPOINT]


def test_a_cluster_id_is_drawn_if_none_is_given() -> None:
    made = formatted(SimDisk(), "/a", "/b", cluster_id=None)
    assert len(made.cluster_id) == 22


def test_an_added_directory_gets_the_cluster_of_the_others() -> None:
    disk = SimDisk()
    first = formatted(disk, "/a", "/b")
    more = formatted(disk, "/a", "/b", "/c", cluster_id=None, ignore_formatted=True)
    assert more.cluster_id == first.cluster_id
    assert more.new == ("/c",)
    assert len(set(more.directory_ids.values())) == 3


def test_scram_users_and_feature_levels_are_among_the_first_records() -> None:
    disk = SimDisk()
    user = UserScramCredentialRecord(
        name="a", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
    )
    formatted(disk, extra=[user], features={"share.version": 0, "group.version": 1})
    found = read_bootstrap(disk, "/a")
    levels = {one.name: one.feature_level for one in found if isinstance(one, FeatureLevelRecord)}
    assert found[-1] == user
    assert "share.version" not in levels
    assert list(levels)[:3] == [
        "metadata.version",
        "eligible.leader.replicas.version",
        "group.version",
    ]


def test_an_interrupted_format_is_begun_anew() -> None:
    for survived in range(1, 6):
        disk, changes = SimDisk(), 0

        def stop_at(*_change: object, after: int = survived) -> None:
            nonlocal changes
            changes += 1
            if changes > after:
                raise KeyboardInterrupt

        disk.on_write = stop_at
        try:
            formatted(disk)
        except KeyboardInterrupt:
            assert not disk.exists("/a/meta.properties")
        disk.on_write = None
        formatted(disk, ignore_formatted=True)
        adopt(disk, SimRng(2), NOW, ["/a"], metadata_path="/a", node_id=1)


@pytest.mark.parametrize(
    ("rest", "complaint"),
    [
        ({"metadata_version": 31}, "metadata.version 31 is not supported."),
        ({"metadata_version": 6}, "metadata.version 6 is not supported."),
        ({"features": {"sharing": 1}}, "There is no feature sharing that could be set."),
        ({"features": {"kraft.version": 1}}, "There is no feature kraft.version"),
        ({"features": {"share.version": 3}}, "share.version 3 is not supported: 0 to 2 are."),
        (
            {"features": {"eligible.leader.replicas.version": 1}, "metadata_version": 22},
            "needs metadata.version 23 (4.0-IV1) or higher.",
        ),
    ],
)
def test_what_is_not_supported_is_refused(rest: dict[str, object], complaint: str) -> None:
    disk = SimDisk()
    with pytest.raises(DirectoryRefused) as refused:
        formatted(disk, **rest)
    assert complaint in str(refused.value)
    assert not disk.exists("/a")


def test_what_is_formatted_is_not_formatted_again() -> None:
    disk = SimDisk()
    formatted(disk)
    with pytest.raises(DirectoryRefused, match="/a is formatted already"):
        formatted(disk)
    with pytest.raises(DirectoryRefused, match="cluster MkU3OEVBNTcwNTJENDM2Qg, not to other"):
        formatted(disk, cluster_id="other", ignore_formatted=True)


def test_a_directory_with_somebody_elses_data_is_refused() -> None:
    for inside in ("orders-0", "lost+found", "__cluster_metadata-0/0.log"):
        disk = SimDisk()
        disk.make_directory("/a")
        disk.make_directory(f"/a/{inside.partition('/')[0]}")
        if "/" in inside:
            disk.write_file(f"/a/{inside}", b"")
        with pytest.raises(DirectoryRefused, match="it is not empty"):
            formatted(disk)


def test_a_disk_that_cannot_be_written_is_named() -> None:
    disk = SimDisk()
    disk.fail("write_file", in_path="/a", cause="No space left on device")
    with pytest.raises(DirectoryRefused, match="/a cannot be formatted: No space left"):
        formatted(disk)
    disk = SimDisk()
    disk.fail("read", in_path="/a")
    with pytest.raises(DirectoryRefused, match="/a cannot be read"):
        formatted(disk)
