"""Fetches of a view: when they are answered, what they cost, what is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.expressions import Expression
from kafkapy.hooks.guarded import HookFailed
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import (
    NewRecord,
    Record,
    batches,
    build_batch,
    read_header,
    records,
)
from tests.broker.views.reading import WAITS_MS, Views

WHERE = "value like 'yes*'"
SOON_MS = 20  # a turn or two, and much less than any fetch waits


@pytest.fixture
def views() -> Iterator[Views]:
    views = Views(WHERE)
    yield views
    views.world.stop()


def values(row: Any) -> list[bytes | None]:
    data = row.records or b""
    return [
        record.value
        for at, header in batches(data)
        for record in records(data[at : at + header.size])
    ]


def waiting(views: Views, offset: int, **more: Any) -> Any:
    fields: dict[str, Any] = {"topic": "shown", "index": 0, "isolation": 0, "max_bytes": 1 << 20}
    body = Views.body(**fields | {"offset": offset, "max_wait": WAITS_MS} | more)
    return views.world.send(ApiKey.FETCH, body, version=12)


def answered(pending: Any) -> list[bytes | None]:
    assert pending.is_answered
    return values(Views.rows(pending.answer)[0])


def test_a_fetch_waits_until_there_is_something_to_show(views: Views) -> None:
    fetch = waiting(views, 0)
    views.append(b"no", b"no")
    views.append(b"no")
    views.world.clock.advance(SOON_MS)
    assert not fetch.is_answered
    views.append(b"no", b"yes")
    views.world.clock.advance(SOON_MS)
    assert answered(fetch) == [b"yes"]


def test_whose_time_is_up_is_told_how_far_there_was_nothing(views: Views) -> None:
    for _ in range(5):
        views.append(b"no", b"no")
    row = views.fetch("shown", 3)
    header = read_header(row.records)
    assert (header.record_count, header.next_offset) == (0, 10)
    assert len(row.records) == header.size
    assert row.high_watermark == 10


def test_it_waits_for_as_many_bytes_of_the_view_as_it_asked_for(views: Views) -> None:
    body = Views.body("shown", 0, 0, 0, WAITS_MS, 1 << 20) | {"min_bytes": 500}
    fetch = views.world.send(ApiKey.FETCH, body, version=12)
    views.append(b"no" * 1_000)
    views.append(b"yes" + b"." * 300)
    views.world.clock.advance(SOON_MS)
    assert not fetch.is_answered
    views.append(b"yes" + b"." * 300)
    views.world.clock.advance(SOON_MS)
    assert len(answered(fetch)) == 2


def test_many_readers_cost_one_evaluation(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    holds = Expression.holds

    def counted(self: Any, record: Any, partition: int, topic: str) -> bool:
        seen.append(record.offset)
        return holds(self, record, partition, topic)

    monkeypatch.setattr(Expression, "holds", counted)
    fetches = [waiting(views, 0) for _ in range(10)]
    views.append(b"no", b"yes", b"no")
    views.world.clock.advance(SOON_MS)
    assert [answered(one) for one in fetches] == [[b"yes"]] * 10
    for start in (0, 1, 2):
        views.fetch("shown", start)
    assert seen == [0, 1, 2]


def test_a_long_stretch_of_nothing_is_worked_through_while_a_fetch_waits(views: Views) -> None:
    for _ in range(100):
        views.append(*[b"no"] * 200)
    views.append(b"yes, at last")
    fetch = waiting(views, 0, max_wait=60_000)
    views.world.clock.advance(SOON_MS)
    assert answered(fetch) == [b"yes, at last"]


def test_what_it_shows_may_change_while_a_fetch_waits(views: Views) -> None:
    views.append(b"no", b"maybe")
    fetch = waiting(views, 0)
    assert not fetch.is_answered
    assert alter(views, "kafkapy.view.where", "value = 'maybe'") == ""
    views.world.clock.advance(SOON_MS)
    assert answered(fetch) == [b"maybe"]
    assert values(views.fetch("shown", 0)) == [b"maybe"]


def test_a_view_that_is_deleted_lets_go_who_waits(views: Views) -> None:
    fetch = waiting(views, 0)
    assert delete(views, "shown") == [""]
    views.world.clock.advance(SOON_MS)
    assert fetch.is_answered
    (row,) = Views.rows(fetch.answer)
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_offsets_and_epochs_are_those_of_the_source(views: Views) -> None:
    views.append(b"no", b"yes", b"no")
    row = views.fetch("shown", 99)
    assert row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    for timestamp, offset in ((-1, 3), (-2, 0), (500, 0)):
        partitions = [
            {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp},
            {"partition_index": 9, "current_leader_epoch": -1, "timestamp": timestamp},
        ]
        body = {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [{"name": "shown", "partitions": partitions}],
        }
        known, unknown = views.world.ask(ApiKey.LIST_OFFSETS, body, version=7).topics[0].partitions
        assert (known.error_code, known.offset) == (0, offset)
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    asked = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}
    body = {"replica_id": -1, "topics": [{"topic": "shown", "partitions": [asked]}]}
    answer = views.world.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, body, version=4)
    assert answer.topics[0].partitions[0].end_offset == 3


def test_metadata_shows_the_partitions_of_the_source(views: Views) -> None:
    body = {"topics": [{"name": "orders", "topic_id": None}, {"name": "shown", "topic_id": None}]}
    orders, shown = views.world.ask(ApiKey.METADATA, body, version=12).topics
    assert shown.partitions == orders.partitions
    assert len(shown.partitions) == 2
    assert shown.topic_id != orders.topic_id
    page = {"topics": [{"name": "shown"}], "response_partition_limit": 100, "cursor": None}
    (row,) = views.world.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, page).topics
    assert [one.leader_id for one in row.partitions] == [orders.partitions[0].leader_id] * 2


def test_nothing_is_written_to_a_view_or_taken_from_it(views: Views) -> None:
    views.append(b"yes")
    rows = {"index": 0, "records": build_batch([NewRecord(b"k", b"yes")])}
    body = {
        "transactional_id": None,
        "acks": -1,
        "timeout": 1_000,
        "topic_data": [{"name": "shown", "partition_data": [rows]}],
    }
    answer = views.world.ask(ApiKey.PRODUCE, body, version=9)
    code = answer.responses[0].partition_responses[0].error_code
    assert code == ErrorCode.INVALID_TOPIC_EXCEPTION
    partitions = [{"partition_index": 0, "offset": 1}]
    body = {"topics": [{"name": "shown", "partitions": partitions}], "timeout": 1_000}
    answer = views.world.ask(ApiKey.DELETE_RECORDS, body)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert views.partition().log.log_start_offset == 0


def test_groups_commit_to_a_view(views: Views) -> None:
    views.append(b"yes")
    partitions = [
        {"partition_index": index, "committed_offset": 1, "committed_metadata": ""}
        for index in (0, 9)
    ]
    body = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "shown", "partitions": partitions}],
    }
    find = {"key_type": 0, "coordinator_keys": ["g"]}
    views.world.ask(ApiKey.FIND_COORDINATOR, find, version=4)  # makes the topic of offsets
    views.world.clock.advance(1_000)
    answer = views.world.ask(ApiKey.OFFSET_COMMIT, body, version=8)
    assert [one.error_code for one in answer.topics[0].partitions] == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    (figure,) = [one for one in views.world.broker.group_lag() if one.committed_offset is not None]
    assert (figure.partition.topic, figure.end_offset) == ("shown", 1)


# --- what may be a view ---

IS_VIEW = {"kafkapy.view.of": "orders", "kafkapy.view.where": "true"}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"kafkapy.view.where": "true"}, "INVALID_CONFIG: kafkapy.view.where needs"),
        ({"kafkapy.view.of": "orders"}, "INVALID_CONFIG: A view needs kafkapy.view.where"),
        (
            IS_VIEW | {"kafkapy.view.of": "gone"},
            "INVALID_CONFIG: kafkapy.view.of: the topic 'gone' does not",
        ),
        (
            IS_VIEW | {"kafkapy.view.of": "shown"},
            "INVALID_CONFIG: kafkapy.view.of: 'shown' is a view itself",
        ),
        (
            IS_VIEW | {"retention.ms": "1"},
            "INVALID_CONFIG: A view stores nothing that retention.ms could act on",
        ),
        (
            {"kafkapy.view.of": "orders", "kafkapy.view.where": "value ="},
            "INVALID_CONFIG: Invalid value value = for configuration kafkapy.view.where: "
            "at character 8: expected a value, found the end",
        ),
    ],
)
def test_what_can_be_no_view_is_refused(views: Views, config: dict[str, str], why: str) -> None:
    assert (views.create("other", config) or "").startswith(why)


def test_a_view_has_as_many_partitions_as_its_source(views: Views) -> None:
    config = {"kafkapy.view.of": "orders", "kafkapy.view.where": "true"}
    why = "INVALID_PARTITIONS: A view has the partitions of its source: 2."
    assert views.create("three", config, partitions=3) == why
    assert views.create("two", config, partitions=2) is None
    more = [{"name": "two", "count": 4, "assignments": None}]
    body = {"topics": more, "timeout": 1_000, "validate_only": False}
    (row,) = views.world.ask(ApiKey.CREATE_PARTITIONS, body).results
    assert row.error_code == ErrorCode.INVALID_PARTITIONS
    body["topics"] = [{"name": "orders", "count": 4, "assignments": None}]
    (row,) = views.world.ask(ApiKey.CREATE_PARTITIONS, body).results
    assert row.error_code == 0
    body = {"topics": [{"name": "two", "topic_id": None}]}
    assert len(views.world.ask(ApiKey.METADATA, body, version=12).topics[0].partitions) == 4


def test_what_it_is_of_never_changes(views: Views) -> None:
    assert "never changes" in alter(views, "kafkapy.view.of", "elsewhere")
    assert "never changes" in alter(views, "kafkapy.view.of", None)
    assert "needs kafkapy.view.where" in alter(views, "kafkapy.view.where", None)
    assert "stores nothing" in alter(views, "retention.ms", "1")
    assert "is a setting of views" in alter(views, "kafkapy.view.where", "true", topic="orders")
    assert "never changes" in alter(views, "kafkapy.view.of", "shown", topic="orders")


def test_a_source_is_not_deleted_before_its_views(views: Views) -> None:
    assert delete(views, "orders") == [
        "Topic 'orders' has views, which have to be deleted first: shown."
    ]
    assert delete(views, "orders", "shown") == ["", ""]


def test_a_view_is_there_after_a_restart(views: Views) -> None:
    views.write([NewRecord(b"k", b"yes", 1_000)])
    views.world.stop()
    views.world.start()
    assert values(views.fetch("shown", 0)) == [b"yes"]


def alter(views: Views, name: str, value: str | None, topic: str = "shown") -> str:
    operation = 1 if value is None else 0
    configs = [{"name": name, "config_operation": operation, "value": value}]
    resource = {"resource_type": 2, "resource_name": topic, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    (row,) = views.world.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body).responses
    return row.error_message or ""


def delete(views: Views, *names: str) -> list[str]:
    body = {"topics": [{"name": one, "topic_id": None} for one in names], "timeout": 1_000}
    answer = views.world.ask(ApiKey.DELETE_TOPICS, body)
    return [row.error_message or "" for row in answer.responses]


class FailsAt:
    """As a hook without an answer for one record; it takes as long as hooks do."""

    cost_us = 10

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.calls = 0

    def holds(self, record: Record, partition: int, topic: str) -> bool:
        self.calls += 1
        if record.offset == self.offset:
            raise HookFailed("no answer")
        return True


@pytest.mark.parametrize("at", [10, 4_000])
def test_who_waits_hears_that_nobody_can_say_what_comes_next(views: Views, at: int) -> None:
    """Also where it takes more than a slice to find out: once, and not again and again until the
    fetch's time is up."""
    views.fetch("shown", 0, max_wait=0)
    (reader,) = views.world.broker.views._readers.values()
    reader.where = asked = FailsAt(at)
    views.write([NewRecord(None, b"value", 1_000)] * 5_000)
    row = views.fetch("shown", 0)
    assert ErrorCode(row.error_code) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert asked.calls == at + 1
    # Who asks again may have more luck.
    asked.offset = -1
    assert len(views.consumed("shown")) == 5_000


def test_who_reads_elsewhere_does_not_hear_of_it(views: Views) -> None:
    views.fetch("shown", 0, max_wait=0)
    (reader,) = views.world.broker.views._readers.values()
    for _ in range(2):
        views.write([NewRecord(None, b"value", 1_000)] * 5_000)
    reader.where = FailsAt(4_000)
    stuck, other = waiting(views, 0), waiting(views, 5_000)
    views.world.clock.advance(WAITS_MS)
    assert ErrorCode(Views.rows(stuck.answer)[0].error_code) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(answered(other)) == 5_000
