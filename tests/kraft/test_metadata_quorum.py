"""A quorum of one: it leads at once, forgets nothing that it acknowledged, and its files are
those that Apache Kafka writes."""

import contextlib

import pytest

from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.jobs import SLICE_US
from kafkapy.kraft.log.replay import RECORD_COST_US
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.log.snapshotting import LONG_REPLAY_BYTES, SETTLE_MS, SnapshotSettings
from kafkapy.kraft.quorum.voters import VoterAddress, parse_voters
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafkapy.kraft.uuids import new_uuid
from kafkapy.sim.world.rng import SimRng
from tests.kraft import fixtures
from tests.kraft.image.test_image import contents
from tests.kraft.support import HOME, LOG, World, formatted

TOPIC = TopicRecord(name="a", topic_id=new_uuid(SimRng(1)))
AT_ONCE = SnapshotSettings(max_new_record_bytes=1)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=new_uuid(SimRng(number)))


def config(value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name="a", name="x", value=value)


def with_kafkas_log(*names: str) -> World:
    """A directory as Kafka left it."""
    world = World()
    world.disk.make_directory(LOG)
    for name in ("00000000000000000000.log", "partition.metadata", "quorum-state", *names):
        world.disk.write_file(f"{LOG}/{name}", fixtures.read(f"every-record/{name}"))
    world.disk.write_file(f"{HOME}/meta.properties", fixtures.read("after-format/meta.properties"))
    return world


def test_it_leads_and_activates_within_start() -> None:
    node = formatted().node().start()
    assert node.told == ["leads epoch 1 at 2", "loaded", "activated None"]
    assert node.quorum.is_active
    assert node.quorum.leader_id == 1
    assert node.quorum.high_watermark == node.quorum.next_offset == 12
    assert node.quorum.image.metadata_version == 30
    assert node.world.clock.calls <= 2


def test_it_leads_as_well_when_flushes_take_time() -> None:
    node = formatted(slow=True).node()
    node.quorum.start()
    assert not node.quorum.is_active
    node.world.clock.settle()
    assert node.told == ["leads epoch 1 at 2", "activated None"]


def test_its_first_log_is_kafkas_but_for_times_and_ids() -> None:
    world = formatted()
    world.node().start()
    ours = world.disk.read_file(f"{LOG}/00000000000000000000.log")
    theirs = b"".join(
        batch for header, batch in fixtures.batches_of("first-start.log") if header.base_offset < 12
    )
    # The host in the voters record is "localhost" here and "127.0.0.1" there.
    assert len(ours) == len(theirs)
    state = world.disk.read_file(f"{LOG}/quorum-state")
    assert state == fixtures.read("every-record/quorum-state")


def test_a_restart_leads_the_next_epoch_with_the_same_image() -> None:
    world = formatted()
    node = world.node().start()
    node.append(TOPIC)
    before = contents(node.quorum.image)
    node.close()
    again = world.node().start()
    assert again.told == ["leads epoch 2 at 13", "loaded"]
    assert contents(again.quorum.image) == before
    assert [list(delta.topics_created) for delta in again.deltas] == [[TOPIC.topic_id]]


def test_the_voters_are_written_again_only_when_an_address_changed() -> None:
    world = formatted()
    world.node().start().close()
    world.node().start().close()
    moved = VoterAddress("CONTROLLER", "localhost", 9999)
    node = world.node(endpoints=(moved,)).start()
    voter = node.quorum.voters.get(1)
    assert voter is not None
    assert voter.endpoints == (moved,)
    found = [found for found in node.quorum.log.control_batches(0) if found]
    assert [len(one) for one in found] == [3, 1, 3]


def test_a_directory_that_kafka_used_is_taken_over() -> None:
    world = with_kafkas_log(*(name.rpartition("/")[2] for name in fixtures.SNAPSHOTS))
    directory = parse_voters("", "")
    node = world.node(voters=directory)
    node.quorum.start()
    # This is another directory than the one in Kafka's voter set: it may not lead.
    assert not node.quorum.is_active
    assert node.quorum.voters.ids == [1]


