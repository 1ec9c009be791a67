"""What a start reads first, on directories that Kafka left."""

import pytest

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.kraft.log.loading import Loading
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.quorum.voter_history import VoterHistory
from kafkapy.kraft.quorum.voters import VoterSet
from tests.kraft import fixtures
from tests.kraft.image.test_image import contents
from tests.kraft.support import HOME, LOG, World

NAMES = [name.rpartition("/")[2] for name in fixtures.SNAPSHOTS]


def directory(*names: str) -> World:
    world = World()
    world.disk.make_directory(LOG)
    for name in names:
        world.disk.write_file(f"{LOG}/{name}", fixtures.read(f"every-record/{name}"))
    return world


def loaded(world: World) -> tuple[Loading, VoterHistory]:
    log = MetadataLog.open(world.disk, world.clock, world.rng, HOME)
    history = VoterHistory(VoterSet())
    loading = Loading(log, history, None)
    for _ in loading.steps(lambda: None, lambda failure: pytest.fail(str(failure))):
        pass
    return loading, history


def test_the_newest_snapshot_is_the_image_to_go_on_from() -> None:
    loading, history = loaded(directory("00000000000000000000.log", *NAMES))
    assert loading.next_offset == 49
    assert (loading.image.offset, loading.image.epoch) == (48, 1)
    assert contents(loading.image) == contents(fixtures.image_of(fixtures.SNAPSHOTS[1]))
    assert list(loading.delta.topics_created) == list(loading.image.topics_by_id)
    assert (history.kraft_version, history.voters.ids, history.voters_offset) == (1, [1], 48)


def test_voters_in_the_log_are_known_before_anything_is_committed() -> None:
    loading, history = loaded(directory("00000000000000000000.log"))
    assert (loading.next_offset, loading.image.offset) == (0, -1)
    assert (history.kraft_version, history.voters.ids, history.voters_offset) == (1, [1], 2)


def test_a_damaged_snapshot_is_passed_over() -> None:
    world = directory("00000000000000000000.log", *NAMES)
    data = bytearray(world.disk.read_file(f"{LOG}/{NAMES[1]}"))
    data[500] ^= 1
    world.disk.write_file(f"{LOG}/{NAMES[1]}", bytes(data))
    loading, _ = loaded(world)
    assert loading.next_offset == 25
    assert contents(loading.image) == contents(fixtures.image_of(fixtures.SNAPSHOTS[0]))


def test_a_log_whose_only_snapshot_is_damaged_is_refused() -> None:
    world = directory(NAMES[0])  # the log is behind it, so it begins there
    world.disk.write_file(f"{LOG}/{NAMES[0]}", b"x" * 100)
    with pytest.raises(Corrupt, match="no snapshot of what was before"):
        loaded(world)


def test_a_disk_that_cannot_be_read_is_told() -> None:
    world = directory("00000000000000000000.log", *NAMES)
    log = MetadataLog.open(world.disk, world.clock, world.rng, HOME)
    world.disk.fail("read", in_path=".checkpoint")
    loading = Loading(log, VoterHistory(VoterSet()), None)
    failures: list[DiskFailed] = []
    for _ in loading.steps(lambda: pytest.fail("loaded"), failures.append):
        pass
    assert len(failures) == 1


def test_what_format_wrote_gives_voters_and_no_image() -> None:
    world = World()
    world.format()
    loading, history = loaded(world)
    assert (loading.next_offset, loading.image.offset) == (0, -1)
    assert (history.kraft_version, history.voters.ids, history.voters_offset) == (1, [1], -1)
