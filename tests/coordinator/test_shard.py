from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.coordinator import loader
from kafkapy.coordinator.loader import RECORD_COST_US
from kafkapy.coordinator.shard import Shard
from kafkapy.coordinator.shard_records import ShardSettings
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import SLICE_US
from kafkapy.core.step import Step, Transactional, TransactionEnded
from kafkapy.core.time import Instant
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.protocol.batches.batch import Codec, read_header, records
from kafkapy.runtime.runtime import TIMER_RETRY_MS, State
from tests.coordinator.fakes import EchoMachine, FakeClock, MemoryLog, TextCodec

RECORDS_PER_SLICE = SLICE_US // RECORD_COST_US


class Asker:
    def __init__(self) -> None:
        self.answers: list[Any] = []

    def __call__(self, reply: Any) -> None:
        self.answers.append(reply.code if isinstance(reply, Refused) else reply)


class World:
    def __init__(self, log: MemoryLog | None = None, settings: ShardSettings | None = None) -> None:
        self.clock = FakeClock()
        self.log = log or MemoryLog()
        self.machine = EchoMachine()
        self.committed: list[Any] = []
        self.closed: list[Any] = []
        self.shard: Shard[Any, Any] = Shard(
            TopicPartition("__consumer_offsets", 3),
            7,
            self.log,
            self.machine,
            TextCodec(),
            self.clock,
            settings or ShardSettings(),
            on_committed=self.committed.extend,
            on_closed=lambda error, why: self.closed.append((error, why)),
        )

    def ask(self, event: Any) -> Asker:
        asker = Asker()
        self.shard.submit(event, asker)
        return asker


@pytest.fixture
def world() -> World:
    made = World()
    made.shard.load()
    return made


@pytest.fixture
def slow() -> World:
    made = World(MemoryLog(commits_at_once=False))
    made.shard.load()
    return made


def test_a_step_is_one_batch_applied_and_answered(world: World) -> None:
    asker = world.ask(Step(records=("a=1", "b"), notes=("soft",), reply="done"))
    assert asker.answers == ["done"]
    assert world.machine.applied == ["a=1", "b", "soft"]
    assert len(world.log.batches) == 1
    read = [(r.key, r.value, r.timestamp) for r in records(world.log.batches[0])]
    assert read == [(b"a", b"1", world.clock.now()), (b"b", None, world.clock.now())]
    assert world.committed == ["a=1", "b"]


def test_a_step_without_records_appends_nothing(world: World) -> None:
    assert world.ask(Step(reply="read")).answers == ["read"]
    assert world.log.batches == []


def test_a_refusal_of_decide_is_the_answer(world: World) -> None:
    assert world.ask(Refused(ErrorCode.UNKNOWN_MEMBER_ID)).answers == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_records_are_applied_at_once_and_answers_wait_for_the_commit(slow: World) -> None:
    first = slow.ask(Step(records=("a=1",), reply="one"))
    reader = slow.ask(Step(reply="saw a=1"))
    refused = slow.ask(Refused(ErrorCode.FENCED_MEMBER_EPOCH))
    second = slow.ask(Step(records=("a=2",), reply="two"))
    assert slow.machine.applied == ["a=1", "a=2"]
    assert not first.answers + reader.answers + refused.answers + second.answers
    slow.log.commit(1)
    assert first.answers == ["one"]
    assert reader.answers == ["saw a=1"]
    assert refused.answers == [ErrorCode.FENCED_MEMBER_EPOCH]
    assert second.answers == []
    slow.log.commit()
    assert second.answers == ["two"]
    assert slow.committed == ["a=1", "a=2"]


def test_a_parked_asker_is_answered_by_a_later_step_when_that_is_committed(slow: World) -> None:
    parked = slow.ask(Step(park="m1"))
    slow.ask(Step(records=("a=1",), reply="ok", answers=(("m1", "joined"), ("nobody", "x"))))
    assert parked.answers == []
    slow.log.commit()
    assert parked.answers == ["joined"]


def test_an_asker_who_parks_again_displaces_the_answered_one(world: World) -> None:
    first = world.ask(Step(park="m1"))
    second = world.ask(Step(park="m1", answers=(("m1", "superseded"),)))
    world.ask(Step(reply="x", answers=(("m1", "joined"),)))
    assert (first.answers, second.answers) == (["superseded"], ["joined"])


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_refused_append_changes_nothing(
    world: World, refused: ErrorCode, told: ErrorCode
) -> None:
    world.log.refusal = refused
    step = Step(records=("a=1",), notes=("n",), reply="x", timers={"t": Instant(9)})
    assert world.ask(step).answers == [told]
    assert world.machine.applied == []
    assert len(world.shard.runtime.timers) == 0
    assert world.shard.state is State.ACTIVE


