"""A record of v3, and what is told of it once it is written.

    {"partition_id": 1, "headers": [{"name": "h", "value": "<base64>"}], "timestamp": "…Z",
     "key": {"type": "BINARY", "data": "<base64>"}, "value": {"type": "JSON", "data": {…}}}

Of a schema: `schema_id`, or `schema_version` and `subject`, or a `type` and the `schema` itself;
with nothing but `data` it is the topic's latest.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from kafkapy.http.confluent.errors import refusal_of, told
from kafkapy.http.confluent.writing import Done, number_of_partition
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.values import from_base64

_FIELDS: Final = frozenset(("id", "partition_id", "headers", "key", "value", "timestamp"))
_PLAIN: Final = ("BINARY", "JSON", "STRING")
_SCHEMA_TYPES: Final = {"AVRO": "AVRO", "JSONSCHEMA": "JSON", "PROTOBUF": "PROTOBUF"}
_OF_SCHEMA: Final = ("schema", "schema_id", "schema_version", "subject", "subject_name_strategy")


def message_of(record: Any) -> dict[str, Any]:
    """As /api/v1 has it (rest/messages.py)."""
    if not isinstance(record, Mapping) or not record.keys() <= _FIELDS:
        raise Problem(400, f"a record is an object of {', '.join(sorted(_FIELDS))}")
    message: dict[str, Any] = {}
    for part in ("key", "value"):
        if record.get(part) is not None:
            message |= _part(part, record[part])
    headers = record.get("headers")
    if headers is not None:
        if not isinstance(headers, list) or not all(isinstance(one, Mapping) for one in headers):
            raise Problem(400, "headers are a list of objects with a name and a value")
        message["headers"] = [
            {"name": one.get("name"), "valueBase64": one.get("value")} for one in headers
        ]
    message["partition"] = number_of_partition(record.get("partition_id"))
    if record.get("timestamp") is not None:
        message["timestamp"] = _milliseconds(record["timestamp"])
    return message


def _part(part: str, said: Any) -> dict[str, Any]:
    if not isinstance(said, Mapping):
        raise Problem(400, f"{part} is an object with data")
    data, kind = said.get("data"), said.get("type")
    if kind in _PLAIN:
        if any(said.get(name) is not None for name in _OF_SCHEMA):
            raise Problem(400, f"{part}: {kind} has no schema")
        return {part: _plain(part, kind, data)}
    if kind is not None and kind not in _SCHEMA_TYPES:
        raise Problem(400, f"{part}: type is one of {', '.join((*_PLAIN, *_SCHEMA_TYPES))}")
    return {part: data, f"{part}Schema": _schema(part, kind, said)}


def _plain(part: str, kind: str, data: Any) -> bytes | None:
    if data is None:
        return None
    if kind == "JSON":
        return json.dumps(data, separators=(",", ":")).encode()
    if not isinstance(data, str):
        raise Problem(400, f"{part}: {kind} is a text")
    return data.encode() if kind == "STRING" else from_base64(data, part)


def _schema(part: str, kind: str | None, said: Mapping[str, Any]) -> dict[str, Any]:
    if said.get("subject_name_strategy", "TOPIC_NAME") != "TOPIC_NAME" and "subject" not in said:
        raise Problem(400, f"{part}: of another subject_name_strategy the subject has to be named")
    chosen: dict[str, Any] = {}
    if said.get("subject") is not None:
        chosen["subject"] = said["subject"]
    if said.get("schema_id") is not None:
        chosen["id"] = said["schema_id"]
    elif said.get("schema_version") is not None:
        chosen["version"] = said["schema_version"]
    elif said.get("schema") is not None:
        if kind is None:
            raise Problem(400, f"{part}: a schema has a type")
        chosen |= {"schema": said["schema"], "schemaType": _SCHEMA_TYPES[kind]}
    return chosen


def row_of(
    cluster_id: str, topic: str, record: Mapping[str, Any], done: Done | KafkaError
) -> dict[str, Any]:
    """What is answered of one record."""
    if isinstance(done, KafkaError):
        return told(refusal_of(done, is_v3=True))
    row: dict[str, Any] = {
        "error_code": 200,
        "cluster_id": cluster_id,
        "topic_name": topic,
        "partition_id": done.partition,
        "offset": done.offset,
        "timestamp": _moment(done.timestamp),
    }
    for part, data in (("key", done.draft.record.key), ("value", done.draft.record.value)):
        if data is not None:
            said = record.get(part)
            kind = said.get("type") if isinstance(said, Mapping) else None
            row[part] = {"type": kind, "size": len(data)}
    return row


def _milliseconds(said: Any) -> int:
    try:
        moment = datetime.fromisoformat(said)
    except (ValueError, TypeError):
        raise Problem(400, "timestamp is a moment as ISO 8601 writes it") from None
    if moment.tzinfo is None:
        raise Problem(400, "timestamp has a zone")
    return int(moment.timestamp() * 1000)


def _moment(milliseconds: int) -> str:
    found = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"