def test_a_static_quorum_leads_and_keeps_version_0() -> None:
    world = World()
    world.format(standalone=None)
    node = world.node(voters=parse_voters("1@localhost:9093", "CONTROLLER")).start()
    assert node.told[0] == "leads epoch 1 at 0"
    assert b'"data_version":0' in world.disk.read_file(f"{LOG}/quorum-state")
    assert b'"currentVoters":[{"voterId":1}]' in world.disk.read_file(f"{LOG}/quorum-state")
    assert [len(one) for one in node.quorum.log.control_batches(0) if one] == [1]
    assert node.quorum.kraft_version == 0


def test_without_voters_nobody_leads() -> None:
    world = World()
    world.format(standalone=None)
    node = world.node().start()
    world.clock.advance(60_000)
    assert node.told == []
    assert node.quorum.leader_id is None
    with pytest.raises(Refused) as refused:
        node.append()
    assert refused.value.code is ErrorCode.NOT_CONTROLLER
    with pytest.raises(Refused):
        node.quorum.describe()


def test_a_voter_of_several_does_not_lead_alone() -> None:
    world = World()
    world.format(standalone=None)
    voters = parse_voters("1@a:1,2@b:1,3@c:1", "CONTROLLER")
    node = world.node(voters=voters).start()
    world.clock.advance(60_000)
    assert not node.quorum.is_active
    assert node.quorum.leader_epoch == 0, "a pre-vote does not make a new epoch"


def test_answers_come_when_it_is_durable_and_in_the_image() -> None:
    world = formatted(slow=True)
    node = world.node().start()
    first, second = node.append(TOPIC), node.append(config("1"))
    assert first == second == []
    assert "a" not in node.quorum.image.topics_by_name
    world.clock.settle()
    assert first == second == [None]
    assert node.quorum.image.configs(2, "a") == {"x": "1"}


def test_appends_while_a_flush_runs_share_the_next() -> None:
    world = formatted(slow=True)
    node = world.node().start()
    before = world.disk.flushes
    answers = [node.append() for _ in range(50)]
    world.clock.settle()
    assert answers == [[None]] * 50
    assert world.disk.flushes - before < 10


def test_subscribers_hear_of_every_batch_that_changes_something() -> None:
    node = formatted().node().start()
    node.deltas.clear()
    node.append(TOPIC)
    node.append(NoOpRecord())
    node.append(config("1"), config("2"))
    assert [(list(one.topics_created), one.configs) for one in node.deltas] == [
        ([TOPIC.topic_id], set()),
        ([], {(2, "a")}),
    ]


def test_a_transaction_is_told_when_it_ends() -> None:
    node = formatted().node().start()
    node.deltas.clear()
    node.append(BeginTransactionRecord(name="big"), TOPIC)
    node.append(config("1"))
    assert node.deltas == []
    node.append(EndTransactionRecord())
    assert [list(delta.topics_created) for delta in node.deltas] == [[TOPIC.topic_id]]


def test_a_transaction_left_open_is_aborted_by_the_next_leader() -> None:
    world = formatted()
    node = world.node().start()
    node.append(BeginTransactionRecord(name="big"), TOPIC)
    node.close()
    again = world.node().start()
    assert again.told == ["leads epoch 2 at 14", "loaded", "activated None"]
    assert "a" not in again.quorum.image.topics_by_name
    (last,) = again.quorum.log.batches(15, 16)
    assert list(last.records()) == [AbortTransactionRecord(reason="Controller failover")]


def test_records_are_written_for_the_metadata_version_in_force() -> None:
    world = formatted()
    node = world.node().start()
    node.append(FeatureLevelRecord(name="metadata.version", feature_level=22))
    node.append(
        TOPIC, PartitionRecord(topic_id=TOPIC.topic_id, partition_id=0, last_known_elr=(1,))
    )
    (batch,) = node.quorum.log.batches(13, 15)
    assert list(batch.records())[1] == PartitionRecord(topic_id=TOPIC.topic_id, partition_id=0)


