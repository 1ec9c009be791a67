"""The order of things: decide, append, apply, commit, answer."""

from collections.abc import Callable
from typing import Any

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.topics.changes import CreateTopics, NewTopic, TopicCreated
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
)
from kafkapy.kraft.storage.bootstrap import default_bootstrap
from tests.kraft.controller.fakes import Cluster


def _create(*names: str) -> CreateTopics:
    return CreateTopics(tuple(NewTopic(name) for name in names))


def test_a_new_cluster_begins_with_its_features_in_one_transaction() -> None:
    cluster = Cluster()
    first, *_, last = cluster.log.records
    assert first == BeginTransactionRecord(name="Bootstrap records")
    assert last == EndTransactionRecord()
    assert cluster.image.metadata_version == 30
    assert cluster.image.configs(4, "") == {"min.insync.replicas": "1"}


def test_a_cluster_that_has_begun_does_not_begin_again() -> None:
    cluster = Cluster()
    before = list(cluster.log.records)
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), default_bootstrap())
    assert cluster.log.records == before


def test_a_transaction_that_a_former_leader_left_open_is_aborted() -> None:
    cluster = Cluster(brokers=1)
    cluster.controller.resign()
    cluster.log.records += [
        BeginTransactionRecord(name="large"),
        FeatureLevelRecord(name="group.version", feature_level=0),
    ]
    cluster.log.committed = len(cluster.log.records)
    cluster.controller.lead(cluster.log.image(), ())
    assert cluster.log.records[-1] == AbortTransactionRecord(reason="Controller failover")
    assert cluster.image.features["group.version"] == 1


def test_an_answer_waits_for_the_commit_of_its_records() -> None:
    cluster = Cluster(brokers=1)
    cluster.log.holds_back = True
    outcomes: list[Any] = []
    cluster.controller.submit(_create("t"), outcomes.append)
    assert outcomes == []
    assert "t" in cluster.image.topics_by_name, "the next decision sees it already"
    cluster.log.commit()
    assert isinstance(outcomes[0]["t"], TopicCreated)


def test_an_answer_without_records_waits_for_what_it_was_based_on() -> None:
    cluster = Cluster(brokers=1)
    cluster.log.holds_back = True
    outcomes: list[Any] = []
    cluster.controller.submit(_create("t"), outcomes.append)
    cluster.controller.submit(_create("t"), outcomes.append)
    assert outcomes == []
    cluster.log.commit()
    assert isinstance(outcomes[0]["t"], TopicCreated)
    assert outcomes[1]["t"].code is ErrorCode.TOPIC_ALREADY_EXISTS


def test_answers_leave_in_the_order_of_the_events() -> None:
    cluster = Cluster(brokers=1)
    cluster.log.holds_back = True
    order: list[str] = []

    def noting(name: str) -> Callable[[object], None]:
        return lambda _: order.append(name)

    for name in "abc":
        cluster.controller.submit(_create(name), noting(name))
    cluster.log.commit(2)
    assert order == ["a", "b"]
    cluster.log.commit()
    assert order == ["a", "b", "c"]


def test_a_failed_append_drops_everything_that_was_not_committed() -> None:
    cluster = Cluster(brokers=1)
    cluster.log.holds_back = True
    outcomes: list[Any] = []
    cluster.controller.submit(_create("a"), outcomes.append)
    cluster.controller.submit(_create("a"), outcomes.append)
    cluster.log.fail()
    assert [one.code for one in outcomes] == [ErrorCode.NOT_CONTROLLER] * 2
    assert not cluster.controller.is_active
    assert cluster.image.topics_by_name == {}


def test_a_log_that_does_not_lead_any_more_refuses_at_once() -> None:
    cluster = Cluster(brokers=1)
    cluster.log.leads = False
    assert cluster.refusal(_create("t")) is ErrorCode.NOT_CONTROLLER
    assert not cluster.controller.is_active


def test_a_leadership_that_ends_with_its_first_record_leaves_nothing_behind() -> None:
    cluster = Cluster()
    cluster.controller.resign()
    cluster.log.leads = False
    cluster.controller.lead(MetadataImage(), default_bootstrap())
    assert cluster.refusal(_create("t")) is ErrorCode.NOT_CONTROLLER
    assert cluster.clock.pending == 0
    cluster.log.leads = True
    cluster.controller.lead(cluster.log.image(), ())
    assert cluster.controller.is_active


def test_a_controller_that_does_not_lead_answers_so() -> None:
    cluster = Cluster(brokers=1)
    cluster.controller.resign()
    assert cluster.refusal(_create("t")) is ErrorCode.NOT_CONTROLLER


def test_a_commit_of_a_former_term_says_nothing_in_the_next() -> None:
    cluster = Cluster(brokers=1)
    cluster.log.holds_back = True
    outcomes: list[Any] = []
    cluster.controller.submit(_create("old"), outcomes.append)
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), ())
    cluster.controller.submit(_create("new"), outcomes.append)
    cluster.log.commit()
    assert isinstance(outcomes[0], Refused)
    assert list(outcomes[1]) == ["new"]


def test_who_is_answered_may_ask_again_at_once() -> None:
    cluster = Cluster(brokers=1)
    outcomes: list[Any] = []

    def again(outcome: Any) -> None:
        outcomes.append(outcome)
        if len(outcomes) < 5:
            cluster.controller.submit(_create(f"t{len(outcomes)}"), again)

    cluster.controller.submit(_create("t0"), again)
    assert sorted(cluster.image.topics_by_name) == ["t0", "t1", "t2", "t3", "t4"]


def test_resigning_stops_the_timers() -> None:
    cluster = Cluster(brokers=1)
    cluster.controller.resign()
    before = list(cluster.log.records)
    cluster.clock.advance(3_600_000)
    assert cluster.log.records == before


def test_a_new_leader_gives_every_broker_a_whole_session() -> None:
    cluster = Cluster(brokers=2)
    cluster.wait(5_000)
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), ())
    cluster.clock.advance(8_999)
    assert not cluster.image.brokers[1].fenced
    cluster.clock.advance(1)
    assert cluster.image.brokers[1].fenced
    assert cluster.image.brokers[2].fenced


def test_an_idle_controller_writes_noops_so_that_offsets_move() -> None:
    cluster = Cluster(max_idle_interval_ms=500)
    before = len(cluster.log.records)
    cluster.clock.advance(1_600)
    assert cluster.log.records[before:] == [NoOpRecord()] * 3


def test_noops_wait_until_the_controller_is_idle() -> None:
    cluster = Cluster(brokers=1, max_idle_interval_ms=500)
    before = len(cluster.log.records)
    for number in range(4):
        cluster.clock.advance(400)
        cluster.ask(_create(f"t{number}"))
    assert NoOpRecord() not in cluster.log.records[before:]


def test_what_is_replayed_is_what_was_decided() -> None:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2, 3), (2, 3, 1))
    cluster.fence(2)
    replayed = MetadataImage()
    for record in cluster.log.records:
        replayed.apply(record)
    assert replayed.topics_by_id == cluster.image.topics_by_id
    assert replayed.brokers == cluster.image.brokers
