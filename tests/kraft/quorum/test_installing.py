"""A snapshot of the leader, installed: however long that takes, and whatever happens meanwhile."""

from contextlib import suppress

import pytest

from kafkapy.core.errors import Refused
from kafkapy.core.jobs import Pause, Steps
from kafkapy.core.seams import File
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.loading import SnapshotContents
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.state import QuorumSettings
from kafkapy.sim.world.file import Interrupted
from tests.kraft.quorum.cluster import Cluster, Member

SMALL = SnapshotSettings(max_new_record_bytes=200, max_retention_bytes=0)
# Longer than a voter waits for a fetch, and than a leader for a majority.
SLOW_MS = 5_000


class Kit:
    """A cluster with a member that is down and so far behind that it needs a snapshot."""

    def __init__(self, seed: int, count: int = 3, topics_before: int = 3) -> None:
        self.cluster = Cluster(count, seed, snapshots=SMALL)
        self.leader = self.cluster.wait_for_leader()
        self.append(topics_before)
        # Its image is what a snapshot of its own says.
        self.cluster.run(1000)
        self.away = next(one for one in self.cluster.members if one is not self.leader)
        self.away.kill()
        self.append(20)
        self.told: list[str] = []
        self.offsets: list[int] = []

    def append(self, count: int) -> None:
        for _ in range(count):
            self.cluster.append(self.leader)
            self.cluster.run(200)

    def start(self) -> MetadataQuorum:
        self.away.start()
        quorum = quorum_of(self.away)

        def told(image: MetadataImage, delta: Delta) -> None:
            self.offsets.append(image.offset)
            self.told += [one.name for one in delta.topics_created.values()]

        quorum.subscribe(told)
        return quorum

    @property
    def is_installing(self) -> bool:
        return quorum_of(self.away)._quorum._state.installing is not None

    def all_is_well(self) -> None:
        self.cluster.heal()
        assert self.offsets == sorted(self.offsets), "the image goes back"
        assert sorted(self.told) == sorted(f"t{n + 1}" for n in range(self.cluster.appended))


def quorum_of(member: Member) -> MetadataQuorum:
    assert member.quorum is not None
    return member.quorum


def slow_reading(patch: pytest.MonkeyPatch, slow_ms: int = SLOW_MS) -> None:
    read = SnapshotContents.read

    def slow(contents: SnapshotContents, file: File) -> Steps:
        yield Pause(slow_ms)
        yield from read(contents, file)

    patch.setattr(SnapshotContents, "read", slow)


def test_the_first_to_hear_of_a_snapshot_hear_of_all_of_it() -> None:
    """Also of what the snapshot had that it started with: of that they were told nothing yet."""
    kit = Kit(1)
    kit.start()
    kit.all_is_well()


def test_a_slow_disk_installs_a_snapshot_once() -> None:
    kit = Kit(2)
    quorum = kit.start()
    kit.away.flush_ms = (SLOW_MS, SLOW_MS)
    kit.cluster.run(2 * SLOW_MS)
    kit.append(5)
    kit.cluster.run(2 * SLOW_MS)
    kit.away.flush_ms = (0, 4)
    kit.all_is_well()
    assert quorum.log.start_offset > 10


def test_while_it_installs_each_knows_that_the_other_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three voters one is down: nobody stands for election, and nobody gives up leading."""
    kit = Kit(3)
    third = next(one for one in kit.cluster.members if one not in (kit.leader, kit.away))
    epoch = quorum_of(kit.leader).leader_epoch
    slow_reading(monkeypatch)
    quorum = kit.start()
    kit.cluster.wait(lambda: kit.is_installing)
    third.kill()
    for _ in range(SLOW_MS // 100):
        kit.cluster.run(100)
        assert quorum.role_name == "follower"
        assert quorum_of(kit.leader).is_active
    kit.cluster.wait(lambda: quorum.log.end_offset == quorum_of(kit.leader).log.end_offset)
    assert quorum.leader_epoch == quorum_of(kit.leader).leader_epoch == epoch
    third.start()
    kit.all_is_well()


@pytest.mark.parametrize("seed", range(4))
def test_another_leads_while_it_installs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may vote meanwhile, and goes on from the snapshot with whoever leads then."""
    kit = Kit(seed)
    slow_reading(monkeypatch, 20_000)
    kit.start()
    kit.cluster.wait(lambda: kit.is_installing)
    kit.leader.kill()
    third = next(one for one in kit.cluster.members if one not in (kit.leader, kit.away))
    kit.cluster.wait(lambda: quorum_of(third)._quorum.is_leader)
    assert kit.is_installing
    kit.leader = kit.cluster.wait_for_leader()
    kit.append(3)
    kit.all_is_well()


