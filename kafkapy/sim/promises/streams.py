"""What members of a streams group were told, ran and gave up, and the judge of it.

    hears       a member is told which tasks are its own, in an epoch
    runs        it does what it was told; what it does not any more it gave up, and will say so
    lives_on    it is in a later epoch, and was a member all the time in between

- In one epoch a task is active at one member only, and in one process at one member only, active
  or as a copy: two would use the same state directory.
- Who has a task and lives on had it alone: nobody else asked for tasks and was given it after it
  began and before it gave it up; of a copy, nobody else in its process. Who was fenced meanwhile
  does not count: it ran what was not its own any more, and did not know.
- Whose task was given to another one in a later epoch commits nothing of it any more. An
  acknowledged commit is never taken back (`offsets`, as of other groups).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkapy.core.time import Instant
from kafkapy.sim.promises.groups import GroupFacts
from kafkapy.sim.promises.partitions import BrokenPromise

# The id of a subtopology, and a partition.
Task = tuple[str, int]


class Who(NamedTuple):
    process: str
    member: str


class Told(NamedTuple):
    """`asked` and `heard`: when the heartbeat was sent, and when its answer came."""

    by: Who
    epoch: int
    asked: Instant
    heard: Instant


class Ran(NamedTuple):
    task: Task
    is_active: bool
    since: Instant
    until: Instant


@dataclass(slots=True)
class StreamsFacts:
    """`standbys`: how many copies of a task with state the group is to keep, as far as it has
    processes for them."""

    group: str
    standbys: int = 0
    offsets: GroupFacts = field(init=False)
    # What each living member runs now, and since when.
    active: dict[Who, dict[Task, Instant]] = field(default_factory=dict)
    standby: dict[Who, dict[Task, Instant]] = field(default_factory=dict)
    # When a task was last found to be at the end of its input, with all of it committed.
    done: dict[Task, Instant] = field(default_factory=dict)
    _told: dict[tuple[int, Task], Who] = field(default_factory=dict)
    _epochs: dict[tuple[Who, Task], int] = field(default_factory=dict)
    _told_in_process: dict[tuple[int, str, Task], Who] = field(default_factory=dict)
    # With whether it is to be active there.
    _given: dict[Task, list[tuple[Told, bool]]] = field(default_factory=lambda: defaultdict(list))
    _ran: dict[Who, list[Ran]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.offsets = GroupFacts(self.group)

    def hears(self, told: Told, active: Iterable[Task], standby: Iterable[Task]) -> None:
        """Of an answer that names tasks."""
        by, active, standby = told.by, tuple(active), tuple(standby)
        for task in active:
            owner = self._told.setdefault((told.epoch, task), by)
            if owner != by:
                raise BrokenPromise(
                    f"{self.group}: in epoch {told.epoch} task {task} was {owner.member}'s, "
                    f"and now it is {by.member}'s"
                )
            self._epochs[by, task] = told.epoch
        for tasks, kept in ((active, self.active), (standby, self.standby)):
            for task in tasks:
                if task not in kept.get(by, {}):
                    self._given[task].append((told, kept is self.active))
        for task in (*active, *standby):
            user = self._told_in_process.setdefault((told.epoch, by.process, task), by)
            if user != by:
                raise BrokenPromise(
                    f"{self.group}: in epoch {told.epoch} both {user.member} and {by.member} of "
                    f"{by.process} have the state of {task}"
                )

    def runs(self, by: Who, active: Iterable[Task], standby: Iterable[Task], now: Instant) -> None:
        """What it had and has no more it has given up."""
        for kept, tasks in ((self.active, set(active)), (self.standby, set(standby))):
            had = kept.get(by, {})
            for task in sorted(had.keys() - tasks):
                self._ran[by].append(Ran(task, kept is self.active, had[task], now))
            kept[by] = {task: had.get(task, now) for task in sorted(tasks)}

    def lives_on(self, by: Who, asked: Instant) -> None:
        """It heard of a later epoch; it was a member when it asked, and is no new one."""
        running = [
            Ran(task, kept is self.active, since, asked)
            for kept in (self.active, self.standby)
            for task, since in kept.get(by, {}).items()
        ]
        ended = self._ran.pop(by, [])
        self._ran[by] = [ran for ran in ended if ran.until > asked]
        for ran in (*ended, *running):
            until = min(ran.until, asked)
            for other, is_active in self._given[ran.task]:
                if other.by == by or not (ran.since <= other.asked and other.heard <= until):
                    continue
                if (ran.is_active and is_active) or other.by.process == by.process:
                    raise BrokenPromise(
                        f"{self.group}: {by.member} had {ran} and was never fenced, and {other} "
                        "was given the task meanwhile"
                    )

    def commits(self, by: Who, task: Task, asked: Instant) -> None:
        """What it had done of the task by then was taken."""
        for other, is_active in self._given[task]:
            is_later = other.epoch > self._epochs[by, task] and other.heard <= asked
            if is_active and is_later and other.by != by:
                raise BrokenPromise(
                    f"{self.group}: {by.member} was given {task} in epoch "
                    f"{self._epochs[by, task]}, and committed after {other}"
                )

    def gives_up(self, by: Who) -> None:
        """It was fenced, left or is no more."""
        for kept in (self.active, self.standby, self._ran):
            kept.pop(by, None)

    def is_shared(self, tasks: Collection[Task], with_state: Collection[Task]) -> bool:
        """Every task is active once, and those with state have their copies."""
        running = sorted(task for one in self.active.values() for task in one)
        copies = sorted(task for one in self.standby.values() for task in one)
        processes = len({who.process for who in self.active})
        each = min(self.standbys, processes - 1)
        return running == sorted(tasks) and copies == sorted([*with_state] * each)
