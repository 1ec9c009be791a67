from typing import Any

import pytest

from kafkapy.coordinator.partitioning import partition_for
from kafkapy.coordinator.shards import RELOAD_AFTER_MS, Shards
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from tests.coordinator.fakes import EchoMachine, FakeClock, MemoryLog, TextCodec

HERE = partition_for("g", 4)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.watched: list[Any] = []
        self.machines: list[EchoMachine] = []
        self.shards: Shards[Any, Any] = Shards(
            "__consumer_offsets",
            new_machine=self.machine,
            codec=TextCodec(),
            clock=self.clock,
            watch=lambda shard, records: self.watched.append(
                (shard.topic_partition.partition, list(records))
            ),
        )
        self.shards.partition_count = 4

    def machine(self, partition: int) -> EchoMachine:
        self.machines.append(EchoMachine())
        return self.machines[-1]

    def ask(self, event: Any) -> Any:
        answers: list[Any] = []
        self.shards.submit("g", event, answers.append)
        (answer,) = answers
        return answer.code if isinstance(answer, Refused) else answer


@pytest.fixture
def world() -> World:
    return World()


def test_without_the_topic_there_is_no_coordinator(world: World) -> None:
    world.shards.partition_count = None
    assert world.ask(Step(reply="x")) is ErrorCode.NOT_COORDINATOR


def test_a_partition_led_elsewhere_is_not_coordinated_here(world: World) -> None:
    world.shards.lead((HERE + 1) % 4, 0, MemoryLog())
    assert world.ask(Step(reply="x")) is ErrorCode.NOT_COORDINATOR


def test_a_led_partition_serves_until_it_is_resigned(world: World) -> None:
    log = MemoryLog()
    world.shards.lead(HERE, 0, log)
    assert world.ask(Step(records=("a=1",), reply="x")) == "x"
    world.shards.resign(HERE)
    assert world.ask(Step(reply="x")) is ErrorCode.NOT_COORDINATOR
    world.shards.lead(HERE, 1, log)
    assert world.machines[-1].applied == ["a=1"]
    assert world.watched == [(HERE, []), (HERE, ["a=1"]), (HERE, [])]


def test_leading_again_in_the_same_epoch_changes_nothing(world: World) -> None:
    log = MemoryLog()
    world.shards.lead(HERE, 3, log)
    world.shards.lead(HERE, 3, log)
    assert len(world.machines) == 1
    world.shards.lead(HERE, 4, log)
    assert len(world.machines) == 2


def test_a_lost_append_without_lost_leadership_reloads(world: World) -> None:
    log = MemoryLog(commits_at_once=False)
    world.shards.lead(HERE, 0, log)
    answers: list[Any] = []
    world.shards.submit("g", Step(records=("a=1",), reply="x"), answers.append)
    log.lose(ErrorCode.KAFKA_STORAGE_ERROR)
    assert world.ask(Step(reply="x")) is ErrorCode.NOT_COORDINATOR
    world.clock.advance(RELOAD_AFTER_MS)
    log.commit()
    assert world.ask(Step(reply="x")) == "x"
    assert len(world.machines) == 2


def test_a_log_that_cannot_be_read_now_is_read_again(world: World) -> None:
    log = MemoryLog()
    world.shards.lead(HERE, 0, log)
    world.ask(Step(records=("a=1",), reply="x"))
    log.unreadable = ErrorCode.KAFKA_STORAGE_ERROR
    world.shards.lead(HERE, 1, log)
    assert world.ask(Step(reply="x")) is ErrorCode.NOT_COORDINATOR
    log.unreadable = None
    world.clock.advance(RELOAD_AFTER_MS)
    assert world.ask(Step(reply="x")) == "x"
    assert world.machines[-1].applied == ["a=1"]


def test_resigning_a_broken_shard_stops_its_reload(world: World) -> None:
    log = MemoryLog(commits_at_once=False)
    world.shards.lead(HERE, 0, log)
    world.shards.submit("g", Step(records=("a=1",), reply="x"), lambda _: None)
    log.lose(ErrorCode.KAFKA_STORAGE_ERROR)
    world.shards.resign(HERE)
    world.clock.advance(RELOAD_AFTER_MS)
    assert len(world.machines) == 1


def test_an_unreadable_log_is_a_failure_on_record(world: World) -> None:
    log = MemoryLog()
    world.shards.lead(HERE, 0, log)
    world.ask(Step(records=("!bad=1",), reply="x"))
    world.shards.lead(HERE, 1, log)
    assert world.shards.failures == {HERE: "!bad"}
    assert world.ask(Step(reply="x")) is ErrorCode.NOT_COORDINATOR


def test_news_reach_every_shard(world: World) -> None:
    for partition in range(3):
        world.shards.lead(partition, 0, MemoryLog())
    world.shards.tell(Step(notes=("topics changed",)))
    assert [machine.applied for machine in world.machines] == [["topics changed"]] * 3
    world.shards.close()
    assert list(world.shards.active_shards()) == []


def test_one_question_to_all_is_answered_when_all_have(world: World) -> None:
    logs = [MemoryLog(commits_at_once=False) for _ in range(2)]
    for partition, log in enumerate(logs):
        world.shards.lead(partition, 0, log)
    answers: list[Any] = []
    world.shards.ask_all(Step(records=("a=1",), reply="x"), answers.append)
    logs[1].commit()
    assert answers == []
    logs[0].commit()
    assert answers == [["x", "x"]]


def test_nobody_led_is_nobody_to_ask(world: World) -> None:
    answers: list[Any] = []
    world.shards.ask_all(Step(reply="x"), answers.append)
    assert answers == [[]]


def test_who_waits_for_a_shard_hears_when_it_answers(world: World) -> None:
    heard: list[str] = []
    world.shards.when_active(HERE, lambda: heard.append("once it is loaded"))
    assert not heard
    world.shards.lead(HERE, 1, MemoryLog())
    world.clock.advance(0)
    assert heard == ["once it is loaded"]
    assert world.shards.is_active(HERE)
    world.shards.when_active(HERE, lambda: heard.append("at once"))
    assert heard[1:] == ["at once"]
    world.shards.resign(HERE)
    assert not world.shards.is_active(HERE)
