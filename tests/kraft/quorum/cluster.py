"""Several voters with their logs on simulated disks and a network that delays, loses and
parts; who leads, what is committed and what was acknowledged is checked all along."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.metadata_quorum import Answered, MetadataQuorum
from kafkapy.kraft.quorum.answering import QuorumStopped
from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    EpochResponse,
    FetchRequest,
    RemoveVoterRequest,
    Request,
    Response,
    VoterChangeRequest,
    VoterResponse,
)
from kafkapy.kraft.quorum.state import QuorumSettings
from kafkapy.kraft.quorum.voters import (
    SUPPORTED_KRAFT_VERSIONS,
    ReplicaKey,
    Voter,
    VoterAddress,
    VoterSet,
    parse_voters,
)
from kafkapy.kraft.quorum_facts import MetadataQuorumSettings
from kafkapy.kraft.records.metadata import MetadataRecord, TopicRecord
from kafkapy.kraft.storage.adoption import adopt
from kafkapy.kraft.storage.bootstrap import activation_records
from kafkapy.kraft.storage.format import format_directories
from kafkapy.kraft.uuids import new_uuid
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

HOME = "/data"


class Member:
    """One node, up or down. Its disk outlives it."""

    def __init__(self, cluster: "Cluster", node_id: int) -> None:
        self.cluster = cluster
        self.id = node_id
        self.rng = cluster.rng.fork(f"node {node_id}")
        self.quorum: MetadataQuorum | None = None
        self.life = 0
        self.port = node_id
        self.joins_by_itself = False
        # Of the disk: so long a flush may take.
        self.flush_ms = (0, 4)
        self.failures: list[DiskFailed] = []
        self.replace_disk(cluster.initial_voters)

    @property
    def endpoints(self) -> tuple[VoterAddress, ...]:
        return (VoterAddress("CONTROLLER", f"n{self.id}", self.port),)

    @property
    def key(self) -> ReplicaKey:
        assert self.quorum is not None
        return self.quorum.settings.local

    def replace_disk(self, initial_voters: VoterSet | None = None) -> None:
        assert self.quorum is None
        self.disk = SimDisk(self.cluster.clock.now, self._flush_later)
        self.disk.make_directory(HOME)
        self.disk.flush_directory("/")
        format_directories(
            self.disk,
            self.rng,
            self.cluster.clock.now(),
            [HOME],
            cluster_id="c",
            node_id=self.id,
            initial_voters=initial_voters,
        )

    def start(self) -> None:
        assert self.quorum is None
        self.life += 1
        found = adopt(
            self.disk,
            self.rng,
            self.cluster.clock.now(),
            [HOME],
            metadata_path=HOME,
            node_id=self.id,
        )
        settings = MetadataQuorumSettings(
            cluster_id="c",
            local=ReplicaKey(self.id, found.directory_ids[HOME]),
            endpoints=self.endpoints,
            configured_voters=self.cluster.voters,
            snapshots=self.cluster.snapshots,
            quorum=replace(self.cluster.quorum, joins_by_itself=self.joins_by_itself),
        )
        quorum = self.quorum = MetadataQuorum(
            self.disk,
            self.cluster.clock,
            self.rng,
            HOME,
            settings,
            transport=self._call,
            probe=self._probe,
        )
        quorum.on_lead = self._lead
        quorum.on_failed = self.failures.append
        quorum.start()

    def kill(self) -> None:
        """The power goes: what was not flushed may be gone."""
        quorum, self.quorum = self.quorum, None
        assert quorum is not None
        self.life += 1
        quorum.answering.end()
        # Callbacks of the dead find it closed.
        quorum._is_closed = True
        quorum._replay.stop()
        for job in (quorum._loading, quorum._copying._reading, quorum._snapshotting._job):
            if job is not None:
                job.stop()
        quorum._waiting.clear()
        self.disk.crash(self.rng)

    def _lead(self, image: MetadataImage, bootstrap: Sequence[MetadataRecord]) -> None:
        assert self.quorum is not None
        first = activation_records(image, bootstrap, 1)
        if first:
            self.quorum.append(first)

    def _flush_later(self, then: Callable[[], None]) -> None:
        least, most = self.flush_ms
        delay = least + self.rng.below(most - least + 1)
        self.cluster.clock.call_at(self.cluster.clock.now() + delay, then)  # type: ignore[arg-type]  # Instant + int

    def _call(self, to: int | None, request: Request, then: Answered) -> None:
        others = [one for one in self.cluster.members if one.id != self.id]
        if to is None:
            to = others[self.rng.below(len(others))].id
        self.cluster.deliver(self, self.cluster.member(to), request, then)

    def _probe(self, address: VoterAddress, then: Callable[[tuple[int, int] | None], None]) -> None:
        node_id = int(address.host.removeprefix("n"))
        self.cluster.probe(self, self.cluster.member(node_id), then)


class Change:
    """What became of a change of the voters that was asked for."""

    def __init__(self) -> None:
        self.answer: VoterResponse | EpochResponse | None = None

    @property
    def error(self) -> ErrorCode | None:
        return None if self.answer is None else self.answer.error

    def answered(self, answer: VoterResponse | EpochResponse) -> None:
        assert self.answer is None, (self.answer, answer)
        self.answer = answer


class Cluster:
    def __init__(
        self,
        count: int,
        seed: int,
        *,
        snapshots: SnapshotSettings | None = None,
        quorum: QuorumSettings | None = None,
        is_dynamic: bool = False,
    ) -> None:
        self.clock = SimClock()
        self.rng = SimRng(seed)
        self.loss = 0  # in 100
        self.snapshots = snapshots or SnapshotSettings()
        # Snapshots travel in many pieces.
        self.quorum = replace(quorum or QuorumSettings(), fetch_snapshot_max_bytes=300)
        static = parse_voters(",".join(f"{n}@n{n}:{n}" for n in range(1, count + 1)), "CONTROLLER")
        self.voters = VoterSet() if is_dynamic else static
        self.initial_voters: VoterSet | None = None
        if is_dynamic:
            self.initial_voters = VoterSet(
                Voter(ReplicaKey(one.key.id, new_uuid(self.rng)), one.endpoints) for one in static
            )
        self.cut_off: set[int] = set()
        self.members = [Member(self, n) for n in range(1, count + 1)]
        self.leaders: dict[int, int] = {}
        self.committed: dict[int, tuple[int, bytes]] = {}
        self.acknowledged: list[str] = []
        self.appended = 0
        for member in self.members:
            member.start()

    def newcomer(self, *, joins_by_itself: bool = False) -> Member:
        """One more, which knows nobody and is known to nobody."""
        before, self.initial_voters = self.initial_voters, None
        member = Member(self, len(self.members) + 1)
        self.initial_voters = before
        self.members.append(member)
        member.joins_by_itself = joins_by_itself
        member.start()
        return member

    def change(self, request: VoterChangeRequest, at: Member | None = None) -> "Change":
        """Ask `at`, or whoever leads."""
        asked = at or self.wait_for_leader()
        assert asked.quorum is not None
        change = Change()
        asked.quorum.voter_changes.ask(request, change.answered)
        return change

    def add(self, member: Member) -> "Change":
        return self.change(AddVoterRequest("c", member.key, member.endpoints, 2000))

    def remove(self, key: ReplicaKey) -> "Change":
        return self.change(RemoveVoterRequest("c", key))

    def wait(self, condition: Callable[[], bool]) -> None:
        assert self.run_until(condition, 60_000), [self._state(one) for one in self.members]

    def member(self, node_id: int) -> Member:
        return self.members[node_id - 1]

    @property
    def leader(self) -> Member | None:
        """The active controller of the highest epoch."""
        active = [one for one in self.members if one.quorum is not None and one.quorum.is_active]
        return max(active, key=_epoch_of, default=None)

    def wait_for_leader(self) -> Member:
        assert self.run_until(lambda: self.leader is not None, 60_000), self
        assert self.leader is not None
        return self.leader

    def append(self, member: Member) -> None:
        """One topic more, by whoever believes to lead."""
        quorum = member.quorum
        if quorum is None or not quorum.is_active:
            return
        self.appended += 1
        name = f"t{self.appended}"

        def committed(error: ErrorCode | None) -> None:
            if error is None:
                self.acknowledged.append(name)

        record = TopicRecord(name=name, topic_id=new_uuid(self.rng))
        quorum.when_committed(quorum.append([record]), committed)

    # -- the network -------------------------------------------------------------------

    def deliver(self, sender: Member, to: Member, request: Request, then: Answered) -> None:
        life = sender.life

        def arrive() -> None:
            if to.quorum is None or self._is_lost(sender, to):
                return self._later(lambda: answer(ConnectionError("lost")), 500)
            return ask(
                to.quorum, request, lambda answered: self._later(lambda: come_back(answered))
            )

        def come_back(answered: Response | Exception) -> None:
            if self._is_lost(sender, to):
                self._later(lambda: answer(ConnectionError("lost")), 500)
            else:
                answer(answered)

        def answer(answered: Response | Exception) -> None:
            if sender.life == life:
                then(answered)

        self._later(arrive)

    def probe(
        self, sender: Member, to: Member, then: Callable[[tuple[int, int] | None], None]
    ) -> None:
        life = sender.life

        def asked() -> None:
            lost = to.quorum is None or self._is_lost(sender, to)
            if sender.life == life:
                then(None if lost else SUPPORTED_KRAFT_VERSIONS)

        self._later(asked)

    def _is_lost(self, one: Member, other: Member) -> bool:
        is_cut = (one.id in self.cut_off) != (other.id in self.cut_off)
        return is_cut or self.rng.below(100) < self.loss

    def _later(self, then: Callable[[], None], at_least: int = 0) -> None:
        self.clock.call_at(self.clock.now() + at_least + self.rng.below(20), then)  # type: ignore[arg-type]  # Instant + int

    # -- turning it, and looking -------------------------------------------------------

    def run(self, by_ms: int) -> None:
        self.run_until(lambda: False, by_ms)

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        def checked() -> bool:
            self.check()
            return condition()

        return self.clock.run_until(checked, within_ms)

    def check(self) -> None:
        """One leader an epoch; what is committed anywhere is the same everywhere."""
        for member in self.members:
            quorum = member.quorum
            if quorum is None:
                continue
            if quorum._quorum.is_leader:
                leader = self.leaders.setdefault(quorum.leader_epoch, member.id)
                assert leader == member.id, f"two leaders in epoch {quorum.leader_epoch}"

    def check_logs(self) -> None:
        """Compare all committed batches, byte by byte."""
        for member in self.members:
            quorum = member.quorum
            if quorum is None or quorum.high_watermark is None:
                continue
            log = quorum.log
            for batch in log.batches(log.start_offset, quorum.high_watermark):
                found = (batch.header.leader_epoch, batch.data)
                assert self.committed.setdefault(batch.header.base_offset, found) == found

    def heal(self) -> None:
        """All up, all connected: they agree, and nothing acknowledged is missing."""
        self.loss = 0
        self.cut_off = set()
        for member in self.members:
            if member.quorum is None:
                member.start()
        assert self.run_until(self._agree, 120_000), [self._state(one) for one in self.members]
        self.check_logs()
        for member in self.members:
            assert member.quorum is not None
            names = set(member.quorum.image.topics_by_name)
            assert names >= set(self.acknowledged), f"{member.id} lost an acknowledged record"

    def _agree(self) -> bool:
        if self.leader is None:
            return False
        states = {self._state(one)[1:] for one in self.members}
        return len(states) == 1

    def _state(self, member: Member) -> tuple[object, ...]:
        quorum = member.quorum
        assert quorum is not None
        return (
            member.id,
            quorum.leader_epoch,
            quorum.leader_id,
            quorum.high_watermark,
            quorum.log.end_offset,
            quorum.image.offset,
        )


def ask(
    quorum: MetadataQuorum, request: Request, then: Callable[[Response | Exception], None]
) -> None:
    """As the handlers do it."""
    if isinstance(request, FetchRequest):
        quorum.answering.fetch(request, then)
        return
    try:
        if isinstance(request, VoterChangeRequest):
            quorum.voter_changes.ask(request, then)
            return
        answer = quorum.answering.handle(request)
    except (QuorumStopped, Refused) as refused:
        then(refused)
        return
    then(answer)


def _epoch_of(member: Member) -> int:
    return -1 if member.quorum is None else member.quorum.leader_epoch
