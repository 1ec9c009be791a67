"""What the disk with the metadata does to a replica of the quorum, and to nobody else."""

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.jobs import Pause, Steps
from kafkapy.core.seams import File, Flushed
from kafkapy.core.time import later
from kafkapy.kraft.log.loading import SnapshotContents
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.effects import Effect, Persist
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.network import End
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.file import Interrupted, SimFile
from tests.sim.cluster.kit import ALL, Kit
from tests.sim.cluster.test_quorum import has_the_metadata

# So that a voter that was away for some topics needs a snapshot.
SHORT = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "metadata.max.retention.bytes": "4000",
}


class FarBehind(Kit):
    """One of the nodes was cut off until it needed a snapshot; what it tells goes only forward."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, **SHORT)
        world = self.world
        leader = world.wait_for_controller()
        self.away = next(host for host in world.hosts.values() if host is not leader)
        self._cut(is_cut=True)
        for number in range(6):
            topic = {"name": f"m{number}", "num_partitions": 20, "replication_factor": 2}
            self.client.ask(
                leader.node_id,
                ApiKey.CREATE_TOPICS,
                {"topics": [{**topic, "configs": []}], "timeout": 10_000},
            )
            world.run(300)
        world.run(3_000)
        assert self.quorum.log.end_offset < self.quorum_of(leader).log.start_offset
        self.offsets: list[int] = []
        self.quorum.subscribe(lambda image, delta: self.offsets.append(image.offset))

    def quorum_of(self, host: Host) -> MetadataQuorum:
        assert host.node is not None
        return host.node.quorum

    @property
    def quorum(self) -> MetadataQuorum:
        return self.quorum_of(self.away)

    def is_back(self) -> None:
        self._cut(is_cut=False)

    def _cut(self, *, is_cut: bool) -> None:
        network = self.world.network
        for other in (*self.others(self.away), "client"):
            (network.cut_both if is_cut else network.mend_both)(self.away.name, other)

    def is_up_to_date(self) -> bool:
        leader = self.world.active_controller
        if leader is None or not self.away.is_alive:
            return False
        return self.quorum.image.offset == self.quorum_of(leader).image.offset


class Silence:
    """Judges that a process says nothing once it could not write down its epoch or its vote."""

    def __init__(self, world: ClusterWorld, host: Host) -> None:
        self.failures = 0
        self._host = host
        self._write_file = host.disk.write_file
        self._sends = world.network.sends
        self.is_failing = True
        host.disk.write_file = self.write_file  # type: ignore[method-assign]
        world.network.sends = self.sends  # type: ignore[method-assign]

    def write_file(self, path: str, data: bytes) -> None:
        if self.is_failing and path.endswith("quorum-state"):
            self.failures += 1
            raise DiskFailed(path, "I/O error")
        self._write_file(path, data)

    def sends(self, end: End, data: bytes) -> None:
        if self.is_failing and self.failures and end.host.name == self._host.name:
            raise BrokenPromise(f"{self._host.name} speaks of what it could not write down")
        self._sends(end, data)


def elect_another(seed: int) -> None:
    """The leader dies, and a voter cannot write down that it votes, stands or follows."""
    world = ClusterWorld(seed, ("controller",) * 3)
    world.start()
    first = world.wait_for_controller()
    world.run_until(lambda: has_the_metadata(world))
    host = next(one for one in world.controllers if one is not first)
    judge = Silence(world, host)
    first.kill()
    world.run_until(lambda: judge.failures > 0, 10_000)
    world.run_until(lambda: not host.is_alive, 1_000)
    assert judge.failures == 1
    assert world.active_controller is None
    judge.is_failing = False
    host.start()
    first.start()
    world.run_until(lambda: has_the_metadata(world), 20_000)


@pytest.mark.parametrize("seed", range(1, 9))
def test_what_could_not_be_written_down_nobody_is_told(seed: int) -> None:
    elect_another(seed)


@pytest.mark.interpreted
def test_who_goes_on_without_its_vote_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    do = MetadataQuorum._do

    def go_on(quorum: MetadataQuorum, effect: Effect) -> None:
        try:
            do(quorum, effect)
        except DiskFailed:
            if not isinstance(effect, Persist):
                raise

    monkeypatch.setattr(MetadataQuorum, "_do", go_on)
    for seed in range(1, 9):
        with pytest.raises(BrokenPromise, match="could not write down"):
            elect_another(seed)


def test_a_record_on_a_new_topic_outlives_a_slow_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fsync of the first copied snapshot takes longer than a voter waits for a fetch; others,
    on other threads, do not. The node has a topic of its own when that ends."""
    kit = FarBehind(1)
    clock = kit.away.clock
    slow: list[str] = []
    flush = SimFile.flush

    def flush_slowly(file: SimFile, then: Flushed) -> None:
        is_one = file.path.endswith(".part") and file._disk is kit.away.disk
        if is_one and not slow:
            slow.append(file.path)
            clock.call_at(later(clock.now(), 6_000), lambda: flush(file, then))
        else:
            flush(file, then)

    monkeypatch.setattr(SimFile, "flush", flush_slowly)
    kit.is_back()
    kit.wait(lambda: bool(slow) and kit.is_up_to_date())
    own = {"name": "own", "num_partitions": -1, "replication_factor": -1, "configs": []}
    assigned = [{"partition_index": 0, "broker_ids": [kit.away.node_id]}]
    kit.client.ask(
        kit.world.wait_for_controller().node_id,
        ApiKey.CREATE_TOPICS,
        {"topics": [{**own, "assignments": assigned}], "timeout": 10_000},
    )
    kit.wait(lambda: kit.leader_or_none("own") is kit.away)
    records = build_batch([NewRecord(value=b"precious", timestamp=kit.world.clock.now())])
    topic = {
        "name": "own",
        "topic_id": kit.partition(kit.away, "own").topic_id,
        "partition_data": [{"index": 0, "records": records}],
    }
    answer = kit.client.ask(
        kit.away.node_id,
        ApiKey.PRODUCE,
        {"transactional_id": None, "acks": ALL, "timeout": 5_000, "topic_data": [topic]},
    )
    assert answer.responses[0].partition_responses[0].error_code == 0
    kit.world.run(9_000)
    assert kit.offsets == sorted(kit.offsets)
    assert kit.partition(kit.away, "own").log.log_end_offset == 1


