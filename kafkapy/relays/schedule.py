"""What one relay does with the records of its log: which leave now, which wait, which are over.

    look_at(record)  --> leaves at once | waits | dropped          in the order of the log
    due(wall)        --> entries, in the order in which they leave
    leaves(entry)    --> what is sent for it
    a pass           --> what waits and was forgotten, from the log again (waiting.py)

`progress` says at any time what of that has left, so it is committed with what leaves, and a
schedule that begins with it goes on from there: nothing else has to be kept. Where the rule is
another one than before, each record keeps the one under which it was looked at first.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.ids import TopicPartition
from kafkapy.expressions import compile_expression
from kafkapy.protocol.batches.records import Record
from kafkapy.relays.progress import NOTHING, Progress, due_of, entry_of, offset_of
from kafkapy.relays.rule import AT_ONCE, Rule, Sent, Timing, due_ms, is_cancel, passed_on, sent
from kafkapy.relays.waiting import Waiting

NOWHERE: Final = TopicPartition("", 0)
Change = Callable[[Record], Record | None]


class _Pass:
    """Over what waits: collects the next ones behind `after`."""

    def __init__(self, position: int, after: int, most: int) -> None:
        self.position = position
        self.after = after
        self.found = Waiting(most, after)
        self.lowest: int | None = None


class _Then:
    """The rule, as it is for records of one timing."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._where = compile_expression(rule.where) if rule.where else None

    def wants(self, record: Record, source: TopicPartition) -> bool:
        where = self._where
        return where is None or where.holds(record, source.partition, source.topic)


class Schedule:
    def __init__(
        self,
        rule: Rule,
        progress: Progress,
        most: int,
        source: TopicPartition = NOWHERE,
        change: Change | None = None,
    ) -> None:
        """`most`: how many entries are kept. `source`: what the rule's expression sees. `change`:
        what the rule's hook makes of a record that leaves; what it raises leaves this schedule
        where it must not be used any more."""
        self._change = change
        self._rule = rule
        self._source = source
        self._now = _Then(rule)
        # By the timings that are kept, where there are others.
        self._before: dict[Timing, _Then] = {rule.timing: self._now}
        ruled = progress.under(rule.timing)
        # Whether new records may be looked at; else others have to leave first.
        self.may_scan = ruled is not None
        self.progress = progress if ruled is None else ruled
        self._waiting = Waiting(most)
        # Everything that waits is beyond what is known: a pass comes first.
        self._waiting.horizon = NOTHING
        self._pass: _Pass | None = None

    def __len__(self) -> int:
        """How many entries are in memory."""
        return len(self._waiting)

    # --- new records ---

    def look_at(self, record: Record, wall: int) -> Sent | None:
        """The next one of the log; what it gives leaves with the next commit."""
        rule = self._now.rule
        if is_cancel(record):
            if record.key is not None:
                self._waiting.cancel(record.key, record.offset)
            return None
        is_new_to_others = record.offset >= self.progress.others_from
        if not self._now.wants(record, self._source):
            return passed_on(rule, record) if is_new_to_others else None
        due = due_ms(rule, record)
        if due == AT_ONCE:
            if rule.retry_delays_ms and not is_new_to_others:
                return None  # a dead letter already
            return self._sent(rule, record, due)
        entry = entry_of(due, record.offset)
        if entry <= self.progress.frontier:
            # Others that were due later have left before it came.
            if due > wall:  # only where the clock was set back
                self.progress = self.progress.scan_to(record.offset).begin_section()
            if entry <= self.progress.frontier:
                return self._sent(rule, record, due)
        self._waiting.add(entry, record.key)
        return None

    def _then(self, offset: int) -> _Then:
        """As it was when that one was looked at first."""
        ruled = self.progress.ruled
        if len(ruled) == 1 and self.may_scan:
            return self._now
        timing = next(one.timing for one in reversed(ruled) if one.begin <= offset)
        found = self._before.get(timing)
        if found is None:
            found = self._before[timing] = _Then(self._rule.under(timing))
        return found

    def looked_to(self, offset: int) -> None:
        self.progress = self.progress.scan_to(offset)

    # --- what is due ---

    def next_due(self) -> int | None:
        """When, by the wall clock, as far as it is known."""
        first = self._waiting.first()
        return None if first is None else due_of(first)

    def due(self, wall: int, most: int, after: int = NOTHING) -> list[int]:
        """Each stays until it was given to `leaves`, in this order. `after`: an entry."""
        return self._waiting.soonest(most, entry_of(wall + 1, 0), after)

    def leaves(self, entry: int, record: Record | None) -> Sent | None:
        """`record`: None if the log has it no more."""
        self.progress = self.progress.left(entry)
        self._waiting.gone(entry)
        if record is None:
            return None
        return self._sent(self._then(offset_of(entry)).rule, record, due_of(entry))

    def _sent(self, rule: Rule, record: Record, due: int) -> Sent | None:
        if self._change is not None:
            changed = self._change(record)
            if changed is None:
                return None
            record = changed
        return sent(rule, record, due)

    # --- what was forgotten ---

    @property
    def is_passing(self) -> bool:
        return self._pass is not None

    def pass_from(self, log_start: int, most: int) -> int | None:
        """From where a pass is to go on, up to where was looked; None: none is needed."""
        if self._pass is None:
            if not self._waiting.needs_pass:
                return None
            horizon = self._waiting.horizon
            assert horizon is not None, "only what is beyond a horizon needs a pass"
            self._pass = _Pass(self.progress.lowest, horizon, most)
        self._pass.position = max(self._pass.position, log_start)
        return self._pass.position

    def look_again(self, record: Record) -> None:
        """One that was looked at before, if it was."""
        under_way = self._pass
        assert under_way is not None, "nobody passes"
        if record.offset >= self.progress.scanned:
            return
        if is_cancel(record):
            if record.key is not None:
                under_way.found.cancel(record.key, record.offset)
            return
        then = self._then(record.offset)
        if not then.wants(record, self._source):
            return
        due = due_ms(then.rule, record)
        if self.progress.is_over(due, record.offset):
            return
        if under_way.lowest is None:
            under_way.lowest = record.offset
        under_way.found.add(entry_of(due, record.offset), record.key)

    def passed_to(self, offset: int) -> bool:
        """Whether that was all."""
        under_way = self._pass
        assert under_way is not None, "nobody passes"
        scanned = self.progress.scanned
        under_way.position = min(offset, scanned)
        if under_way.position < scanned:
            return False
        self._pass = None
        # Else so much came before the horizon meanwhile that it has moved: another pass.
        if under_way.after == self._waiting.horizon:
            self._waiting.join(under_way.found)
            lowest = scanned if under_way.lowest is None else under_way.lowest
            self._reach(lowest)
        return True

    def settle(self) -> None:
        """Before it is committed: nothing before `lowest` waits."""
        if self._pass is None and self._waiting.horizon is None and self._waiting.first() is None:
            self._reach(self.progress.scanned)

    def _reach(self, lowest: int) -> None:
        self.progress = self.progress.reach(lowest)
        if not self.may_scan:
            ruled = self.progress.under(self._rule.timing)
            if ruled is not None:
                self.progress = ruled
                self.may_scan = True
