"""Processes of an application while tasks are assigned to them, the least loaded first.

A process's load is its tasks for each of its members (threads). Heaps are lazy: what was pushed
before a load changed is skipped when it is popped.
"""

from heapq import heappop, heappush

from kafkapy.group.streams.member import Task


class Process:
    """`tasks` are all that it has, of any member and kind."""

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.counts: dict[str, int] = {}
        self.tasks: set[Task] = set()
        self.active: dict[str, list[Task]] = {}
        self.standby: dict[str, list[Task]] = {}
        self._by_count: list[tuple[int, str]] = []

    @property
    def load(self) -> float:
        return len(self.tasks) / len(self.counts)

    def add_member(self, member_id: str) -> None:
        self.counts[member_id] = 0
        heappush(self._by_count, (0, member_id))

    def add(self, member_id: str, task: Task, *, is_active: bool) -> int:
        """How many tasks the member has with it."""
        self.tasks.add(task)
        kind = self.active if is_active else self.standby
        kind.setdefault(member_id, []).append(task)
        count = self.counts[member_id] = self.counts[member_id] + 1
        heappush(self._by_count, (count, member_id))
        return count

    def add_to_least_loaded(self, task: Task, *, is_active: bool) -> int:
        while True:
            count, member_id = heappop(self._by_count)
            if count == self.counts[member_id]:
                return self.add(member_id, task, is_active=is_active)


class LeastLoaded:
    """Processes in the order of their loads, which change by what is added through here."""

    def __init__(self, processes: list[Process]) -> None:
        self._heap = sorted((one.load, at) for at, one in enumerate(processes))
        self._processes = processes

    def add(self, task: Task, *, is_active: bool) -> int | None:
        """To the first that does not have it; None if all have. At most as many are passed over
        as have the task, which is no more than it has replicas."""
        passed = []
        count = None
        while self._heap and count is None:
            load, at = heappop(self._heap)
            process = self._processes[at]
            if task in process.tasks:
                passed.append((load, at))
            else:
                count = process.add_to_least_loaded(task, is_active=is_active)
                heappush(self._heap, (process.load, at))
        for one in passed:
            heappush(self._heap, one)
        return count
