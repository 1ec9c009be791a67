from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from uuid import UUID

import pytest
from kio.schema.metadata.v12.request import MetadataRequest

from kafkapy.protocol.schemas.schema import (
    STRUCT,
    array,
    boolean,
    byte_string,
    float64,
    int8,
    int16,
    int32,
    int64,
    milliseconds,
    plan,
    string,
    struct,
    uint16,
    uint32,
    uuid,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    host: str = string()
    port: int = uint16()
    rack: str | None = string(since=1, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    __flexible_since__: ClassVar[int] = 1

    small: int = int8()
    short: int = int16()
    plain: int = int32(default=-1)
    long: int = int64(until=1)
    positive: int = uint32(since=2)
    is_true: bool = boolean()
    share: float = float64(since=3)
    topic_id: UUID | None = uuid()
    note: str | None = string(since=1, tag=1, default=None)
    data: bytes = byte_string(since=1, tag=0)
    ids: tuple[UUID | None, ...] = array("uuid", since=1)
    words: tuple[str, ...] | None = array("string", nullable_since=2)
    endpoints: tuple[Endpoint, ...] = array(Endpoint)
    leader: Endpoint | None = struct(since=2, tag=2)


def names(version: int) -> list[str]:
    made = plan(Everything, version)
    return [part.name for part in (*made.untagged, *made.tagged)]


def test_fields_come_and_go_with_versions() -> None:
    assert "long" in names(1)
    assert "long" not in names(2)
    assert "positive" not in names(1)
    assert "positive" in names(2)
    assert plan(Everything, 0).absent["share"] == 0.0
    assert plan(Everything, 0).absent["leader"] is None
    assert plan(Everything, 2).absent["long"] == 0


def test_tagged_fields_come_last_in_the_order_of_their_tags() -> None:
    assert [part.name for part in plan(Everything, 2).tagged] == ["data", "note", "leader"]


def test_what_may_be_null_is_in_the_annotation_and_may_depend_on_the_version() -> None:
    def nullable(version: int) -> set[str]:
        made = plan(Everything, version)
        return {part.name for part in (*made.untagged, *made.tagged) if part.nullable}

    assert nullable(3) == {"topic_id", "note", "words", "leader"}
    assert nullable(1) == {"topic_id", "note"}


def test_nested_structs_share_version_and_flexibility_with_the_message() -> None:
    (endpoints,) = (part for part in plan(Everything, 0).untagged if part.name == "endpoints")
    assert endpoints.kind == STRUCT
    assert endpoints.is_array
    assert endpoints.struct is not None
    assert endpoints.struct.path == ("endpoints",)
    assert not endpoints.struct.flexible
    assert [part.name for part in endpoints.struct.untagged] == ["host", "port"]


def test_fields_without_a_default_must_be_given_and_younger_ones_need_not() -> None:
    with pytest.raises(TypeError, match="port"):
        Endpoint(host="a")
    made = Everything(small=1, short=2, long=3, is_true=True, topic_id=None, words=(), endpoints=())
    assert (made.plain, made.positive, made.data, made.ids, made.leader) == (-1, 0, b"", (), None)


def test_a_default_of_none_where_null_is_not_allowed_is_a_mistake() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Wrong:
        leader: Endpoint = struct(tag=0)

    with pytest.raises(AssertionError, match="leader is not nullable"):
        plan(Wrong, 0)


def test_a_tag_in_a_version_that_is_not_flexible_is_a_mistake() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Wrong:
        __flexible_since__: ClassVar[int] = 1
        epoch: int = int32(tag=0)

    plan(Wrong, 1)
    with pytest.raises(AssertionError, match=r"Wrong\.epoch"):
        plan(Wrong, 0)


def test_schemas_of_kio_are_understood() -> None:
    made = plan(MetadataRequest, 12)
    assert made.flexible
    topics = made.untagged[0]
    assert (topics.name, topics.is_array, topics.nullable) == ("topics", True, True)
    assert topics.struct is not None
    assert [part.name for part in topics.struct.untagged] == ["topic_id", "name"]


def test_milliseconds() -> None:
    assert milliseconds(5) == 5
    assert milliseconds(None) == -1
    assert milliseconds(timedelta(days=-1, milliseconds=3)) == -86_399_997
    assert milliseconds(datetime(2026, 1, 1, microsecond=7000, tzinfo=UTC)) == 1_767_225_600_007