def test_a_long_log_is_replayed_in_slices() -> None:
    world = formatted()
    node = world.node().start()
    for _ in range(10):
        node.append(*[NoOpRecord()] * 1000)
    node.append(TOPIC)
    node.close()
    again = world.node()
    again.quorum.start()
    assert not again.quorum.is_loaded
    calls = world.clock.calls
    world.clock.settle()
    assert SLICE_US <= 1000 * RECORD_COST_US, "so every batch of those is a slice"
    assert world.clock.calls - calls >= 10
    assert again.quorum.is_active
    assert len(again.deltas) == 1


def test_a_failing_flush_stops_everything_and_acknowledges_nothing() -> None:
    world = formatted()
    node = world.node().start()
    world.disk.fail("flush", in_path=LOG, cause="gone")
    assert node.append(TOPIC) == [ErrorCode.NOT_CONTROLLER]
    assert node.told[-2:] == ["resigned", f"failed: {LOG}/00000000000000000000.log: gone"]
    with pytest.raises(Refused):
        node.append()
    assert "a" not in node.quorum.image.topics_by_name


@pytest.mark.parametrize("file", ["quorum-state", ".log"])
def test_who_cannot_read_what_it_begins_with_is_not_there(file: str) -> None:
    world = formatted()
    world.node().start().close()
    world.disk.fail("read", in_path=file, cause="gone")
    with pytest.raises(DiskFailed, match="gone"):
        world.node()


def test_a_failing_append_stops_everything_too() -> None:
    world = formatted()
    node = world.node().start()
    world.disk.fail("append", in_path=LOG, cause="full")
    with pytest.raises(Refused) as refused:
        node.append(TOPIC)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER
    assert "failed" in node.told[-1]


def test_closing_refuses_those_who_wait() -> None:
    world = formatted(slow=True)
    node = world.node().start()
    waiting = node.append(TOPIC)
    node.close()
    assert waiting == [ErrorCode.NOT_CONTROLLER]
    assert node.told[-1] == "resigned"
    node.quorum.close(lambda failure: None)


@pytest.mark.parametrize("seed", range(40))
def test_what_was_acknowledged_survives_a_cut_of_power(seed: int) -> None:
    """Append with slow flushes, cut the power at some moment, start again: what was
    acknowledged is there, and what is there is a prefix of what was appended."""
    world = formatted(slow=True)
    world.rng = SimRng(seed)
    node = world.node().start()
    acknowledged = 0
    for number in range(12):
        answers = node.append(topic(number))
        for _ in range(world.rng.below(4)):
            world.clock.step(world.clock.now())
        acknowledged = max(acknowledged, len(node.quorum.image.topics_by_name))
        del answers
    world.clock.forget_all()
    world.disk.crash(world.rng)
    again = world.node().start()
    assert again.quorum.is_active
    assert again.quorum.leader_epoch == 2
    survived = list(again.quorum.image.topics_by_name)
    assert len(survived) >= acknowledged
    assert survived == [f"t{number}" for number in range(len(survived))]


@pytest.mark.parametrize("stop_after", range(24))
def test_a_first_start_may_be_cut_off_anywhere(stop_after: int) -> None:
    world = formatted()
    changes = 0

    def stop(*_change: object) -> None:
        nonlocal changes
        changes += 1
        if changes > stop_after:
            raise KeyboardInterrupt

    world.disk.on_write = stop
    with contextlib.suppress(KeyboardInterrupt):
        world.node().start()
    world.disk.on_write = None
    world.clock.forget_all()
    world.disk.crash(world.rng)
    again = world.node().start()
    assert again.quorum.is_active
    assert again.quorum.image.metadata_version == 30


def test_a_snapshot_is_taken_and_the_next_start_uses_it() -> None:
    world = formatted()
    node = world.node(snapshots=AT_ONCE).start()
    node.append(TOPIC, config("1"))
    world.clock.settle()
    latest = node.quorum.log.latest_snapshot
    assert latest == SnapshotId(14, 1)
    before = contents(node.quorum.image)
    node.close()
    again = world.node().start()
    assert contents(again.quorum.image) == before
    assert again.quorum.voters.ids == [1]
    assert again.quorum.kraft_version == 1