def test_who_stops_while_it_installs_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit(5)
    slow_reading(monkeypatch)
    quorum = kit.start()
    kit.cluster.wait(lambda: kit.is_installing)
    end_offset, image_offset = quorum.log.end_offset, quorum.image.offset
    quorum.close(lambda failure: None)
    kit.cluster.run(2 * SLOW_MS)
    directory = quorum.log.partition.directory
    assert not any(name.endswith(".part") for name in kit.away.disk.list(directory))
    assert (quorum.log.end_offset, quorum.image.offset) == (end_offset, image_offset)


def test_a_damaged_copy_costs_nothing_but_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit(6)
    quorum = kit.start()
    kit.away.flush_ms = (500, 500)
    kit.cluster.wait(lambda: kit.is_installing)
    directory = quorum.log.partition.directory
    (part,) = (name for name in kit.away.disk.list(directory) if name.endswith(".part"))
    kit.away.disk.flip(f"{directory}/{part}", 200, 1)
    kit.cluster.wait(lambda: not kit.is_installing)
    assert quorum.log.start_offset < 10
    kit.away.flush_ms = (0, 4)
    kit.all_is_well()


def test_its_power_may_go_at_any_write_of_it() -> None:
    """And it starts again with what there is, and gets the rest."""
    nth = 0
    is_over = False
    while not is_over:
        nth += 1
        kit = Kit(7)
        kit.start()
        left = nth

        def cut(kind: str, path: str, size: int, kit: Kit = kit) -> None:
            nonlocal left
            if "checkpoint" in path or kit.is_installing:
                left -= 1
                if left == 0:
                    raise Interrupted(path)

        kit.away.disk.on_write = cut
        try:
            kit.cluster.run(3_000)
            is_over = True
        except Interrupted:
            kit.away.disk.on_write = None
            kit.away.kill()
            kit.told.clear()
            kit.offsets.clear()
            kit.start()
        kit.away.disk.on_write = None
        kit.all_is_well()
    assert nth > 10


@pytest.mark.parametrize("kind", ["create", "append", "flush", "rename", "remove", "read"])
def test_a_disk_that_fails_in_it_ends_the_replica(kind: str) -> None:
    """Whichever of these it is, and nothing is applied or told any more."""
    for nth in range(1, 20):
        kit = Kit(8)
        quorum = kit.start()
        kit.cluster.wait(lambda: quorum.leader_id is not None)  # noqa: B023  of this round
        kit.away.disk.fail(kind, in_path="__cluster_metadata-0", nth=nth)
        kit.cluster.run(5_000)
        if kit.away.disk.will_fail:
            assert nth > 1
            return
        assert len(kit.away.failures) == 1
        told = list(kit.told)
        kit.append(2)
        assert kit.told == told
        kit.away.kill()
        kit.told.clear()
        kit.offsets.clear()
        kit.start()
        kit.all_is_well()


@pytest.mark.parametrize("seed", range(10))
def test_nothing_goes_back_whatever_happens_to_disks(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes die, part and heal while disks are slow or fail, and snapshots are all there is."""
    settings = SnapshotSettings(max_new_record_bytes=300, max_retention_bytes=0)
    hasty = QuorumSettings(election_timeout_ms=30, fetch_timeout_ms=200)
    cluster = Cluster(3, seed, snapshots=settings, quorum=hasty if seed % 2 else None)
    dice = cluster.rng.fork("nemesis")
    read = SnapshotContents.read

    def slowly(contents: SnapshotContents, file: File) -> Steps:
        yield Pause(dice.below(3000) if dice.below(3) == 0 else 0)
        yield from read(contents, file)

    monkeypatch.setattr(SnapshotContents, "read", slowly)
    for _ in range(40):
        victim = cluster.members[dice.below(3)]
        match dice.below(6):
            case 0 if victim.quorum is None:
                start_watched(victim)
            case 0:
                victim.kill()
            case 1:
                cluster.cut_off = {victim.id}
            case 2:
                cluster.cut_off = set()
            case 3:
                victim.flush_ms = (0, (4, 300, 3000)[dice.below(3)])
            case 4 if victim.quorum is not None:
                victim.disk.fail(
                    ("append", "flush", "rename", "create", "write_file", "remove")[dice.below(6)],
                    in_path="__cluster_metadata-0",
                    nth=1 + dice.below(6),
                )
        for member in cluster.members:
            with suppress(Refused):
                cluster.append(member)
        cluster.run(dice.below(1500))
        for member in cluster.members:
            if member.failures and member.quorum is not None:
                member.kill()
            member.failures.clear()
        cluster.check_logs()
    for member in cluster.members:
        member.flush_ms = (0, 4)
        member.disk.forget_faults()
    cluster.heal()


def start_watched(member: Member) -> None:
    member.start()
    quorum = quorum_of(member)
    offsets: list[int] = []

    def told(image: MetadataImage, delta: object) -> None:
        assert not offsets or offsets[-1] <= image.offset
        offsets.append(image.offset)

    quorum.subscribe(told)
