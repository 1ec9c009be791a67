"""What every way to the controller keeps, in the process or over the wire (links.KITS)."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.broker.controller.questions import QUESTIONS
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat
from kafkapy.kraft.controller.brokers.registration import RegisterController
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, ReplicaDirectory
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds
from kafkapy.kraft.controller.topics.changes import CreateTopics, NewTopic, TopicCreated
from kafkapy.protocol.api_keys import ApiKey
from tests.broker.controller.links import KITS, LinkKit, forwarded
from tests.kraft.controller.fakes import FEATURES, directory_of


@pytest.fixture(params=KITS, ids=lambda kit: kit.__name__)
def kit(request: pytest.FixtureRequest) -> LinkKit:
    made: LinkKit = request.param()
    return made


def ask(kit: LinkKit, question: Callable[..., None], event: Any) -> Any:
    """The answer, which comes exactly once."""
    answers: list[Any] = []
    question(event, answers.append)
    kit.settle()
    assert len(answers) == 1, answers
    return answers[0]


def joined(kit: LinkKit) -> int:
    """Broker 1 is registered and unfenced; its epoch."""
    epoch: int = ask(kit, kit.link.register, kit.cluster.registration(1)).epoch
    beat = BrokerHeartbeat(1, epoch, kit.cluster.log.next_offset - 1, wants_fence=False)
    assert not ask(kit, kit.link.beat, beat).is_fenced
    return epoch


def create(kit: LinkKit, name: str) -> TopicCreated:
    made = ask(kit, kit.link.create_topics, CreateTopics((NewTopic(name, 1, 1),)))[name]
    assert isinstance(made, TopicCreated), made
    return made


def test_a_broker_registers_and_beats_until_it_may_serve(kit: LinkKit) -> None:
    registered = ask(kit, kit.link.register, kit.cluster.registration(1))
    assert registered.epoch == kit.cluster.image.brokers[1].epoch
    beat = BrokerHeartbeat(1, registered.epoch, registered.epoch, wants_fence=False)
    reply = ask(kit, kit.link.beat, beat)
    assert (reply.is_caught_up, reply.is_fenced, reply.should_shut_down) == (True, False, False)


def test_a_controller_registers(kit: LinkKit) -> None:
    event = RegisterController(1, kit.cluster.rng.uuid(), (), FEATURES)
    assert not isinstance(ask(kit, kit.link.register_controller, event), Refused)
    assert 1 in kit.cluster.image.controllers


def test_a_refusal_says_which(kit: LinkKit) -> None:
    joined(kit)
    late = BrokerHeartbeat(1, 0, 0, wants_fence=False)
    assert ask(kit, kit.link.beat, late).code is ErrorCode.STALE_BROKER_EPOCH


def test_producer_ids_come_in_blocks_that_nobody_else_gets(kit: LinkKit) -> None:
    event = AllocateProducerIds(1, joined(kit))
    first = ask(kit, kit.link.allocate_producer_ids, event)
    second = ask(kit, kit.link.allocate_producer_ids, event)
    assert second.first == first.first + first.count


def test_directories_and_isrs_are_told_partition_by_partition(kit: LinkKit) -> None:
    epoch = joined(kit)
    topic = create(kit, "t")
    event = AssignReplicas(1, epoch, (ReplicaDirectory(directory_of(1), topic.topic_id, 0),))
    assert ask(kit, kit.link.assign_directories, event) == (None,)
    state = kit.cluster.image.topics_by_id[topic.topic_id].partitions[0]
    known = (state.leader_epoch, state.partition_epoch)
    there = NewIsr(topic.topic_id, 0, *known, isr=((1, epoch),))
    gone = NewIsr(topic.topic_id, 7, *known, isr=((1, epoch),))
    is_there, is_gone = ask(kit, kit.link.alter_partition, AlterPartition(1, epoch, (there, gone)))
    assert is_there.isr == (1,)
    assert is_gone.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_are_created_or_refused_one_by_one(kit: LinkKit) -> None:
    joined(kit)
    create(kit, "t")
    event = CreateTopics((NewTopic("t", 1, 1), NewTopic("u", 1, 1)))
    answer = ask(kit, kit.link.create_topics, event)
    assert answer["t"].code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert isinstance(answer["u"], TopicCreated)


def test_a_controller_of_another_kind_is_given_time_to_create_a_topic() -> None:
    """Apache Kafka's refuses with REQUEST_TIMED_OUT what has waited in its queue for longer than
    the request says: with 0, all of it while anything else is done."""
    asked = QUESTIONS[CreateTopics].fields(CreateTopics((NewTopic("t", 1, 1),)))
    assert asked["timeout"] >= 1000


def test_an_answer_waits_for_the_commit(kit: LinkKit) -> None:
    joined(kit)
    kit.cluster.log.holds_back = True
    answers: list[Any] = []
    kit.link.create_topics(CreateTopics((NewTopic("t", 1, 1),)), answers.append)
    kit.settle()
    assert not answers
    kit.cluster.log.commit()
    kit.settle()
    assert isinstance(answers[0]["t"], TopicCreated)


def test_whoever_waits_when_the_controller_resigns_hears_that_it_is_none(kit: LinkKit) -> None:
    event = AllocateProducerIds(1, joined(kit))
    kit.cluster.log.holds_back = True
    answers: list[Any] = []
    kit.link.allocate_producer_ids(event, answers.append)
    kit.settle()
    kit.lose()
    kit.settle()
    assert [one.code for one in answers] == [ErrorCode.NOT_CONTROLLER]
    assert ask(kit, kit.link.allocate_producer_ids, event).code is ErrorCode.NOT_CONTROLLER


def test_who_waits_for_a_controller_is_told_once_there_is_one(kit: LinkKit) -> None:
    told: list[str] = []
    kit.link.when_active(lambda: told.append("at once"))
    kit.settle()
    assert told == ["at once"]
    kit.lose()
    kit.link.when_active(lambda: told.append("the next"))
    kit.settle()
    assert told == ["at once"]
    for _ in range(2):
        kit.win()
        kit.settle()
        assert told == ["at once", "the next"]
        kit.lose()


def test_a_clients_request_is_forwarded_and_answered_as_it_came(kit: LinkKit) -> None:
    joined(kit)
    answer = forwarded(kit, ApiKey.UNREGISTER_BROKER, 0, {"broker_id": 1})
    assert answer.error_code == ErrorCode.NONE
    assert 1 not in kit.cluster.image.brokers
    answer = forwarded(kit, ApiKey.UNREGISTER_BROKER, 0, {"broker_id": 1})
    assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    kit.lose()
    answer = forwarded(kit, ApiKey.UNREGISTER_BROKER, 0, {"broker_id": 1})
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
