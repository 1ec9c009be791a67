"""A share partition as its leader plays it: what of a partition a share group has had (KIP-932).

    read from `fetch_offset` --> acquire --> the member has the records, until its lock ends
    acknowledge, release     --> Change, state batches --> the share coordinator has it written
                                 changed(Change) | failed(Change)
    expire                   --> state batches: those that were not heard of again
    dead_letters             --> Change, DeadLetter --> written to their topic --> buried(Change)

- A record is in at most one member's hands while its lock holds.
- Its delivery count grows by one with each acquisition, and by nothing else.
- What was acknowledged is over once the coordinator has it written. Until then nobody may touch
  it; if it cannot be written, it is as before, and its lock ends as before.
- What is rejected or came too often is over at once or, where the group has a dead letter topic,
  once it is there: until then it is ARCHIVING, and whoever leads next goes on with it.
- Acquisitions are not written: after a fail-over such a record is available again, as often
  delivered as was written last.

Nothing here knows of the log, of sockets or of time but what it is told.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import NEVER, Instant, later
from kafkapy.share.coordinator.batches import combined
from kafkapy.share.states import AcknowledgeType, RecordState, StateBatch
from kafkapy.share.throttling import deliverable, is_suspect
from kafkapy.share.window import Change, Run, Window

BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1

# What their fields hold.
MOST_DELIVERIES: Final = 2**15 - 1
MOST_COMPLETE: Final = 2**31 - 1

# So many records from the first that is not over are more than usual.
FAR: Final = 10_000


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """What an operator can set about a share group, as far as its partitions act on it."""

    delivery_count_limit: int = 5
    record_lock_duration_ms: int = 30_000
    max_record_locks: int = 2_000
    may_renew: bool = True
    has_dead_letters: bool = False


class Span(NamedTuple):
    """A batch of the log: its first and its last offset."""

    first: int
    last: int


class Acquired(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_count: int


class Acknowledgement(NamedTuple):
    """One type for all of `first_offset` to `last_offset`, or one for each."""

    first_offset: int
    last_offset: int
    types: tuple[int, ...]

    def parts(self) -> "Iterable[Part]":
        """Neighbours of one type together."""
        if len(self.types) == 1:
            yield self.first_offset, self.last_offset, _KINDS[self.types[0]]
            return
        begun = self.first_offset
        for kind, alike in groupby(self.types):
            until = begun + len(list(alike))
            yield begun, until - 1, _KINDS[kind]
            begun = until


# The first and the last offset of records of which the same is said.
Part = tuple[int, int, AcknowledgeType]
_KINDS: Final = {int(kind): kind for kind in AcknowledgeType}


class DeadLetter(NamedTuple):
    """Records that are over as soon as they are in the dead letter topic."""

    first_offset: int
    last_offset: int
    delivery_count: int
    is_rejected: bool


class Asked(NamedTuple):
    """How much of what was read a member wants."""

    member_id: str
    max_records: int
    mode: int = BATCH_OPTIMIZED


class SharePartition:
    def __init__(
        self, start_offset: int, batches: Sequence[StateBatch] = (), *, limits: ShareLimits
    ) -> None:
        """`batches` as the coordinator has them; another kind of it may have kept what no leader
        writes. What lies between two of them was never written about."""
        self.limits = limits
        self._window = Window(start_offset)
        for batch in combined((), batches, start_offset):
            if batch.first_offset > self._window.end:
                self._window.append(batch.first_offset - 1, RecordState.AVAILABLE)
            is_nobodys = batch.state is RecordState.ACQUIRED
            state = RecordState.AVAILABLE if is_nobodys else batch.state
            run = self._window.append(batch.last_offset, state, batch.delivery_count)
            if batch.state is RecordState.ARCHIVING:
                # Nobody wrote down why.
                run.is_rejected = batch.delivery_count < limits.delivery_count_limit
        self._window.drop_finished()

    # --- reading ---

    @property
    def start_offset(self) -> int:
        """Everything below is over, or gone from the log."""
        return self._window.start

    @property
    def end_offset(self) -> int:
        """Nobody has had this record, nor any behind it."""
        return self._window.end

    @property
    def window(self) -> Window:
        return self._window

    @property
    def delivery_complete_count(self) -> int:
        """Of the records from `start_offset` on, how many are over, or will be when what is being
        written is. It is written as 32 bits."""
        count = sum(run.count for run in self._window if _settled_state(run).is_terminal)
        return min(count, MOST_COMPLETE)

    @property
    def in_flight_count(self) -> int:
        return sum(run.count for run in self._window if not run.is_over)

    @property
    def fetch_offset(self) -> int | None:
        """Where to read for the next member; None while enough is under way."""
        for run in self._window:
            if run.is_available:
                return run.first
        return self._window.end if self._has_room else None

    @property
    def next_expiry(self) -> Instant:
        """When the next lock ends."""
        return min((run.locked_until for run in self._window if run.change is None), default=NEVER)

    @property
    def _has_room(self) -> bool:
        return self.in_flight_count < self.limits.max_record_locks

    # --- acquiring ---

    def acquire(
        self,
        asked: Asked,
        read_from: int,
        spans: Sequence[Span],
        read_to: int,
        now: Instant,
    ) -> list[Acquired]:
        """Of the batches that the log has from `read_from` to before `read_to`. Offsets in
        between that are in none of them are over: compacted away, or not for this group."""
        asking = _Acquisition(self._window, self.limits, asked, now)
        at = read_from
        for span in spans:
            self._skip(at, span.first - 1)
            at = max(at, span.first)
            asking.take(at, span.last)
            if asking.is_enough:
                break
            at = span.last + 1
        else:
            self._skip(at, read_to - 1)
        self._window.drop_finished()
        return asking.acquired

    def _skip(self, first: int, last: int) -> None:
        if first > last:
            return
        window = self._window
        assert first <= window.end, ("what lies before it was not taken", first, window.end)
        for run in window.cut(first, last):
            if run.is_available:
                run.state = RecordState.ARCHIVED
        if last >= window.end:
            window.append(last, RecordState.ARCHIVED)
        window.join(first, last)

    # --- acknowledging ---

    def acknowledge(
        self, member_id: str, given: Sequence[Acknowledgement], now: Instant
    ) -> Change | None:
        """`given` is in order. All of it or, Refused, nothing. What it changes is to be written,
        and then `changed` or `failed`; None if there is nothing to write."""
        parts = [part for one in given for part in self._relevant(one)]
        if not parts:
            return None
        self._check(member_id, parts)
        self._window.cut_at([one for first, last, _ in parts for one in (first, last + 1)])
        changing: list[Run] = []
        for run, kind in self._touched(parts):
            if kind is AcknowledgeType.RENEW:
                run.locked_until = later(now, self.limits.record_lock_duration_ms)
                continue
            run.next_state = self._next_state(run, kind)
            run.is_rejected = (
                kind is AcknowledgeType.REJECT and run.next_state is RecordState.ARCHIVING
            )
            changing.append(run)
        change = self._change(changing)
        # Not before: what is renewed may look like what is released.
        self._window.join(parts[0][0], parts[-1][1])
        return change

    def release(self, member_id: str) -> Change | None:
        """The member is gone: what it had is available, as often delivered as it was."""
        held = [run for run in self._window if run.member_id == member_id and _is_held(run)]
        for run in held:
            run.next_state = self._next_state(run, AcknowledgeType.RELEASE)
        return self._change(held)

    def _relevant(self, given: Acknowledgement) -> "Iterable[Part]":
        """What is below the start is over whatever is said of it."""
        start, end = self._window.start, self._window.end
        if given.last_offset < start:
            return
        if start == end:
            raise _invalid(
                "Batch record not found. The request batch offsets are not found in the cache."
            )
        if given.first_offset >= end:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "Batch record not found. The first offset in request is past acquired records.",
            )
        if given.last_offset >= end:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "Batch record not found. The last offset in request is past acquired records.",
            )
        for first, last, kind in given.parts():
            if last >= start:
                yield max(first, start), last, kind

    def _touched(self, parts: Sequence[Part]) -> Iterator[tuple[Run, AcknowledgeType]]:
        """Runs with the parts that they are in or reach into; one may be of many parts. Both are in
        order and gone through once: there may be a hundred thousand of each."""
        runs = self._window.between(parts[0][0], parts[-1][1])
        at = 0
        for first, last, kind in parts:
            while runs[at].last < first:
                at += 1
            yield runs[at], kind
            while runs[at].last < last:
                at += 1
                yield runs[at], kind

    def _check(self, member_id: str, parts: Sequence[Part]) -> None:
        may_renew = self.limits.may_renew
        for run, kind in self._touched(parts):
            if not _is_held(run):
                raise _invalid(
                    "The batch cannot be acknowledged. The batch is not in the acquired state."
                )
            if run.member_id != member_id:
                raise _invalid("Member is not the owner of batch record")
            if kind is AcknowledgeType.RENEW and not may_renew:
                raise _invalid("Renewing acquisition locks is not allowed for this group.")

    def _next_state(self, run: Run, kind: AcknowledgeType) -> RecordState:
        if kind is AcknowledgeType.ACCEPT:
            return RecordState.ACKNOWLEDGED
        if kind is AcknowledgeType.RELEASE and self._may_come_again(run):
            return RecordState.AVAILABLE
        if self.limits.has_dead_letters and kind is not AcknowledgeType.GAP:
            return RecordState.ARCHIVING
        return RecordState.ARCHIVED

    def _may_come_again(self, run: Run) -> bool:
        return run.delivery_count < self.limits.delivery_count_limit

    def _change(self, runs: Sequence[Run]) -> Change | None:
        if not runs:
            return None
        change = Change(runs[0].first, runs[-1].last)
        for run in runs:
            change.first = min(change.first, run.first)
            change.last = max(change.last, run.last)
            run.change = change
        self._window.join(change.first, change.last)
        return change

    # --- what became of a change ---

    def batches(self, change: Change) -> tuple[StateBatch, ...]:
        """What is to be written of it.

        Nobody wrote down what the log did not have, or not for this group. Far behind a record
        that takes long such gaps are told along: else no two batches would ever be one."""
        window = self._window
        is_far = window.end - window.start > FAR
        found = []
        before: Run | None = None
        for run in window.between(max(change.first - 1, window.start), change.last):
            if run.change is change:
                first = run.first
                if is_far and before is not None and before.is_over and run.next_state.is_terminal:
                    first = before.first
                found.append(StateBatch(first, run.last, run.next_state, run.delivery_count))
            before = run
        return tuple(found)

    def changed(self, change: Change) -> None:
        """It is written: the records are what they were to be."""
        for run in self._window.between(change.first, change.last):
            if run.change is change:
                run.change = None
                self._settle(run, run.next_state)
        self._window.join(change.first, change.last)
        self._window.drop_finished()

    def failed(self, change: Change) -> None:
        """It is not written: the member has the records, as long as its lock holds."""
        for run in self._window.between(change.first, change.last):
            if run.change is change:
                run.change = None
                run.next_state = RecordState.AVAILABLE
                run.is_rejected = False

    def _settle(self, run: Run, state: RecordState) -> None:
        run.state = state
        run.next_state = RecordState.AVAILABLE
        run.is_rejected = run.is_rejected and state is RecordState.ARCHIVING
        run.member_id = ""
        run.locked_until = NEVER

    # --- dead letters ---

    def dead_letters(self) -> list[tuple[DeadLetter, Change]]:
        """What is to go to the dead letter topic, and was not told before. Each is `buried` when
        it is there, or cannot be."""
        found = []
        for run in self._window:
            if run.state is RecordState.ARCHIVING and run.change is None:
                run.change = Change(run.first, run.last)
                run.next_state = RecordState.ARCHIVED
                letter = DeadLetter(run.first, run.last, run.delivery_count, run.is_rejected)
                found.append((letter, run.change))
        return found

    def buried(self, change: Change) -> tuple[StateBatch, ...]:
        """It is over. What is returned is to be written, and is so whether or not it can be:
        it need not go there twice."""
        batches = self.batches(change)
        self.changed(change)
        return batches

    # --- time, and the log ---

    def expire(self, now: Instant) -> tuple[StateBatch, ...]:
        """Locks that ended: the records are available again, or over. What is returned is to
        be written, and is so whether or not it can be."""
        ended = [run for run in self._window if _is_held(run) and run.locked_until <= now]
        if not ended:
            return ()
        written = []
        for run in ended:
            self._settle(run, self._next_state(run, AcknowledgeType.RELEASE))
            written.append(StateBatch(run.first, run.last, run.state, run.delivery_count))
        self._window.join(ended[0].first, ended[-1].last)
        self._window.drop_finished()
        return tuple(written)

    def log_begins_at(self, offset: int) -> bool:
        """What is below is gone from the log, whoever has it. True if that is news."""
        if offset <= self._window.start:
            return False
        self._window.begin_at(offset)
        self._window.drop_finished()
        return True


class _Acquisition:
    """One member takes what it finds, until it has enough or there is to be no more."""

    def __init__(self, window: Window, limits: ShareLimits, asked: Asked, now: Instant) -> None:
        self.acquired: list[Acquired] = []
        self.is_enough = False
        self._window = window
        self._limits = limits
        self._asked = asked
        self._left = asked.max_records
        self._room = limits.max_record_locks - sum(run.count for run in window if not run.is_over)
        self._locked_until = later(now, limits.record_lock_duration_ms)

    def take(self, first: int, last: int) -> None:
        """Of one batch of the log."""
        if self._asked.mode == RECORD_LIMIT:
            self._take_known(first, last, self._left)
            # Nothing new before all that is known: then it would be skipped.
            if not self.is_enough and self._left > 0:
                self._take_new(min(last, self._window.end + min(self._left, self._room) - 1))
        else:
            self._take_known(first, last, last - first + 1)
            if not self.is_enough:
                self._take_new(last)
        self._window.join(first, last)
        # A batch of which the end was not taken is the last one: what comes behind it, gaps as
        # well, is not known before all of it is.
        if self._left <= 0 or self._window.end <= last:
            self.is_enough = True

    def _take_known(self, first: int, last: int, most: int) -> None:
        window, limit = self._window, self._limits.delivery_count_limit
        for run in [one for one in window.cut(first, last) if one.is_available]:
            if most <= 0:
                self.is_enough = True
                return
            count = min(run.count, most)
            if is_suspect(run, limit):
                self.is_enough = True  # they travel alone
                if self.acquired:
                    return
                count = min(count, deliverable(run, limit))
            if count < run.count:
                run = window.cut(run.first, run.first + count - 1)[0]
            self._lock(run)
            most -= run.count
            if self.is_enough:
                return

    def _take_new(self, last: int) -> None:
        window = self._window
        if last < window.end:
            return
        if self._room <= 0:
            return
        run = window.append(last, RecordState.AVAILABLE)
        self._room -= run.count
        self._lock(run)

    def _lock(self, run: Run) -> None:
        run.state = RecordState.ACQUIRED
        run.delivery_count = min(run.delivery_count + 1, MOST_DELIVERIES)
        run.member_id = self._asked.member_id
        run.locked_until = self._locked_until
        self._left -= run.count
        self.acquired.append(Acquired(run.first, run.last, run.delivery_count))


def _is_held(run: Run) -> bool:
    return run.state is RecordState.ACQUIRED and run.change is None


def _settled_state(run: Run) -> RecordState:
    """What it is, or will be once what is being written is. A dead letter may take long."""
    if run.change is None or run.state is RecordState.ARCHIVING:
        return run.state
    return run.next_state


def _invalid(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD_STATE, why)
