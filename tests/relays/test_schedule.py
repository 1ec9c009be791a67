"""Whatever comes, crashes, is set back and altered: each record leaves once, in time, in order."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.ids import TopicPartition
from kafkapy.expressions import compile_expression
from kafkapy.group.settings import GroupSettings
from kafkapy.protocol.batches.records import Record
from kafkapy.relays.progress import (
    MOST_TIMING_TEXT,
    Progress,
    entry_of,
    from_text,
    offset_of,
    start_at,
    text_of,
)
from kafkapy.relays.rule import AT_ONCE, CANCEL, LATEST_MS, Rule, Timing, due_ms
from kafkapy.relays.schedule import Schedule
from tests.relays.records import cancels, due_at, record

RULE = Rule("out")
RULES = (
    RULE,
    RULE._replace(delay_ms=7),
    RULE._replace(delay_ms=25),
    RULE._replace(delay_ms=12, where="key != 'key1'"),
    RULE._replace(where="key = 'key2'", otherwise="rest"),
    RULE._replace(retry_delays_ms=(10, 20), dead_letters="dead"),
    RULE._replace(retry_delays_ms=(), delay_ms=0, where="value = 'nothing like it'"),
)


class Append(NamedTuple):
    """`delay` -1: as the topic has it; -2: a cancellation."""

    delay: int
    key: int


class Alter(NamedTuple):
    rule: Rule


class Tick(NamedTuple):
    ms: int


class Step(NamedTuple):
    looked_at: int
    taken: int
    passed: int
    is_lost: bool


ACTIONS = st.lists(
    st.one_of(
        st.builds(Append, st.integers(-2, 40), st.integers(0, 3)),
        st.builds(Tick, st.integers(-30, 30)),
        st.builds(Alter, st.sampled_from(RULES)),
        st.builds(
            Step,
            st.integers(0, 6),
            st.integers(0, 4),
            st.integers(0, 8),
            st.sampled_from([0, 0, 1]),
        ),
    ),
    min_size=40,
    max_size=150,
)


class World:
    """A log, a wall clock that may be set, and what is committed: `text` and `sent`, as one."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.wall = 1_000
        self.log: list[Record] = []
        self.text = start_at(0).to_text()
        self.sent: list[int] = []
        self.rule = RULE
        # What each record was looked at under.
        self.rules: dict[int, Rule] = {}
        self.schedule = Schedule(RULE, start_at(0), most)

    def append(self, action: Append) -> None:
        offset, key = len(self.log), b"key%d" % action.key
        if action.delay == -2:
            self.log.append(cancels(offset, key))
        elif action.delay == -1:
            self.log.append(record(offset, key, timestamp=self.wall))
        else:
            self.log.append(due_at(offset, self.wall + action.delay, key))

    def step(self, action: Step) -> None:
        schedule, leaving = self.schedule, []
        for one in self.log[schedule.progress.scanned :][: action.looked_at]:
            if not schedule.may_scan:
                break
            self.rules[one.offset] = self.rule
            if schedule.look_at(one, self.wall) is not None:
                leaving.append(one.offset)
            schedule.looked_to(one.offset + 1)
        position = schedule.pass_from(0, self.most)
        if position is not None:
            again = self.log[position:][: action.passed]
            for one in again:
                schedule.look_again(one)
            schedule.passed_to(position + len(again))
        entries = schedule.due(self.wall, action.taken)
        kept = entries[: action.taken // 2 + 1]
        assert kept == sorted(kept)
        for entry in kept:
            self.check_that_it_is_next(entry, leaving)
            assert schedule.leaves(entry, self.log[offset_of(entry)]) is not None
            leaving.append(offset_of(entry))
        schedule.settle()
        if action.is_lost:
            self.begin_again()
            return
        for offset in leaving:
            due = self.due_ms(offset)
            assert due <= self.wall, (offset, "is early")
        self.sent += leaving
        self.text = schedule.progress.to_text()
        self.check_what_is_committed()

    def begin_again(self) -> None:
        """Another leader, or the same one: it knows what is committed and the log."""
        progress = from_text(self.text)
        assert progress is not None
        self.schedule = Schedule(self.rule, progress, self.most)

    def due_ms(self, offset: int) -> int:
        """As it was when somebody looked at it first; what is for others leaves at once."""
        rule = self.rules[offset]
        return due_ms(rule, self.log[offset]) if self.is_wanted(offset) else AT_ONCE

    def is_wanted(self, offset: int) -> bool:
        where = self.rules[offset].where
        return not where or compile_expression(where).holds(self.log[offset], 0, "")

    def goes_nowhere(self, offset: int) -> bool:
        return not self.is_wanted(offset) and not self.rules[offset].otherwise

    def check_that_it_is_next(self, entry: int, leaving: list[int]) -> None:
        scanned = self.schedule.progress.scanned
        for one in self.log[:scanned]:
            waits = one.offset not in self.sent and one.offset not in leaving
            if waits and not self.is_over(one.offset, scanned):
                assert (self.due_ms(one.offset), one.offset) >= (
                    self.due_ms(offset_of(entry)),
                    offset_of(entry),
                )

    def check_what_is_committed(self) -> None:
        progress = from_text(self.text)
        assert isinstance(progress, Progress)
        for one in self.log[: progress.lowest]:
            assert one.offset in self.sent or self.is_over(one.offset, progress.scanned)

    def is_over(self, offset: int, scanned: int) -> bool:
        return self.is_cancelled(offset, scanned) or self.goes_nowhere(offset)

    def is_cancelled(self, offset: int, scanned: int) -> bool:
        """As far as somebody looked; a cancellation is nothing that leaves either."""
        one = self.log[offset]
        return is_cancel(one) or any(
            is_cancel(later) and later.key == one.key for later in self.log[offset + 1 : scanned]
        )


def is_cancel(one: Record) -> bool:
    return any(name == CANCEL for name, _ in one.headers)


@settings(max_examples=150, deadline=None)
@given(actions=ACTIONS, most=st.integers(1, 5) | st.integers(8, 40))
def test_each_record_leaves_once_in_time_and_in_order(
    actions: list[Append | Tick | Step], most: int
) -> None:
    world = World(most)
    for action in actions:
        match action:
            case Append():
                world.append(action)
            case Tick(ms):
                world.wall += ms
            case Alter(rule):
                world.rule = rule
                world.begin_again()
            case Step():
                world.step(action)
    world.wall += 10_000
    for _ in range(3 * len(world.log) + 10):
        world.step(Step(10, 10, 100, False))
    assert len(set(world.sent)) == len(world.sent), "nothing twice"
    missing = {one.offset for one in world.log}.difference(world.sent)
    for offset in missing:
        assert world.is_over(offset, len(world.log)), (offset, "is lost")
    assert not any(is_cancel(world.log[offset]) for offset in world.sent)
    assert world.schedule.progress.lowest == len(world.log)
    assert len(world.schedule) == 0


def test_what_is_cancelled_in_time_never_leaves() -> None:
    schedule = Schedule(RULE, start_at(0), 10)
    assert schedule.pass_from(0, 10) == 0
    assert schedule.passed_to(0)
    for one in (due_at(0, 500, b"a"), due_at(1, 600, b"b"), cancels(2, b"a")):
        assert schedule.look_at(one, 100) is None
        schedule.looked_to(one.offset + 1)
    assert [offset_of(one) for one in schedule.due(10_000, 10)] == [1]


def test_a_million_that_wait_take_no_more_memory_than_a_few() -> None:
    """By the count of what is kept; docs/RELAYS.md has the megabytes."""
    schedule = Schedule(RULE, start_at(0), 100)
    assert schedule.pass_from(0, 100) == 0
    assert schedule.passed_to(0)
    kept = 0
    for offset in range(5_000):
        schedule.look_at(due_at(offset, 1_000_000 - offset * 7 % 5_000, b"%d" % offset), 100)
        schedule.looked_to(offset + 1)
        kept = max(kept, len(schedule))
    assert 100 <= kept <= 151


def test_progress_is_short_and_read_as_it_was_written() -> None:
    progress = start_at(5, "target").scan_to(9).left(77).begin_section().scan_to(12)
    ruled = progress.under(Timing(5, (6, 7), "key = 'ä'"))
    assert ruled is not None
    assert from_text(ruled.to_text()) == ruled


def test_progress_is_never_too_long_for_an_offsets_metadata() -> None:
    """Each timing as long as may be, so many clocks set back, late in a long log."""
    latest, text = entry_of(LATEST_MS, (1 << 63) - 1), "ä" * (MOST_TIMING_TEXT - 30)
    progress = start_at((1 << 63) - 200, "0" * 32)
    count = 0
    while (ruled := progress.under(Timing(LATEST_MS, (), f"{count:3}{text}"))) is not None:
        assert len(text_of(ruled.ruled[-1].timing)) <= MOST_TIMING_TEXT
        progress = ruled.scan_to(ruled.scanned + 1)
        count += 1
    assert count == 2
    for _ in range(100):
        sections = tuple(one._replace(frontier=latest) for one in progress.sections)
        progress = progress._replace(sections=sections).begin_section()
        progress = progress.scan_to(progress.scanned + 1)
    mark = 33  # the topic's id and a blank
    assert len(progress.to_text()) + mark <= GroupSettings().offset_metadata_max_bytes


def test_under_too_many_long_rules_those_that_wait_leave_first() -> None:
    """Nothing new is looked at meanwhile, and everything leaves once and in time."""
    world = World(10)
    for count in range(5):
        world.rule = RULE._replace(where=f"key != '{count:800}'")
        world.begin_again()
        world.append(Append(100 - count, 0))
        if world.schedule.may_scan:
            world.step(Step(1, 0, 100, False))
    assert not world.schedule.may_scan
    assert world.sent == []
    world.begin_again()
    world.step(Step(0, 1, 100, False))
    assert world.sent == []
    world.wall += 1_000
    for _ in range(10):
        looked_at = 10 if world.schedule.may_scan else 0
        world.step(Step(looked_at, 10, 100, False))
    assert sorted(world.sent) == list(range(5))
    for strange in ("1 5 9 77", "2 something else", "2 [1,2]", "2 []", "2 [1,2,3,4,5,6]"):
        assert from_text(strange) is None
    assert from_text("") is None


def passed(schedule: Schedule, log: list[Record], most: int) -> None:
    while (position := schedule.pass_from(0, most)) is not None:
        for one in log[position:]:
            schedule.look_again(one)
        schedule.passed_to(len(log))


def test_what_was_forgotten_and_then_cancelled_is_not_found_again() -> None:
    """Two are kept; the third was forgotten when its cancellation came by."""
    log = [due_at(offset, 100 + offset, b"%d" % offset) for offset in range(8)]
    log.append(cancels(8, b"6"))
    schedule = Schedule(RULE, start_at(0), 2)
    passed(schedule, [], 2)
    left: list[int] = []
    for one in log:
        schedule.look_at(one, 0)
        schedule.looked_to(one.offset + 1)
    for _ in log:
        for entry in schedule.due(10_000, 1):
            schedule.leaves(entry, log[offset_of(entry)])
            left.append(offset_of(entry))
        passed(schedule, log, 2)
    assert left == [0, 1, 2, 3, 4, 5, 7]


def test_an_expression_says_which_records_go_and_cancellations_are_heard_in_any_case() -> None:
    rule = RULE._replace(where="value = 'v' and partition = 3")
    schedule = Schedule(rule, start_at(0), 10, TopicPartition("t", 3))
    passed(schedule, [], 10)
    log = [record(0, b"a"), record(1, b"a", b"w"), due_at(2, 500, b"a"), cancels(3, b"a")]
    assert [schedule.look_at(one, 0) is not None for one in log] == [True, False, False, False]
    schedule.looked_to(4)
    assert schedule.due(10_000, 10) == []


def test_what_the_expression_is_not_for_goes_elsewhere_at_once_and_as_it_is() -> None:
    rule = RULE._replace(where="headers.priority = 'high'", delay_ms=500, otherwise="rest")
    schedule = Schedule(rule, start_at(0), 10)
    passed(schedule, [], 10)
    low, high = due_at(0, 900, b"k"), record(1, b"k", priority=b"high")
    gone = schedule.look_at(low, 100)
    assert gone is not None
    assert (gone.topic, gone.record.headers) == ("rest", low.headers)
    schedule.looked_to(1)
    assert schedule.look_at(high, 100) is None
    schedule.looked_to(2)
    assert [offset_of(one) for one in schedule.due(500, 10)] == [1]
