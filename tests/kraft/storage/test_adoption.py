from uuid import UUID

import pytest

from kafkapy.core.time import Instant
from kafkapy.kraft.storage.adoption import DirectoryRefused, LogDirectories, adopt, inspect, verify
from kafkapy.kraft.storage.meta_properties import MetaProperties
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

A, B = UUID(int=1 << 80), UUID(int=2 << 80)
NOW = Instant(0)


def disk(**directories: MetaProperties | bytes | None) -> SimDisk:
    made = SimDisk()
    for name, properties in directories.items():
        made.make_directory(f"/{name}")
        if isinstance(properties, MetaProperties):
            properties = properties.render(NOW)
        if properties is not None:
            made.write_file(f"/{name}/meta.properties", properties)
    return made


def adopted(made: SimDisk, *paths: str, node_id: int = 1) -> LogDirectories:
    return adopt(made, SimRng(1), NOW, paths or ["/a", "/b"], metadata_path="/a", node_id=node_id)


def test_directories_that_agree_are_adopted() -> None:
    found = adopted(disk(a=MetaProperties("c", 1, A), b=MetaProperties("c", 1, B)))
    assert found.cluster_id == "c"
    assert found.directory_ids == {"/a": A, "/b": B}


def test_a_directory_without_id_gets_one_and_keeps_it() -> None:
    made = disk(a=MetaProperties("c", 1, None))
    first = adopted(made, "/a").directory_ids["/a"]
    assert adopted(made, "/a").directory_ids["/a"] == first


@pytest.mark.parametrize(
    ("a", "b", "complaint"),
    [
        (MetaProperties("c", 1, A), None, "/b has no meta.properties: format it first."),
        (MetaProperties("c", 1, A), MetaProperties("d", 1, B), "cluster d, not to c"),
        (MetaProperties("c", 1, A), MetaProperties("c", 2, B), "node.id 2, but this is node 1"),
        (MetaProperties("c", 1, A), MetaProperties("c", 1, A), "have the same directory.id"),
        (MetaProperties("c", 1, A), MetaProperties("c", 1, UUID(int=2)), "reserved directory.id"),
        (MetaProperties("c", 1, A), b"version=1\n", "/b/meta.properties is not valid: cluster.id"),
        (MetaProperties("c", 1, A), MetaProperties(None, 1, B, 0), "has no cluster.id"),
        (MetaProperties("c", 1, A), MetaProperties("c", None, B, 0), "has no node.id"),
    ],
)
def test_directories_that_disagree_are_refused_in_a_sentence(
    a: MetaProperties, b: MetaProperties | bytes | None, complaint: str
) -> None:
    with pytest.raises(DirectoryRefused) as refused:
        adopted(disk(a=a, b=b))
    assert complaint in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_second_metadata_log_is_in_the_way() -> None:
    made = disk(a=MetaProperties("c", 1, A), b=MetaProperties("c", 1, B))
    made.make_directory("/b/__cluster_metadata-0")
    with pytest.raises(DirectoryRefused, match="/b/__cluster_metadata-0 is in the way"):
        adopted(made)


def test_a_data_directory_may_have_failed_the_metadata_directory_may_not() -> None:
    made = disk(a=MetaProperties("c", 1, A), b=MetaProperties("c", 1, B))
    made.fail("read", in_path="/b")
    assert adopted(made).failed == {"/b": "I/O error"}
    made.fail("read", in_path="/a")
    with pytest.raises(DirectoryRefused, match="/a cannot be read: I/O error"):
        adopted(made)


def test_a_file_is_no_directory() -> None:
    made = SimDisk()
    made.write_file("/a", b"")
    with pytest.raises(DirectoryRefused, match="a file, not a directory"):
        inspect(made, ["/a"])


def test_a_directory_that_does_not_exist_is_empty() -> None:
    found = inspect(SimDisk(), ["/nowhere"])
    assert found.empty == ("/nowhere",)
    verify(found, cluster_id=None, node_id=1)