def test_an_append_lost_after_all_closes_the_shard(slow: World) -> None:
    parked = slow.ask(Step(park="m1"))
    writer = slow.ask(Step(records=("a=1",), reply="x", timers={"t": Instant(9_999_999)}))
    slow.log.lose(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert writer.answers == [ErrorCode.NOT_COORDINATOR]
    assert parked.answers == [ErrorCode.NOT_COORDINATOR]
    assert slow.closed == [(ErrorCode.NOT_COORDINATOR, None)]
    assert slow.ask(Step(reply="x")).answers == [ErrorCode.NOT_COORDINATOR]
    slow.clock.advance(99_999_999)
    assert slow.machine.fired == []


def test_lost_leadership_answers_everybody(slow: World) -> None:
    parked = slow.ask(Step(park="m1"))
    writer = slow.ask(Step(records=("a=1",), reply="x"))
    slow.shard.close()
    assert parked.answers == writer.answers == [ErrorCode.NOT_COORDINATOR]
    slow.log.commit()
    assert writer.answers == [ErrorCode.NOT_COORDINATOR]


def test_an_asker_does_not_wait_for_ever_for_the_commit(slow: World) -> None:
    writer = slow.ask(Step(records=("a=1",), reply="x"))
    slow.clock.advance(4_999)
    assert writer.answers == []
    slow.clock.advance(1)
    assert writer.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    slow.log.commit()
    assert slow.committed == ["a=1"]
    assert len(writer.answers) == 1


def test_timers_come_back_as_events(world: World) -> None:
    now = world.clock.now()
    world.ask(Step(reply="x", timers={"a": Instant(now + 10), ("b", 1): Instant(now + 20)}))
    world.ask(Step(reply="x", timers={"a": Instant(now + 30), ("b", 1): None}))
    world.clock.advance(29)
    assert world.machine.fired == []
    world.clock.advance(1)
    assert world.machine.fired == [("a", now + 30)]


def test_a_timer_whose_records_are_refused_comes_again(world: World) -> None:
    now = world.clock.now()
    world.ask(Step(reply="x", timers={"a": Instant(now + 10)}))
    world.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    world.machine.on_timer = Step(records=("gone=1",))
    world.clock.advance(10)
    world.log.refusal = None
    world.clock.advance(TIMER_RETRY_MS)
    assert [key for key, _ in world.machine.fired] == ["a", "a"]
    assert world.machine.applied == ["gone=1"]


def test_transactional_records_travel_with_their_producer_until_the_marker(world: World) -> None:
    pending = (Transactional(9, 2, "a=1"), Transactional(9, 2, "b=2"))
    world.ask(Step(records=pending, reply="ok"))
    header = read_header(world.log.batches[0])
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, -1)
    assert header.is_transactional
    done: list[Any] = []
    ended = TransactionEnded(9, 2, 5, is_committed=True)
    world.shard.complete_transaction(ended, done.append)
    marker = read_header(world.log.batches[1])
    assert marker.is_control
    assert marker.is_transactional
    assert done == [None]
    assert world.machine.applied == [*pending, ended]

    again = World(world.log)
    again.shard.load()
    assert again.machine.applied == [*pending, ended]


def test_the_log_sees_the_guard_that_its_records_were_verified_under(world: World) -> None:
    guard = VerificationGuard()
    world.ask(Step(records=(Transactional(9, 2, "a=1", guard),), reply="ok"))
    world.ask(Step(records=("b=2",), reply="ok"))
    assert world.log.guards == [guard, None]


