"""The machine against a dumb twin, in any order of events, reloaded at any moment."""

from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Loaded, TimerFired
from kafkapy.core.time import Instant
from kafkapy.txn.events import (
    AbortTimedOut,
    AddPartitions,
    DescribeTransaction,
    EndDecided,
    EndTransaction,
    Event,
    Fact,
    FindTimedOut,
    ForgetExpired,
    InitProducerId,
    ListTransactions,
    MarkersNoted,
    MarkersWritten,
    PartitionsAdded,
    PartitionsVerified,
    ProducerIdAndEpoch,
    ProducerIdWanted,
    ProducerInitialised,
    Reply,
    TimedOutFound,
    TransactionDescribed,
    TransactionForgotten,
    TransactionLogged,
    TransactionsListed,
    VerifyPartitions,
)
from kafkapy.txn.machine import TransactionMachine, TransactionSettings
from kafkapy.txn.records import TransactionCodec
from kafkapy.txn.states import ALLOWED_BEFORE
from kafkapy.txn.transaction import Transaction
from tests.txn.samples import A0, B1, ID, S, transaction
from tests.txn.twin import NOTHING, Twin

WEEK_MS: Final = 7 * 86_400_000
FIRST_ID: Final = 100

Pass = tuple[int, int]
_partitions = st.sets(st.sampled_from([A0, B1, TopicPartition("b", 2)]), min_size=1)
_which = st.integers(0, 3)


def machine() -> TransactionMachine:
    return TransactionMachine(TransactionSettings(), lambda: 2)


