"""What a member does with its tasks: read, process, commit; and keep copies of stores.

    committed offset --> records --> acknowledged where they go --> commit, for the member's epoch

What is done is done at least once: a member that is late, fenced or killed in the middle has
written what the next one writes again. Only a commit says that it is over.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, batches, build_batch, records
from kafkapy.sim.clients.actors import LOST, Ask, Sleep
from kafkapy.sim.clients.committed_reader import visible
from kafkapy.sim.cluster.clients.idempotent import produce
from kafkapy.sim.cluster.clients.routed import RETRY_MS, Talk
from kafkapy.sim.cluster.clients.streams.application import (
    BY_WORD,
    FIRST,
    INPUTS,
    SEEN,
    Application,
    Store,
    partition_of,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.streams import Task, Who

E: Final = ErrorCode
_FETCH: Final = 12
_OFFSET_FETCH: Final = 9
_OFFSET_COMMIT: Final = 9
_ALL: Final = -1
_A_LITTLE: Final = 600
_A_LOT: Final = 100_000
# Coordinators that are elsewhere or not there yet; a commit of an epoch that is over; and who is
# not a member will hear so at its next heartbeat.
_NOT_NOW: Final = frozenset(
    {
        E.NOT_COORDINATOR,
        E.COORDINATOR_NOT_AVAILABLE,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.UNKNOWN_MEMBER_ID,
        E.STALE_MEMBER_EPOCH,
        E.FENCED_MEMBER_EPOCH,
        E.GROUP_ID_NOT_FOUND,
        E.REQUEST_TIMED_OUT,
        E.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class Come(NamedTuple):
    """`end`: of the partition, as its leader said then."""

    values: list[str]
    next_offset: int
    end: int


class Tasks:
    """The tasks of one member: where it is in the input of each, while it has it active. `epoch`:
    the member's, as it knows it when it commits."""

    def __init__(self, application: Application, who: Who, epoch: Callable[[], int]) -> None:
        self._application = application
        self._facts = application.facts.offsets
        self._who = who
        self._epoch = epoch
        self._positions: dict[Task, int] = {}

    @property
    def _max_bytes(self) -> int:
        """Small, so that there are many commits; in the end all that is left."""
        return _A_LOT if self._application.is_calm() else _A_LITTLE

    def forget_all_but(self, active: Container[Task]) -> None:
        """Somebody else may be further when it comes back."""
        self._positions = {task: at for task, at in self._positions.items() if task in active}

    def advance(self, task: Task) -> Talk:
        """One round of an active task: some records, and their commit."""
        asked = self._application.clock.now()
        source = TopicPartition(INPUTS[task[0]], task[1])
        if task not in self._positions:
            at = yield from self._committed(source)
            if at is None:
                return
            self._positions[task] = at
        position = self._positions[task]
        if task[0] != FIRST and not (yield from self.restore(task)):
            return
        come = yield from _read(source, position, self._max_bytes)
        if come is None:
            return
        if task[0] == FIRST:
            is_done = yield from _pass_on(come.values)
        else:
            is_done = yield from self._keep(task, come.values)
        if not is_done:
            return
        if come.next_offset > position:
            if not (yield from self._commit(task, source, come.next_offset)):
                return
            self._positions[task] = come.next_offset
        if come.next_offset >= come.end:
            self._application.facts.done[task] = asked

    def restore(self, task: Task) -> Talk:
        """The store, from where it is to the end of its changelog. Whether it is there."""
        store = self._application.store(self._who.process, task)
        while True:
            come = yield from read_changelog(task[1], store.position, self._max_bytes)
            if come is None:
                return False
            store.values.update(come.values)
            store.position = come.next_offset
            if come.next_offset >= come.end:
                return True

    def _keep(self, task: Task, values: Iterable[str]) -> Talk:
        store: Store = self._application.store(self._who.process, task)
        wanted = [value for value in dict.fromkeys(values) if value not in store.values]
        for value in wanted:
            if partition_of(value) != task[1]:
                raise BrokenPromise(f"{value} came to {task}")
        if wanted and not (yield from _write(TopicPartition(SEEN, task[1]), wanted)):
            return False
        store.values.update(wanted)
        return True

    def _committed(self, source: TopicPartition) -> Talk:
        """None if nobody says."""
        group = {
            "group_id": self._facts.group,
            "member_id": self._who.member,
            "member_epoch": self._epoch(),
            "topics": [{"name": source.topic, "partition_indexes": [source.partition]}],
        }
        least = self._facts.acknowledged(source)
        answer = yield Ask(
            ApiKey.OFFSET_FETCH, _OFFSET_FETCH, {"groups": [group], "require_stable": True}
        )
        if answer is LOST or _is_not_now(answer.groups[0].error_code):
            return None
        row = answer.groups[0].topics[0].partitions[0]
        if _is_not_now(row.error_code):
            return None
        offset = max(0, row.committed_offset)
        self._facts.fetched(source, offset, least)
        return offset

    def _commit(self, task: Task, source: TopicPartition, offset: int) -> Talk:
        row = {"partition_index": source.partition, "committed_offset": offset}
        body = {
            "group_id": self._facts.group,
            "generation_id_or_member_epoch": self._epoch(),
            "member_id": self._who.member,
            "topics": [{"name": source.topic, "partitions": [row]}],
        }
        least = self._facts.acknowledged(source)
        if body["generation_id_or_member_epoch"] == 0:
            return False  # it was fenced, and knows
        asked = self._application.clock.now()
        answer = yield Ask(ApiKey.OFFSET_COMMIT, _OFFSET_COMMIT, body)
        if answer is LOST or _is_not_now(answer.topics[0].partitions[0].error_code):
            return False
        self._facts.committed(source, offset, least)
        self._application.facts.commits(self._who, task, asked)
        return True