def test_a_marker_that_is_refused_or_lost_says_so(slow: World) -> None:
    told: list[Any] = []

    def hear(refused: Refused | None) -> None:
        told.append(refused.code if refused else None)

    ended = TransactionEnded(9, 2, 5, is_committed=False)
    slow.log.refusal = ErrorCode.INVALID_PRODUCER_EPOCH
    slow.shard.complete_transaction(ended, hear)
    slow.log.refusal = None
    slow.shard.complete_transaction(ended, hear)
    slow.log.lose(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    slow.shard.complete_transaction(ended, hear)
    assert told == [ErrorCode.INVALID_PRODUCER_EPOCH] + [ErrorCode.NOT_COORDINATOR] * 2


def test_replay_gives_the_same_state_in_slices() -> None:
    world = World()
    world.shard.load()
    for start in range(0, 500, 5):
        world.ask(Step(records=tuple(f"k{n}={n}" for n in range(start, start + 5)), reply="x"))
    again = World(world.log)
    again.machine.loaded = Step(timers={"t": Instant(again.clock.now() + 5)})
    again.shard.load()
    assert again.ask(Step(reply="x")).answers == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert 0 < again.shard.progress.records <= RECORDS_PER_SLICE
    assert again.clock.run_soon() >= 500 // RECORDS_PER_SLICE
    assert again.shard.state is State.ACTIVE
    assert again.machine.applied == world.machine.applied
    assert again.shard.progress.offset == again.log.end_offset == 500
    again.clock.advance(5)
    assert [key for key, _ in again.machine.fired] == ["t"]


def test_a_shard_closed_while_loading_stops_loading() -> None:
    world = World()
    world.shard.load()
    world.ask(Step(records=tuple(f"k{n}={n}" for n in range(500)), reply="x"))
    again = World(world.log)
    again.shard.load()
    again.shard.close()
    again.clock.run_soon()
    assert len(again.machine.applied) <= RECORDS_PER_SLICE


def test_a_replay_goes_on_where_retention_has_left_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "READ_BYTES", 1)
    world = World()
    world.shard.load()
    for n in range(500):
        world.ask(Step(records=(f"k{n}={n}",), reply="x"))
    again = World(world.log)
    again.shard.load()
    replayed = len(again.machine.applied)
    world.log.start_offset = 480
    del world.log.batches[:480]
    again.clock.run_soon()
    assert again.shard.state is State.ACTIVE
    assert again.machine.applied[-20:] == world.machine.applied[-20:]
    assert replayed < len(again.machine.applied)


def test_a_log_that_cannot_be_read_now_closes_the_shard() -> None:
    world = World()
    world.shard.load()
    world.ask(Step(records=("a=1",), reply="x"))
    world.log.unreadable = ErrorCode.KAFKA_STORAGE_ERROR
    again = World(world.log)
    again.shard.load()
    assert again.shard.state is State.CLOSED
    assert again.ask(Step(reply="x")).answers == [ErrorCode.NOT_COORDINATOR]


def test_what_was_replayed_is_served_once_it_is_committed() -> None:
    """The old leader's last batch is in our log and below nobody's high watermark yet."""
    world = World()
    world.shard.load()
    world.ask(Step(records=("a=1",), reply="x"))
    world.log.commits_at_once = False
    again = World(world.log)
    again.shard.load()
    assert again.machine.applied == ["a=1"]
    assert again.ask(Step(reply="a is 1")).answers == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    world.log.commit()
    assert again.shard.state is State.ACTIVE
    assert again.ask(Step(reply="a is 1")).answers == ["a is 1"]


def test_a_replay_that_is_never_committed_closes_the_shard() -> None:
    world = World()
    world.shard.load()
    world.ask(Step(records=("a=1",), reply="x"))
    world.log.commits_at_once = False
    again = World(world.log)
    again.shard.load()
    world.log.lose(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert again.closed == [(ErrorCode.NOT_COORDINATOR, None)]


def test_unknown_types_are_counted_and_skipped() -> None:
    world = World()
    world.shard.load()
    world.ask(Step(records=("?x=1", "a=1"), reply="x"))
    again = World(world.log)
    again.shard.load()
    assert again.machine.applied == ["a=1"]
    assert again.shard.progress.unknown == 1


def test_corrupt_records_keep_the_shard_from_serving() -> None:
    world = World()
    world.shard.load()
    world.ask(Step(records=("!x=1",), reply="x"))
    again = World(world.log)
    again.shard.load()
    assert again.shard.state is State.CLOSED
    assert again.closed == [(ErrorCode.NOT_COORDINATOR, "!x")]


def test_batches_are_compressed_when_the_settings_say_so() -> None:
    world = World(settings=ShardSettings(compression=Codec.LZ4))
    world.shard.load()
    world.ask(Step(records=("a=" + "1" * 500,), reply="x"))
    assert read_header(world.log.batches[0]).codec is Codec.LZ4
    again = World(world.log)
    again.shard.load()
    assert again.machine.applied == world.machine.applied


def test_batches_carry_the_sequence_that_the_settings_say() -> None:
    world = World(settings=ShardSettings(base_sequence=0))
    world.shard.load()
    world.ask(Step(records=("a=1", "b=2"), reply="x"))
    world.ask(Step(records=(Transactional(9, 2, "a=1"),), reply="x"))
    assert [read_header(batch).base_sequence for batch in world.log.batches] == [0, 0]


def test_an_answer_may_ask_again(world: World) -> None:
    """A reply's receiver submits the next event before the first call returns."""
    seen: list[Any] = []

    def then(reply: Any) -> None:
        seen.append(reply)
        if len(seen) < 3:
            world.shard.submit(Step(records=(f"k={len(seen)}",), reply=len(seen)), then)

    submit: Callable[..., None] = world.shard.submit
    submit(Step(records=("k=0",), reply=0), then)
    assert seen == [0, 1, 2]
    assert world.machine.applied == ["k=0", "k=1", "k=2"]
