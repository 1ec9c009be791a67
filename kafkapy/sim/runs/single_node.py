"""One seeded run: lives and deaths of a node, with an audit after every start.

    start --> audit --> [same again] --> actions ... --> death --> start --> ...
      \\                                    \\-> at the nth change of the disk
       \\-> also in the middle of a start, an audit or a clean stop

A run is a function of its seed. What fails raises `Failed`, with the seed and the last
lines of the trace.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from kafkapy.core.errors import DiskFailed
from kafkapy.sim.clients.state import Clients
from kafkapy.sim.clients.workload import Workload
from kafkapy.sim.promises.audit import Everything, audit, same_again
from kafkapy.sim.promises.partitions import Death
from kafkapy.sim.world.power import IN_A_TURN, PowerCut
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

LIVES: Final = 5
_ACTIONS: Final = (10, 120)
# A start makes some forty changes; a busy life a few thousand.
_CHANGES: Final = (16, 4000)
# Appends and answers after the audit: a busy life has some hundreds.
_CHANGES_IN_TURNS: Final = (1, 600)
_DIES_IN_A_TURN_PERCENT: Final = 60
_LINES_SHOWN: Final = 40


class Failed(Exception):
    """The run of `seed` broke a promise, or broke down."""

    def __init__(self, seed: int, cause: BaseException, world: World) -> None:
        lines = list(world.trace.last)[-_LINES_SHOWN:]
        story = "\n".join(f"    {line}" for line in lines)
        super().__init__(
            f"seed {seed}, life {world.boots}: {type(cause).__name__}: {cause}\n{story}\n"
            f"replay: make sim SEED={seed}"
        )
        self.seed = seed
        self.cause = cause


@dataclass(slots=True)
class Report:
    seed: int
    digest: str = ""
    lives: int = 0
    actions: int = 0
    records_sent: int = 0
    disk_changes: int = 0
    deaths: Counter[Death] = field(default_factory=Counter)


def run_seed(seed: int, lives: int = LIVES) -> Report:
    """Raises Failed."""
    world = World(seed)
    run = Run(world)
    try:
        run.lives(lives)
    except Exception as cause:
        raise Failed(seed, cause, world) from cause
    return Report(
        seed,
        world.trace.digest(),
        world.boots,
        run.workload.actions,
        run.clients.records_sent,
        world.power.changes,
        run.deaths,
    )


class Run:
    def __init__(self, world: World) -> None:
        self.world = world
        self.deaths: Counter[Death] = Counter()
        self._rng = world.rng.fork("run")
        self.clients = Clients(world.rng.fork("clients"))
        self.workload = Workload(world, self.clients, world.rng.fork("workload"))
        self._metadata_path = world.settings["log.dirs"].partition(",")[0]
        # The worst that happened since all partitions were last audited.
        self._death: Death | None = None

    def lives(self, count: int) -> None:
        for _ in range(count):
            self.live()
        self._start_and_audit(None)

    def live(self) -> None:
        """One life, from the start to some death."""
        rng = self._rng
        self.world.disk_latency_ms = rng.choice((0, 0, 3, 30, 200))
        planned = rng.weighted(((40, Death.POWER), (35, Death.KILLED), (25, Death.STOPPED)))
        cut_after = rng.magnitude(*_CHANGES) if planned is not Death.STOPPED else None
        in_a_turn = (
            rng.magnitude(*_CHANGES_IN_TURNS) if rng.chance(_DIES_IN_A_TURN_PERCENT) else None
        )
        try:
            everything = self._start_and_audit(cut_after)
            if rng.chance(30):
                same_again(self.world, self.clients, everything)
                self.world.power.cut_after(cut_after)
            if cut_after is not None and in_a_turn is not None:
                self.world.power.cut_after(in_a_turn, IN_A_TURN)
            self.workload.begin()
            for _ in range(rng.between(*_ACTIONS)):
                self.workload.act()
            if planned is Death.STOPPED and self.clients.failing_path != self._metadata_path:
                self._stop(rng)
                return
        except PowerCut:
            self.world.trace.note("died")
        except DiskFailed as failure:
            # Without the metadata log a node cannot go on; without the others it must.
            self.world.trace.note("gave up", failure)
            is_due = self.clients.failing_path == self._metadata_path
            if not (is_due and failure.path.startswith(f"{self._metadata_path}/")):
                raise
        self._die(Death.KILLED if planned is Death.KILLED else Death.POWER)

    def _start_and_audit(self, cut_after: int | None) -> Everything:
        self.world.power.cut_after(cut_after)
        self.clients.failing_path = None
        self.clients.is_stopping = False
        self.world.start()
        for promises in self.clients.all_partitions():
            promises.high_watermark = 0
        everything = audit(self.world, self.clients, self._death)
        self._death = None
        return everything

    def _stop(self, rng: SimRng) -> None:
        """A clean stop, or a death in the middle of one; and the power may go after it."""
        self.clients.is_stopping = True
        if rng.chance(30):
            self.world.power.cut_after(rng.below(60))
        self._hear_logs()
        closed = [
            promises
            for promises in self.clients.all_partitions()
            if self.world.directory_of(promises.topic.name, promises.index)
            != self.clients.failing_path
        ]
        self.world.stop()
        self._worse(Death.STOPPED)
        for promises in closed:
            promises.all_flushed()
        if rng.chance(50):
            self._worse(Death.POWER)
            self.world.crash()

    def _die(self, death: Death) -> None:
        self._hear_logs()
        self._worse(death)
        if death is Death.POWER:
            self.world.crash()
        else:
            self.world.kill()

    def _worse(self, death: Death) -> None:
        self.deaths[death] += 1
        if self._death is not Death.POWER:
            self._death = death

    def _hear_logs(self) -> None:
        """What the logs say of themselves, just before nobody can ask them any more."""
        if self.world.node is None or not self.world.is_serving:
            return
        for promises in self.clients.all_partitions():
            partition = self.world.broker.partitions.get(promises.topic.name, promises.index)
            if partition is not None and partition.topic_id == promises.topic.topic_id:
                log = partition.log
                is_written = self.world.disk.has_all_that_was_appended(log.directory)
                end = log.log_end_offset if is_written else log.flushed_offset
                promises.written(end, log.flushed_offset)