def read_changelog(index: int, position: int, max_bytes: int = _A_LOT) -> Talk:
    """Keys from there on; the log is compacted, so offsets may be missing."""
    row = yield from _fetch(TopicPartition(SEEN, index), position, max_bytes)
    if row is None:
        return None
    values, next_offset = [], position
    data = memoryview(bytes(row.records or b""))
    for at, header in batches(data):
        for one in records(data[at : at + header.size]):
            if one.offset >= position and one.key is not None:
                values.append(bytes(one.key).decode())
        next_offset = max(next_offset, header.next_offset)
    return Come(values, next_offset, row.high_watermark)


def whole_changelog(index: int) -> Talk:
    """Every key in it, once there is nobody who writes."""
    found: list[str] = []
    position, end = 0, -1
    while position != end:
        come = yield from read_changelog(index, position)
        if come is None:
            yield Sleep(RETRY_MS)
        else:
            found += come.values
            position, end = come.next_offset, come.end
    return found


def _read(source: TopicPartition, position: int, max_bytes: int) -> Talk:
    row = yield from _fetch(source, position, max_bytes)
    if row is None:
        return None
    reads, next_offset = visible(source, row, position)
    return Come([str(one.value) for one in reads], next_offset, row.last_stable_offset)


def _fetch(partition: TopicPartition, position: int, max_bytes: int) -> Talk:
    """The partition's row, or None: not now."""
    wanted = {
        "partition": partition.partition,
        "fetch_offset": position,
        "partition_max_bytes": max_bytes,
    }
    body = {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": max_bytes,
        "isolation_level": 1,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": partition.topic, "partitions": [wanted]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    answer = yield Ask(ApiKey.FETCH, _FETCH, body)
    if answer is LOST or not answer.responses:
        return None
    row = answer.responses[0].partitions[0]
    if row.error_code == E.OFFSET_OUT_OF_RANGE:
        raise BrokenPromise(f"{partition} does not have offset {position}")
    return row if row.error_code == E.NONE else None


def _pass_on(values: Iterable[str]) -> Talk:
    """To the partition of each. Whether all are acknowledged."""
    routed: Mapping[int, list[str]] = defaultdict(list)
    for value in values:
        routed[partition_of(value)].append(value)
    for index, found in sorted(routed.items()):
        if not (yield from _write(TopicPartition(BY_WORD, index), found)):
            return False
    return True


def _write(partition: TopicPartition, values: Iterable[str]) -> Talk:
    batch = build_batch(list(_records(values)))
    answer: Any = yield produce(partition, batch, _ALL)
    if answer is LOST:
        return False
    return answer.responses[0].partition_responses[0].error_code == E.NONE


def _records(values: Iterable[str]) -> Iterator[NewRecord]:
    for value in values:
        yield NewRecord(value.encode(), value.encode(), 0)


def _is_not_now(error_code: int) -> bool:
    if error_code == E.NONE:
        return False
    if error_code not in _NOT_NOW:
        raise BrokenPromise(f"a member of a streams group heard {E(error_code)!r}")
    return True
