import pytest

from kafkapy.core.time import Instant
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.snapshot_file import snapshot_batches
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    TopicRecord,
)
from kafkapy.kraft.storage.bootstrap import (
    activation_records,
    bootstrap_file,
    default_bootstrap,
    read_bootstrap,
)
from kafkapy.kraft.uuids import METADATA_TOPIC_ID
from kafkapy.sim.world.disk import SimDisk
from tests.kraft import fixtures

NOW = Instant(5)
LATEST = FeatureLevelRecord(name="metadata.version", feature_level=30)


def directory(**files: bytes) -> SimDisk:
    disk = SimDisk()
    disk.make_directory("/a")
    disk.make_directory("/a/__cluster_metadata-0")
    places = {
        "legacy": "/a/bootstrap.checkpoint",
        "zero": "/a/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    }
    for name, data in files.items():
        disk.write_file(places[name], data)
    return disk


def zero(*records: FeatureLevelRecord) -> bytes:
    return b"".join(
        snapshot_batches(records, epoch=0, metadata_version=0, last_contained_timestamp=1, now=NOW)
    )


@pytest.mark.parametrize(("log", "format"), [("first-start.log", "after-format")])
def test_the_first_records_of_a_log_are_kafkas(log: str, format: str) -> None:
    bootstrap = [record for _, record in fixtures.records_of(f"{format}/bootstrap.checkpoint")]
    first = [record for offset, record in fixtures.records_of(log) if offset <= 11]
    assert activation_records(MetadataImage(), bootstrap, 1) == first


def test_scram_users_of_the_format_are_written_before_the_config() -> None:
    name = "every-record/bootstrap.checkpoint"
    bootstrap = [record for _, record in fixtures.records_of(name)]
    first = [record for offset, record in fixtures.records_of(fixtures.LOGS[1]) if offset <= 12]
    assert activation_records(MetadataImage(), bootstrap, 1) == first


def test_what_is_written_is_read() -> None:
    bootstrap = default_bootstrap()
    assert read_bootstrap(directory(legacy=bootstrap_file(bootstrap, NOW)), "/a") == bootstrap


def test_kafka_4_4_has_the_records_in_the_first_snapshot() -> None:
    disk = directory(zero=zero(LATEST), legacy=bootstrap_file(default_bootstrap(25), NOW))
    assert read_bootstrap(disk, "/a") == [LATEST]


def test_without_any_file_there_is_the_newest_metadata_version() -> None:
    assert read_bootstrap(directory(), "/a") == [LATEST]
    assert read_bootstrap(directory(zero=zero()), "/a") == [LATEST]


def test_a_log_with_a_metadata_version_is_left_alone() -> None:
    image = MetadataImage()
    image.apply(LATEST)
    assert activation_records(image, default_bootstrap(), 1) == []


def test_a_transaction_left_open_is_aborted() -> None:
    image = MetadataImage()
    image.apply(BeginTransactionRecord(name="Bootstrap records"))
    image.apply(LATEST)
    abort, begin, *rest = activation_records(image, default_bootstrap(), 1)
    assert abort == AbortTransactionRecord(reason="Controller failover")
    assert begin == BeginTransactionRecord(name="Bootstrap records")
    assert rest[-1] == EndTransactionRecord()


def test_a_later_transaction_is_aborted_without_a_bootstrap() -> None:
    image = MetadataImage()
    image.apply(LATEST)
    image.apply(BeginTransactionRecord(name="big"))
    image.apply(TopicRecord(name="a", topic_id=METADATA_TOPIC_ID))
    assert activation_records(image, default_bootstrap(), 1) == [
        AbortTransactionRecord(reason="Controller failover")
    ]


def test_an_old_metadata_version_knows_no_transactions() -> None:
    old = default_bootstrap(12)
    assert activation_records(MetadataImage(), old, 1) == old