def test_old_snapshots_go_and_the_log_with_them() -> None:
    settings = SnapshotSettings(max_new_record_bytes=1, max_retention_bytes=0)
    world = formatted()
    node = world.node(snapshots=settings).start()
    for number in range(5):
        node.append(topic(number))
        world.clock.settle()
    assert len(node.quorum.log.snapshots.ids) == 1
    assert node.quorum.log.start_offset == node.quorum.log.end_offset
    node.close()
    again = world.node().start()
    assert list(again.quorum.image.topics_by_name) == [f"t{number}" for number in range(5)]
    assert again.quorum.voters.ids == [1]


def test_a_corrupt_snapshot_is_passed_over_while_the_log_is_whole() -> None:
    world = formatted()
    node = world.node(snapshots=AT_ONCE).start()
    node.append(TOPIC)
    world.clock.settle()
    latest = node.quorum.log.latest_snapshot
    assert latest is not None
    node.close()
    world.disk.write_file(f"{LOG}/{latest.file_name}", b"nonsense" * 20)
    again = world.node().start()
    assert list(again.quorum.image.topics_by_name) == ["a"]


def test_no_snapshot_is_taken_inside_a_transaction() -> None:
    world = formatted()
    node = world.node(snapshots=AT_ONCE).start()
    world.clock.settle()
    node.append(BeginTransactionRecord(name="big"), TOPIC)
    world.clock.settle()
    assert node.quorum.log.latest_snapshot == SnapshotId(12, 1)
    node.append(EndTransactionRecord())
    world.clock.settle()
    assert node.quorum.log.latest_snapshot == SnapshotId(15, 1)


def test_a_snapshot_is_taken_after_an_hour_with_anything_new() -> None:
    world = formatted()
    node = world.node(snapshots=SnapshotSettings(max_interval_ms=3_600_000)).start()
    world.clock.advance(3_600_000)
    assert node.quorum.log.latest_snapshot == SnapshotId(0, 0)
    node.append()
    world.clock.settle()
    assert node.quorum.log.latest_snapshot == SnapshotId(13, 1)


def test_a_start_that_replayed_a_lot_takes_a_snapshot_for_the_next_one() -> None:
    world = formatted()
    node = world.node().start()
    node.append(*(config("x" * 1000) for _ in range(LONG_REPLAY_BYTES // 1000)))
    world.clock.settle()
    node.close()
    again = world.node().start()
    assert again.quorum.log.latest_snapshot == SnapshotId(0, 0)
    world.clock.advance(SETTLE_MS)
    world.clock.settle()
    latest = again.quorum.log.latest_snapshot
    assert latest is not None
    assert latest.end_offset == again.quorum.image.offset + 1


def test_the_image_is_the_same_object_for_ever() -> None:
    world = formatted()
    node = world.node(snapshots=AT_ONCE)
    image = node.quorum.image
    node.start()
    node.append(TOPIC)
    assert image is node.quorum.image
    assert "a" in image.topics_by_name


def test_a_removed_topic_is_told_as_it_was() -> None:
    node = formatted().node().start()
    node.append(TOPIC, PartitionRecord(topic_id=TOPIC.topic_id, partition_id=0))
    node.append(RemoveTopicRecord(topic_id=TOPIC.topic_id))
    assert list(node.deltas[-1].topics_deleted[TOPIC.topic_id].partitions) == [0]


def test_an_idle_leader_asks_for_no_timer() -> None:
    node = formatted().node().start()
    calls = node.world.clock.calls
    node.world.clock.advance(24 * 3_600_000)
    assert node.world.clock.calls == calls


def test_it_describes_itself() -> None:
    node = formatted().node().start()
    found = node.quorum.describe()
    assert (found.leader_id, found.leader_epoch, found.high_watermark) == (1, 1, 12)
    (own,) = found.voters
    assert (own.id, own.log_end_offset, own.last_fetch_timestamp) == (1, 12, node.world.clock.now())
    assert own.directory_id is not None
    assert (found.observers, [voter.key.id for voter in found.nodes]) == ((), [1])