@pytest.mark.interpreted
def test_reading_a_copy_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than a voter waits for a fetch: a large image is enough."""
    kit = FarBehind(1)
    read = SnapshotContents.read
    disk = kit.away.disk

    def slowly(contents: SnapshotContents, file: File) -> Steps:
        if isinstance(file, SimFile) and file._disk is disk:
            yield Pause(4_000)
        yield from read(contents, file)

    monkeypatch.setattr(SnapshotContents, "read", slowly)
    lives = kit.away.boots
    kit.is_back()
    kit.wait(kit.is_up_to_date)
    assert kit.away.boots == lives
    assert kit.offsets == sorted(kit.offsets)


@pytest.mark.parametrize("power", ["stays", "goes"])
def test_who_dies_while_it_installs_starts_again(power: str) -> None:
    """Wherever that is: then it has all that the others have, and tells the whole of it."""
    for nth in range(1, 40, 3):
        kit = FarBehind(nth)
        host = kit.away
        power_of = host.disk.on_write
        assert power_of is not None
        left = [nth]

        def cut(kind: str, path: str, size: int, left: list[int] = left) -> None:
            if "__cluster_metadata" in path:
                left[0] -= 1
                if left[0] == 0:
                    raise Interrupted(path)

        host.is_killed_when_cut = power == "stays"
        host.disk.on_write = cut
        kit.is_back()
        kit.wait(lambda: not host.is_alive or kit.is_up_to_date())  # noqa: B023  of this round
        host.disk.on_write = power_of
        if not host.is_alive:
            host.start()
        kit.wait(lambda: kit.is_up_to_date() and kit.partition(kit.away) is not None)  # noqa: B023
        kit.wait_for_all_in_sync()
