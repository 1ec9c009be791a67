"""Whatever members, time and the coordinator do to a share partition: no record is lost, none is
in two hands while its lock holds, and delivery counts are as many as there were deliveries.

A twin keeps every record by itself and is told the same; the two are compared after each step.
"""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkapy.core.errors import Refused
from kafkapy.core.time import Instant
from kafkapy.share.coordinator.batches import combined
from kafkapy.share.partition import (
    Acknowledgement,
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
    is_pending: bool = False
    # It is to have a dead letter; somebody was told so.
    is_dead: bool = False
    is_told: bool = False


class Shares(RuleBasedStateMachine):
    @initialize(
        sizes=st.lists(st.integers(1, 7), min_size=8, max_size=20),
        limit=st.integers(2, 5),
        locks=st.integers(5, 40),
        buries=st.booleans(),
    )
    def begin(self, sizes: list[int], limit: int, locks: int, buries: bool) -> None:
        self.now = 0
        self.limits = ShareLimits(limit, LOCK_MS, locks, has_dead_letters=buries)
        self.share = SharePartition(0, limits=self.limits)
        self.spans, at = [], 0
        for size in sizes:
            if at + size > LOG_END:
                break
            self.spans.append(Span(at, at + size - 1))
            at += size
        self.end = at
        self.records = [Twin() for _ in range(self.end)]
        self.pending: list[tuple[Change, tuple[StateBatch, ...]]] = []
        self.burials: list[tuple[Change, DeadLetter]] = []
        # What the coordinator has.
        self.start, self.written = 0, tuple[StateBatch, ...]()

    @rule(member=st.sampled_from(MEMBERS), most=st.integers(1, 12), mode=st.integers(0, 1))
    def acquire(self, member: str, most: int, mode: int) -> None:
        offset = self.share.fetch_offset
        if offset is None or offset >= self.end:
            return
        spans = [span for span in self.spans if span.last >= offset]
        now = Instant(self.now)
        acquired = self.share.acquire(Asked(member, most, mode), offset, spans, self.end, now)
        count = 0
        for first, last, deliveries in acquired:
            for at in range(first, last + 1):
                record = self.records[at]
                assert not record.owner, ("in two hands", at, record)
                assert not record.is_over, ("over", at)
                assert not record.is_dead, ("dead", at)
                assert not record.is_pending
                record.deliveries += 1
                record.owner, record.until = member, self.now + LOCK_MS
                assert record.deliveries == deliveries <= self.limits.delivery_count_limit
                count += 1
        if mode == 1:
            assert count <= most

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
        assert [(one.first_offset, one.last_offset) for one in batches] == [letter[:2]]
        for at in range(letter.first_offset, letter.last_offset + 1):
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
        self.share = SharePartition(self.start, self.written, limits=self.limits)
        for at, record in enumerate(self.records):
            known = [one for one in self.written if one.first_offset <= at <= one.last_offset]
            is_over = at < self.start or any(one.state.is_terminal for one in known)
            assert record.is_over == is_over, ("lost, or comes again", at, record)
            deliveries = known[0].delivery_count if known else 0
            assert record.is_dead == any(one.state is RecordState.ARCHIVING for one in known)
            record.owner, record.is_pending, record.is_told = "", False, False
            if not is_over:
                record.deliveries = deliveries

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
                assert run.delivery_count == record.deliveries
            at = run.last + 1
        assert at == share.end_offset
        assert all(record.is_over for record in self.records[: share.start_offset])
        assert not any(one.deliveries for one in self.records[share.end_offset :])

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
