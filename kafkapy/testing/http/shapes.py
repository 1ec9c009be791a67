"""What goes over HTTP as JSON, and what comes in.

Keys, values and header values are bytes: text where they are UTF-8 (`value`), base64 where
they are not (`value_base64`). Both ways.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from kafkapy.core.ids import TopicPartition
from kafkapy.testing.asking.groups import Group, Member
from kafkapy.testing.asking.reading import Record
from kafkapy.testing.gate.faults import Fault
from kafkapy.testing.gate.requests import Request

Json = dict[str, Any]


class BadRequest(Exception):
    """What the asker got wrong, in a sentence."""


def record(one: Record) -> Json:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "offset": one.offset,
        "timestamp": one.timestamp,
        **_data("key", one.key),
        **_data("value", one.value),
        "headers": [{"name": name, **_data("value", value)} for name, value in one.headers],
        "transaction": one.transaction,
        "producer_id": one.producer_id,
        "is_visible": one.is_visible,
    }


def group(one: Group) -> Json:
    members = [member(each) for each in one.members]
    return {"group": one.group_id, "state": one.state, "kind": one.kind, "members": members}


def member(one: Member) -> Json:
    return {
        "member_id": one.member_id,
        "client_id": one.client_id,
        "partitions": [partition(each) for each in sorted(one.partitions)],
    }


def partition(one: TopicPartition) -> Json:
    return {"topic": one.topic, "partition": one.partition}


def request(one: Request) -> Json:
    return one._asdict()


def fault(number: int, one: Fault) -> Json:
    return {"id": number, "rule": str(one), "fired": one.fired}


def data_from(given: Mapping[str, Any], name: str) -> bytes | None:
    """The bytes called `name`, given as text or as base64."""
    encoded = given.get(f"{name}_base64")
    if encoded is None:
        text = given.get(name)
        return None if text is None else str(text).encode()
    if given.get(name) is not None:
        raise BadRequest(f"give {name} or {name}_base64, not both")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as bad:
        raise BadRequest(f"{name}_base64: {bad}") from None


def headers_from(given: Any) -> list[tuple[str, bytes | None]]:
    """{"name": "text"}, or [{"name": ..., "value": ... or "value_base64": ...}]."""
    if isinstance(given, dict):
        given = [{"name": name, "value": value} for name, value in given.items()]
    if not isinstance(given, list) or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in given
    ):
        raise BadRequest('headers: expected {"name": "text"} or [{"name": ..., "value": ...}]')
    return [(one["name"], data_from(one, "value")) for one in given]


def _data(name: str, value: bytes | None) -> Json:
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value).decode()}
