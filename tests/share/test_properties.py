"""Whatever members, time and the coordinator do to a share partition: no record is lost, none is
in two hands while its lock holds, and delivery counts are as many as there were deliveries.

A twin keeps every record by itself and is told the same; the two are compared after each step.
The log has holes, as compaction leaves them, and batches that only some readers are shown, as of
aborted transactions; it is read in pieces, and its start moves. At the end somebody accepts what
comes: then there is nothing left.
"""

from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkapy.core.errors import Refused
from kafkapy.core.time import Instant
from kafkapy.share.coordinator.batches import combined
from kafkapy.share.partition import (
    BATCH_OPTIMIZED,
    RECORD_LIMIT,
    Acknowledgement,
    Acquired,
    Asked,
    DeadLetter,
    ShareLimits,
    SharePartition,
    Span,
)
from kafkapy.share.states import RecordState, StateBatch
from kafkapy.share.window import Change

MEMBERS = ("a", "b", "c")
LOCK_MS = 100
LOG_END = 60


@dataclass
class Twin:
    """One record."""

    deliveries: int = 0
    owner: str = ""
    until: int = 0
    is_over: bool = False
    # In no batch that was read: over here, and perhaps not with another leader.
    is_skipped: bool = False
    # Below the start of the log.
    is_gone: bool = False
    is_pending: bool = False
    # It is to have a dead letter; somebody was told so.
    is_dead: bool = False
    is_told: bool = False