class MachineAndTwin(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.machine = machine()
        self.codec = TransactionCodec(lambda: 2)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.history: list[Transaction | None] = []
        self.twin = Twin()
        self.now = Instant(10_000)
        self.next_id = FIRST_ID
        self.passes: list[Pass] = [(1, 1)]

    @initialize(epoch=st.sampled_from([None, 7, 32_764]))
    def begin(self, epoch: int | None) -> None:
        """A fresh id, one that was used, or one that is about to run out of epochs."""
        if epoch is None:
            return
        used = transaction(S.EMPTY, epoch, producer_id=50, previous_producer_id=50, updated_ms=1)
        self.append(TransactionLogged(used))
        self.twin = Twin(50, epoch, timeout_ms=60_000, is_known=True)
        self.passes.append((50, epoch))

    # The runtime, as small as it can be

    def append(self, fact: Fact) -> None:
        self.log.append(self.codec.encode(fact))
        self.machine.apply(fact)
        if isinstance(fact, TransactionLogged):
            self.history.append(fact.transaction)
        else:
            assert isinstance(fact, TransactionForgotten)
            self.history.append(None)

    def ask(self, event: Event) -> Reply:
        before = dict(self.machine.transactions)
        step = self.machine.decide(event, self.now, self.now)
        assert dict(self.machine.transactions) == before, "decide only reads"
        if isinstance(step.reply, ProducerIdWanted):
            assert not step.records, step
            self.next_id += 1
            return self.ask(_with_id(event, self.next_id))
        for record in step.records:
            self.append(record)
        for note in step.notes:
            self.machine.apply(note)
        assert step.reply is not None
        return step.reply

    def fresh(self) -> int:
        """The id that the machine will be given if it wants one."""
        return self.next_id + 1

    def held(self, which: int) -> Pass:
        return self.passes[-1 - which % len(self.passes)]

    # What clients do

    @rule(which=st.none() | _which, timeout_ms=st.sampled_from([1000, 60_000]))
    def init(self, which: int | None, timeout_ms: int) -> None:
        held = None if which is None else self.held(which)
        expected = None if held is None else ProducerIdAndEpoch(*held)
        granted = self.twin.init(held, self.fresh(), timeout_ms)
        reply = self.ask(InitProducerId(ID, timeout_ms, expected))
        assert isinstance(reply, ProducerInitialised)
        assert (reply.error is ErrorCode.NONE) == granted, reply
        if granted:
            assert (reply.producer_id, reply.producer_epoch) == self.twin.current
            self.passes.append(self.twin.current)

    @rule(which=_which, partitions=_partitions, version=st.sampled_from([0, 2]))
    def add(self, which: int, partitions: set[TopicPartition], version: int) -> None:
        held = self.held(which)
        granted = self.twin.add(held, partitions, self.now)
        reply = self.ask(AddPartitions(ID, *held, frozenset(partitions), version))
        assert isinstance(reply, PartitionsAdded)
        assert (reply.error is ErrorCode.NONE) == granted, reply

    @rule(which=_which, commit=st.booleans())
    def end_v1(self, which: int, commit: bool) -> None:
        held = self.held(which)
        granted = self.twin.end_v1(held, commit)
        reply = self.ask(EndTransaction(ID, *held, commit, client_version=0))
        assert isinstance(reply, EndDecided)
        assert (reply.error is ErrorCode.NONE) == granted, reply

    @rule(which=_which, commit=st.booleans())
    def end_v2(self, which: int, commit: bool) -> None:
        held = self.held(which)
        granted = self.twin.end_v2(held, commit, self.fresh())
        reply = self.ask(EndTransaction(ID, *held, commit, client_version=2))
        assert isinstance(reply, EndDecided)
        assert (reply.error is ErrorCode.NONE) == granted, reply
        if granted:
            self.passes.append((reply.producer_id, reply.producer_epoch))

    # What happens by itself

    @precondition(lambda self: self.twin.owed is not None)
    @rule(data=st.data())
    def markers_arrive(self, data: st.DataObject) -> None:
        owed = self.twin.owed
        assert owed is not None
        some = data.draw(st.sets(st.sampled_from(sorted(owed)), min_size=1))
        self.mark(some)

    @rule(which=_which)
    def old_markers_arrive(self, which: int) -> None:
        """Of another producer or epoch; or of this one, but an earlier transaction."""
        held = self.held(which)
        known = self.machine.transactions.get(ID)
        started_ms = -1 if known is None else known.started_ms - 1
        before = len(self.log)
        self.ask(MarkersWritten(ID, *held, started_ms, frozenset({A0, B1})))
        if known is not None and (known.producer_id, known.producer_epoch) != held:
            self.ask(MarkersWritten(ID, *held, known.started_ms, frozenset({A0, B1})))
        assert len(self.log) == before

    def mark(self, partitions: set[TopicPartition]) -> None:
        known = self.machine.transactions[ID]
        self.twin.marked(partitions)
        written = frozenset(partitions - {NOTHING})
        who = (ID, known.producer_id, known.producer_epoch, known.started_ms)
        reply = self.ask(MarkersWritten(*who, written))
        assert reply == MarkersNoted(is_complete=self.twin.owed is None)

    @rule(by_ms=st.sampled_from([500, 61_000]))
    def time_passes(self, by_ms: int) -> None:
        self.now = Instant(self.now + by_ms)
        found = self.ask(FindTimedOut())
        assert isinstance(found, TimedOutFound)
        is_late = self.twin.time_out(self.fresh(), self.now)
        assert found.transactional_ids == ((ID,) if is_late else ())
        for late in found.transactional_ids:
            self.ask(AbortTimedOut(late))

    @rule()
    def a_week_passes(self) -> None:
        self.now = Instant(self.now + WEEK_MS)
        self.ask(ForgetExpired())
        if self.twin.is_known and not self.twin.is_open and self.twin.owed is None:
            self.twin = Twin()

    @rule()
    def reload(self) -> None:
        """Another leader replays the log: what was soft is gone, nothing else."""
        reloaded = machine()
        for key, value in self.log:
            fact = self.codec.decode(key, value)
            assert fact is not None
            reloaded.apply(fact)
        was, now = self.machine.transactions.get(ID), reloaded.transactions.get(ID)
        if was is not None and not was.state.is_prepared:
            assert now == was._replace(last_producer_epoch=-1)
        self.machine = reloaded
        self.twin.reload()

    # What must hold

    @invariant()
    def the_machine_and_its_twin_agree(self) -> None:
        known = self.machine.transactions.get(ID)
        twin = self.twin
        assert (known is not None) == twin.is_known
        if known is None:
            return
        assert (known.producer_id, known.producer_epoch) == twin.current
        assert (known.state is S.ONGOING) == twin.is_open
        assert known.state.is_prepared == (twin.owed is not None)
        if twin.owed is not None:
            assert known.partitions == twin.owed - {NOTHING}
            assert (known.state is S.PREPARE_COMMIT) == twin.will_commit
        if twin.is_open:
            assert known.partitions == twin.partitions

    @invariant()
    def reading_agrees_too(self) -> None:
        described = self.ask(DescribeTransaction(ID))
        assert isinstance(described, TransactionDescribed)
        assert (described.error is ErrorCode.NONE) == self.twin.is_known
        listed = self.ask(ListTransactions())
        assert isinstance(listed, TransactionsListed)
        assert len(listed.transactions) == self.twin.is_known
        verified = self.ask(VerifyPartitions(ID, *self.twin.current, frozenset({A0})))
        assert isinstance(verified, PartitionsVerified)
        is_in = self.twin.is_open and A0 in self.twin.partitions
        assert (verified.errors[A0] is ErrorCode.NONE) == is_in

    def teardown(self) -> None:
        """Everything prepared is finished, as it was prepared, and nothing else is."""
        self.reload()
        if self.twin.owed is not None:
            self.mark(set(self.twin.owed))
        before: Transaction | None = None
        for after in self.history:
            if before is not None and after is not None:
                assert before.state in ALLOWED_BEFORE[after.state], (before, after)
                if before.state.is_prepared:
                    committed = before.state is S.PREPARE_COMMIT
                    assert after.state is (S.COMPLETE_COMMIT if committed else S.COMPLETE_ABORT)
            if before is not None and after is None:
                assert before.state.is_at_rest
            before = after
        assert before is None or not before.state.is_prepared


def _with_id(event: Event, producer_id: int) -> Event:
    assert isinstance(event, InitProducerId | EndTransaction | AbortTimedOut)
    return event._replace(fresh_producer_id=producer_id)


MachineAndTwin.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
TestMachineAndTwin: Any = MachineAndTwin.TestCase


def test_loading_and_timers_ask_for_nothing() -> None:
    one = machine()
    for event in (Loaded(), TimerFired("any")):
        step = one.decide(event, Instant(1), Instant(1))
        assert (step.records, step.notes, step.reply, step.timers) == ((), (), None, {})


def test_the_settings_bound_the_timeout() -> None:
    strict = TransactionMachine(TransactionSettings(max_timeout_ms=5000), lambda: 2)
    reply = strict.decide(InitProducerId(ID, 5001), Instant(1), Instant(1)).reply
    assert reply == ProducerInitialised(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


@pytest.mark.parametrize("version", [0, 2])
def test_the_finalized_version_decides_how_a_producer_is_fenced(version: int) -> None:
    one = TransactionMachine(TransactionSettings(), lambda: version)
    one.apply(TransactionLogged(transaction(S.ONGOING)))
    (record,) = one.decide(
        InitProducerId(ID, 60_000), Instant(1_000_000), Instant(1_000_000)
    ).records
    assert isinstance(record, TransactionLogged)
    assert record.transaction.client_version == version
