"""A request about many topics is decided some at a time, and answered as if it were at once."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions import parts, sweeps
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, ReplicaDirectory
from kafkapy.kraft.controller.partitions.reassignments import AlterReassignments, Reassignment
from kafkapy.kraft.controller.topics.changes import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    NewTopic,
    TopicCreated,
)
from tests.kraft.controller.fakes import Cluster, directory_of

NAMES = tuple(f"t{number}" for number in range(5))


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "SLICE", 4)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(brokers=3)


def batches(cluster: Cluster, since: int) -> list[int]:
    """How many records each of them has."""
    ends = [end for end in cluster.log.ends if end > since]
    return [end - begin for begin, end in zip([since, *ends], ends, strict=False)]


def codes(reply: Any) -> dict[Any, ErrorCode | None]:
    return {
        about: verdict.code if isinstance(verdict, Refused) else None
        for about, verdict in reply.items()
    }


def made(cluster: Cluster, *topics: NewTopic, **named: Any) -> Any:
    return cluster.ask_in_time(CreateTopics(topics, **named))


def test_topics_are_made_some_at_a_time_and_never_in_pieces(cluster: Cluster) -> None:
    before = cluster.log.next_offset
    sizes = (2, 2, 3, 9, 1)
    reply = made(cluster, *(NewTopic(*one, 3) for one in zip(NAMES, sizes, strict=True)))
    assert [reply[name].partitions for name in NAMES] == list(sizes)
    assert batches(cluster, before) == [6, 4, 10, 2]
    found = cluster.image.topics_by_name
    assert [len(found[name].partitions) for name in NAMES] == list(sizes)


def test_others_are_served_in_between(cluster: Cluster) -> None:
    outcomes: list[Any] = []
    cluster.controller.submit(
        CreateTopics(tuple(NewTopic(name, 4, 1) for name in NAMES)), outcomes.append
    )
    cluster.create(NAMES[3], (1,))
    assert outcomes == []
    cluster.clock.advance(0)
    assert codes(outcomes[0]) == {
        **dict.fromkeys(NAMES),
        NAMES[3]: ErrorCode.TOPIC_ALREADY_EXISTS,
    }


def test_names_are_judged_as_one_request(cluster: Cluster) -> None:
    """Two that look alike may come in one request, as at Apache Kafka; one that is there, or the
    same one twice, may not, in whatever part it is."""
    cluster.create("old.one", (1,))
    names = ("a.b", "t1", "t2", "a_b", "old_one", "old.one", "t1", "..")
    reply = made(cluster, *(NewTopic(name, 2, 1) for name in names))
    assert codes(reply) == {
        "a.b": None,
        "a_b": None,
        "t2": None,
        "t1": ErrorCode.INVALID_REQUEST,
        "old_one": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "old.one": ErrorCode.TOPIC_ALREADY_EXISTS,
        "..": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


def test_what_is_only_validated_is_not_made(cluster: Cluster) -> None:
    before = cluster.log.next_offset
    reply = made(cluster, *(NewTopic(name, 3, 3) for name in NAMES), validate_only=True)
    assert all(isinstance(reply[name], TopicCreated) for name in NAMES)
    assert cluster.log.next_offset == before


def test_too_many_are_refused_before_any_is_made(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 10_000
    before = cluster.log.next_offset
    event = CreateTopics(tuple(NewTopic(name, limit // 5 + 1, 1) for name in NAMES))
    assert cluster.refusal(event) is ErrorCode.POLICY_VIOLATION
    cluster.create("t", (1,), (1,))
    for count in (limit + 3, 2**31 - 1):  # as many as could never be thought of
        more = CreatePartitions((MorePartitions("t", count),))
        assert cluster.refusal(more) is ErrorCode.POLICY_VIOLATION
    assert cluster.log.next_offset == before + 3


def test_who_resigns_meanwhile_refuses_the_whole_request(cluster: Cluster) -> None:
    outcomes: list[Any] = []
    cluster.controller.submit(
        CreateTopics(tuple(NewTopic(name, 4, 1) for name in NAMES)), outcomes.append
    )
    cluster.controller.resign()
    cluster.clock.advance(0)
    (refused,) = outcomes
    assert refused.code is ErrorCode.NOT_CONTROLLER


def test_topics_go_and_grow_some_at_a_time(cluster: Cluster) -> None:
    ids = [cluster.create(name, (1, 2), (2, 3)) for name in NAMES]
    before = cluster.log.next_offset
    wanted = tuple(MorePartitions(name, 5) for name in (*NAMES, "unknown"))
    assert codes(cluster.ask_in_time(CreatePartitions(wanted))) == {
        **dict.fromkeys(NAMES),
        "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert batches(cluster, before) == [3] * 5
    before = cluster.log.next_offset
    reply = cluster.ask_in_time(DeleteTopics((*ids, ids[0])))
    assert reply == dict.fromkeys(ids)
    assert batches(cluster, before) == [1] * 5
    assert not cluster.image.topics_by_name


def test_a_topic_goes_with_its_views_in_whatever_order_they_are_named(cluster: Cluster) -> None:
    views = {"kafkapy.view.of": "t", "kafkapy.view.where": "true"}
    for name in ("t", "other"):
        cluster.create(name, *[(1, 2)] * 4)
    view = NewTopic("v", configs=tuple(views.items()))
    assert isinstance(made(cluster, view)["v"], TopicCreated)
    topics = cluster.image.topics_by_name
    wanted = tuple(topics[name].id for name in ("t", "other", "v"))
    reply = cluster.ask_in_time(DeleteTopics(wanted))
    assert set(reply.values()) == {None}
    assert not cluster.image.topics_by_name


def test_partitions_are_reassigned_some_at_a_time(cluster: Cluster) -> None:
    cluster.create("t", *[(1, 2)] * 9)
    before = cluster.log.next_offset
    where = [TopicPartition("t", index) for index in range(10)]
    reply = cluster.ask_in_time(
        AlterReassignments(tuple(Reassignment(one, (1, 3)) for one in where))
    )
    assert codes(reply) == {
        **dict.fromkeys(where[:9]),
        where[9]: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert batches(cluster, before) == [4, 4, 1]
    assert all(cluster.partition("t", index).is_reassigning for index in range(9))


def test_directories_are_noted_some_at_a_time(cluster: Cluster) -> None:
    kept = directory_of(1, 1)
    incarnation = cluster.image.brokers[1].incarnation_id
    cluster.register(1, log_dirs=(directory_of(1), kept), incarnation_id=incarnation)
    cluster.unfence(1)
    topic_id = cluster.create("t", *[(1, 2)] * 9)
    before = cluster.log.next_offset
    replicas = tuple(ReplicaDirectory(kept, topic_id, index) for index in range(10))
    epoch = cluster.image.brokers[1].epoch
    reply = cluster.ask_in_time(AssignReplicas(1, epoch, replicas))
    assert [None if one is None else one.code for one in reply] == [
        *[None] * 9,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert batches(cluster, before) == [4, 4, 1]
    assert {cluster.partition("t", index).directory(1) for index in range(9)} == {kept}


def test_few_are_no_parts(cluster: Cluster) -> None:
    few = CreateTopics((NewTopic("t", 4, 1),))
    machine = cluster.controller._machine
    assert machine is not None
    assert parts.parts_of(few, machine.state) is None