class Shares(RuleBasedStateMachine):
    @initialize(
        sizes=st.lists(st.integers(1, 12), min_size=4, max_size=20),
        holes=st.lists(st.sampled_from((0, 0, 1, 4)), min_size=20, max_size=20),
        aborted=st.sets(st.integers(0, 19), max_size=6),
        tail=st.integers(0, 2),
        limit=st.integers(2, 5),
        locks=st.integers(1, 40),
        buries=st.booleans(),
    )
    def begin(
        self,
        sizes: list[int],
        holes: list[int],
        aborted: set[int],
        tail: int,
        limit: int,
        locks: int,
        buries: bool,
    ) -> None:
        self.now = 0
        self.limits = ShareLimits(limit, LOCK_MS, locks, has_dead_letters=buries)
        self.most_deliveries = limit
        self.share = SharePartition(0, limits=self.limits)
        self.spans, at = list[Span](), 0
        for size, hole in zip(sizes, holes, strict=False):
            if at + hole + size > LOG_END:
                break
            self.spans.append(Span(at + hole, at + hole + size - 1))
            at += hole + size
        self.aborted = {self.spans[one] for one in aborted if one < len(self.spans)}
        self.end = at + tail
        self.log_start = 0
        self.records = [Twin() for _ in range(self.end)]
        self.pending: list[tuple[Change, tuple[StateBatch, ...]]] = []
        self.burials: list[tuple[Change, DeadLetter]] = []
        # What the coordinator has.
        self.start, self.written = 0, tuple[StateBatch, ...]()

    @rule(
        member=st.sampled_from(MEMBERS),
        most=st.integers(1, 12),
        mode=st.sampled_from((BATCH_OPTIMIZED, RECORD_LIMIT)),
        is_committed=st.booleans(),
        batches=st.integers(1, 6),
    )
    def acquire(self, member: str, most: int, mode: int, is_committed: bool, batches: int) -> None:
        self._acquire(Asked(member, most, mode), is_committed=is_committed, batches=batches)

    def _acquire(self, asked: Asked, *, is_committed: bool, batches: int) -> list[Acquired]:
        """As a fetch does: some batches from the one on that holds the offset."""
        self.share.log_begins_at(self.log_start)
        self._forget_gone()
        offset = self.share.fetch_offset
        if offset is None or offset >= self.end:
            return []
        spans = [span for span in self.spans if span.last >= offset][:batches]
        is_all = not spans or spans[-1] == self.spans[-1]
        read_to = self.end if is_all else spans[-1].last + 1
        if is_committed:
            spans = [span for span in spans if span not in self.aborted]
        acquired = self.share.acquire(asked, offset, spans, read_to, Instant(self.now))
        count = 0
        for first, last, deliveries in acquired:
            for at in range(first, last + 1):
                record = self.records[at]
                assert any(span.first <= at <= span.last for span in spans), ("not there", at)
                assert not record.owner, ("in two hands", at, record)
                assert not record.is_over, ("over", at)
                assert not record.is_dead, ("dead", at)
                assert not record.is_pending
                record.deliveries += 1
                record.owner, record.until = asked.member_id, self.now + LOCK_MS
                assert record.deliveries == deliveries <= self.most_deliveries
                count += 1
        if asked.mode == RECORD_LIMIT:
            assert count <= asked.max_records
        self._skip(offset, read_to, spans)
        return acquired

    def _skip(self, read_from: int, read_to: int, spans: list[Span]) -> None:
        """What is in no batch is over, once what lies before it is known."""
        there = {at for first, last in spans for at in range(first, last + 1)}
        for at in range(read_from, min(read_to, self.share.end_offset)):
            record = self.records[at]
            is_free = not (record.owner or record.is_over or record.is_dead)
            if at not in there and is_free and self._is_over(at):
                record.is_over = record.is_skipped = True

    def _is_over(self, at: int) -> bool:
        runs = [run for run in self.share.window if run.first <= at <= run.last]
        return runs[0].is_over if runs else at < self.share.start_offset

    @rule(locks=st.integers(1, 40), limit=st.integers(2, 5))
    def set_limits(self, locks: int, limit: int) -> None:
        self.limits = replace(self.limits, max_record_locks=locks, delivery_count_limit=limit)
        self.share.limits = self.limits
        self.most_deliveries = max(self.most_deliveries, limit)

    @rule(by=st.integers(1, 8))
    def move_log_start(self, by: int) -> None:
        """Retention, or DeleteRecords: the share partition hears of it at the next fetch."""
        self.log_start = min(self.log_start + by, self.end)

    def _forget_gone(self) -> None:
        for record in self.records[: self.log_start]:
            record.is_over = record.is_gone = True
            record.is_pending = record.is_dead = False
            record.owner = ""

    @rule(
        which=st.integers(0, LOG_END),
        kinds=st.one_of(
            st.lists(st.integers(0, 4), min_size=1, max_size=6),
            st.builds(lambda kind, count: [kind] * count, st.integers(1, 3), st.integers(1, 6)),
        ),
    )
    def acknowledge_own(self, which: int, kinds: list[int]) -> None:
        """What somebody has, and perhaps something behind it."""
        held = [at for at, record in enumerate(self.records) if record.owner]
        if held:
            first = held[which % len(held)]
            self._acknowledge(self.records[first].owner, first, kinds)

    @rule(
        member=st.sampled_from(MEMBERS),
        first=st.integers(0, LOG_END),
        kinds=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    )
    def acknowledge_anything(self, member: str, first: int, kinds: list[int]) -> None:
        self._acknowledge(member, first, kinds)

    def _acknowledge(self, member: str, first: int, kinds: list[int]) -> None:
        last = first + len(kinds) - 1
        given = [Acknowledgement(first, last, tuple(kinds))]
        start = self.share.start_offset
        named = list(range(max(first, start), last + 1))
        is_fine = last < start or (
            last < self.share.end_offset
            and all(
                self.records[at].owner == member and not self.records[at].is_pending for at in named
            )
        )
        try:
            change = self.share.acknowledge(member, given, Instant(self.now))
        except Refused:
            assert not is_fine
            return
        assert is_fine
        for at in named:
            if kinds[at - first] == 4:
                self.records[at].until = self.now + LOCK_MS
        told = {at: self._expected(at, kinds[at - first]) for at in named if kinds[at - first] != 4}
        batches = () if change is None else self.share.batches(change)
        assert told == {
            at: batch.state
            for batch in batches
            for at in range(batch.first_offset, batch.last_offset + 1)
        }
        self._note(change)

    def _expected(self, at: int, kind: int) -> RecordState:
        if kind == 2 and self.records[at].deliveries < self.limits.delivery_count_limit:
            return RecordState.AVAILABLE
        if kind == 1:
            return RecordState.ACKNOWLEDGED
        buries = self.limits.has_dead_letters and kind != 0
        return RecordState.ARCHIVING if buries else RecordState.ARCHIVED

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        self._note(self.share.release(member))

    @rule(is_written=st.booleans(), which=st.integers(0, 3))
    def answer(self, is_written: bool, which: int) -> None:
        """The coordinator, in whatever order."""
        if not self.pending:
            return
        change, batches = self.pending.pop(which % len(self.pending))
        if is_written:
            self._write(batches)
            self.share.changed(change)
        else:
            self.share.failed(change)
        for batch in batches:
            for at in range(batch.first_offset, batch.last_offset + 1):
                record = self.records[at]
                if record.is_gone:
                    continue
                record.is_pending = False
                if is_written:
                    record.owner = ""
                    record.is_over = batch.state.is_terminal
                    record.is_dead = batch.state is RecordState.ARCHIVING

    @rule()
    def tell_of_the_dead(self) -> None:
        for letter, change in self.share.dead_letters():
            self.burials.append((change, letter))
            for at in range(letter.first_offset, letter.last_offset + 1):
                record = self.records[at]
                assert record.is_dead, ("nobody may write a letter of it", at)
                assert not record.is_told, ("twice, by one leader", at)
                assert record.deliveries == letter.delivery_count
                record.is_told = True

    @rule(which=st.integers(0, 3))
    def bury(self, which: int) -> None:
        if not self.burials:
            return
        change, letter = self.burials.pop(which % len(self.burials))
        batches = self.share.buried(change)
        self._write(batches)
        left = [
            at
            for at in range(letter.first_offset, letter.last_offset + 1)
            if not self.records[at].is_gone
        ]
        told = [(one.first_offset, one.last_offset) for one in batches]
        assert told == ([(left[0], left[-1])] if left else [])
        for at in left:
            self.records[at].is_dead = False
            self.records[at].is_over = True

    @rule(ms=st.integers(1, 150))
    def wait(self, ms: int) -> None:
        self.now += ms
        ended = self.share.expire(Instant(self.now))
        self._write(ended)
        for batch in ended:
            for at in range(batch.first_offset, batch.last_offset + 1):
                record = self.records[at]
                assert record.owner
                assert record.until <= self.now
                record.owner = ""
                record.is_over = batch.state.is_terminal
                record.is_dead = batch.state is RecordState.ARCHIVING
                is_done_with = record.is_over or record.is_dead
                assert is_done_with == (record.deliveries >= self.limits.delivery_count_limit)
        for record in self.records:
            assert not record.owner or record.is_pending or record.until > self.now

    @rule()
    def fail_over(self) -> None:
        """Another leader, with what the coordinator has: nothing that was over comes again,
        what was under way does."""
        self.pending.clear()
        self.burials.clear()
        self.log_start = max(self.log_start, self.start)
        self.share = SharePartition(self.start, self.written, limits=self.limits)
        for at, record in enumerate(self.records):
            known = [one for one in self.written if one.first_offset <= at <= one.last_offset]
            is_over = at < self.start or any(one.state.is_terminal for one in known)
            if record.is_gone:
                continue
            if record.is_skipped and not is_over:
                record.is_over = record.is_skipped = False
            assert record.is_over == is_over, ("lost, or comes again", at, record)
            deliveries = known[0].delivery_count if known else 0
            assert record.is_dead == any(one.state is RecordState.ARCHIVING for one in known)
            record.owner, record.is_pending, record.is_told = "", False, False
            if not is_over:
                record.deliveries = deliveries
        # Whoever loads it reads the log next.
        self.share.log_begins_at(self.log_start)
        self._forget_gone()

    @invariant()
    def holds(self) -> None:
        share = self.share
        assert share.start_offset <= share.end_offset <= self.end
        at = share.start_offset
        for run in share.window:
            assert run.first == at, "a hole"
            for offset in range(run.first, run.last + 1):
                record = self.records[offset]
                assert run.is_over == record.is_over
                assert (run.state is RecordState.ACQUIRED) == bool(record.owner)
                assert run.member_id == record.owner
                assert run.is_over or run.delivery_count == record.deliveries
            at = run.last + 1
        assert at == share.end_offset
        assert all(record.is_over for record in self.records[: share.start_offset])
        assert not any(
            one.deliveries for one in self.records[share.end_offset :] if not one.is_gone
        )

    def teardown(self) -> None:
        """Everybody goes; then one accepts all that comes, and it ends."""
        if not hasattr(self, "share"):
            return
        while self.pending:
            self.answer(is_written=True, which=0)
        self.wait(2 * LOCK_MS)
        for _ in range(20 * LOG_END):
            self.tell_of_the_dead()
            while self.burials:
                self.bury(0)
            acquired = self._acquire(
                Asked("last", 3, RECORD_LIMIT), is_committed=False, batches=100
            )
            for first, last, _ in acquired:
                self._acknowledge("last", first, [1] * (last - first + 1))
                self.answer(is_written=True, which=0)
        assert self.share.start_offset == self.share.end_offset == self.end, "something is left"
        for span in self.spans:
            for record in self.records[span.first : span.last + 1]:
                assert record.deliveries or record.is_skipped or record.is_gone, "lost"

    def _note(self, change: Change | None) -> None:
        if change is None:
            return
        batches = self.share.batches(change)
        self.pending.append((change, batches))
        for batch in batches:
            for at in range(batch.first_offset, batch.last_offset + 1):
                self.records[at].is_pending = True

    def _write(self, batches: tuple[StateBatch, ...]) -> None:
        self.start = max(self.start, self.share.start_offset)
        self.written = combined(self.written, batches, self.start)


Shares.TestCase.settings = settings(max_examples=80, stateful_step_count=60, deadline=None)
TestShares = Shares.TestCase
