"""The sticky assignor: tasks stay where their state is, as far as everybody gets as many.

    active    who had it, while it has fewer than its share; who has a standby of it; the process
              with the least load
    standby   of tasks with state: who had it active, who had it as a standby, the process with
              the least load; never twice in one process

Quotas shrink as members reach theirs, so that a remainder is spread (`_Quota`). The work is that
of sorting the tasks: a member is never looked at for each of them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafkapy.group.streams.configure import Part
from kafkapy.group.streams.member import Target, Task, Tasks
from kafkapy.group.streams.processes import LeastLoaded, Process


class Candidate(NamedTuple):
    """A member, and what it was to run until now."""

    member_id: str
    process_id: str
    had: Target


class _Quota:
    """What each member may have: all tasks over all members, rounded up, less those who are
    full."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = self._share()

    def reached(self, count: int) -> None:
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = self._share()

    def _share(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0


class _Assignment:
    def __init__(self, members: Sequence[Candidate], parts: Mapping[str, Part], standbys: int):
        self.members = {one.member_id: one for one in members}
        self.processes: dict[str, Process] = {}
        self.had_active: dict[Task, str] = {}
        self.had_standby: dict[Task, list[str]] = {}
        for one in members:
            process = self.processes.setdefault(one.process_id, Process(one.process_id))
            process.add_member(one.member_id)
            for task in _each(one.had.active):
                self.had_active[task] = one.member_id
            for task in _each(one.had.standby):
                self.had_standby.setdefault(task, []).append(one.member_id)
        actives = sum(part.task_count for part in parts.values())
        copies = standbys * sum(part.task_count for part in parts.values() if part.is_stateful)
        self.of_active = _Quota(actives, len(members))
        self.of_all = _Quota(actives + copies, len(members))

    def process_of(self, member_id: str) -> Process:
        return self.processes[self.members[member_id].process_id]

    def give(self, member_id: str, task: Task, *, is_active: bool) -> None:
        self.count(self.process_of(member_id).add(member_id, task, is_active=is_active), is_active)

    def count(self, tasks: int, is_active: bool) -> None:
        if is_active:
            self.of_active.reached(tasks)
        self.of_all.reached(tasks)

    def has_room(self, member_id: str, quota: _Quota) -> bool:
        return self.process_of(member_id).counts[member_id] < quota.each

    def least_loaded(self) -> LeastLoaded:
        return LeastLoaded([self.processes[name] for name in sorted(self.processes)])

    def had_copy(self, task: Task, *, is_there: bool) -> str | None:
        """The least loaded of those that had a standby of it; with `is_there` those whose process
        has the task already are no choice."""
        best: tuple[float, int, str] | None = None
        for member_id in self.had_standby.get(task, ()):
            process = self.process_of(member_id)
            if is_there and task in process.tasks:
                continue
            row = (process.load, process.counts[member_id], member_id)
            if best is None or row < best:
                best = row
        return None if best is None else best[2]


def assign(
    members: Sequence[Candidate], parts: Mapping[str, Part], standbys: int
) -> dict[str, Target]:
    if not members:
        return {}
    made = _Assignment(members, parts, standbys)
    _assign_active(made, [(one, p) for one in sorted(parts) for p in range(parts[one].task_count)])
    if standbys:
        stateful = [
            (one, p)
            for one in sorted(parts, reverse=True)
            if parts[one].is_stateful
            for p in reversed(range(parts[one].task_count))
        ]
        _assign_standby(made, stateful, standbys)
    return {one.member_id: _target(made, one.member_id) for one in members}


def _assign_active(made: _Assignment, tasks: list[Task]) -> None:
    left = []
    for task in tasks:
        had = made.had_active.get(task)
        if had is not None and made.has_room(had, made.of_active):
            made.give(had, task, is_active=True)
        else:
            left.append(task)
    tasks, left = left, []
    for task in tasks:
        had = made.had_copy(task, is_there=False)
        if had is not None and made.has_room(had, made.of_active):
            made.give(had, task, is_active=True)
        else:
            left.append(task)
    # By partition first, so that the tasks of one subtopology do not follow one another.
    left.sort(key=lambda task: (task[1], task[0]))
    queue = made.least_loaded()
    for task in left:
        count = queue.add(task, is_active=True)
        assert count is not None, task
        made.count(count, True)


def _assign_standby(made: _Assignment, tasks: list[Task], standbys: int) -> None:
    left: list[tuple[Task, int]] = []
    for task in tasks:
        for given in range(standbys):
            to = _who_had(made, task)
            if to is None:
                left.append((task, standbys - given))
                break
            made.give(to, task, is_active=False)
    queue = made.least_loaded()
    for task, count in left:
        for _ in range(count):
            tasks_now = queue.add(task, is_active=False)
            if tasks_now is None:
                break  # more standbys are asked for than there are processes
            made.count(tasks_now, False)


def _who_had(made: _Assignment, task: Task) -> str | None:
    had = made.had_active.get(task)
    if (
        had is not None
        and task not in made.process_of(had).tasks
        and made.has_room(had, made.of_all)
    ):
        return had
    copy = made.had_copy(task, is_there=True)
    return copy if copy is not None and made.has_room(copy, made.of_all) else None


def _target(made: _Assignment, member_id: str) -> Target:
    process = made.process_of(member_id)
    return Target(
        _grouped(process.active.get(member_id, ())), _grouped(process.standby.get(member_id, ()))
    )


def _grouped(tasks: Sequence[Task]) -> Tasks:
    found: dict[str, set[int]] = {}
    for subtopology, partition in tasks:
        found.setdefault(subtopology, set()).add(partition)
    return {subtopology: frozenset(partitions) for subtopology, partitions in found.items()}


def _each(tasks: Tasks) -> list[Task]:
    return [(one, partition) for one, partitions in tasks.items() for partition in partitions]
