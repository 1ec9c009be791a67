"""The embedded formats of v2, which media types name: application/vnd.kafka.{format}.v2+json.

binary: bytes as base64. json: a value's JSON. avro, jsonschema, protobuf: by the schema registry.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.http.confluent.errors import Code, Refusal
from kafkapy.http.rest.values import from_base64

FORMATS: Final = ("binary", "json", "avro", "jsonschema", "protobuf")
BY_SCHEMA: Final[Mapping[str, str]] = {"avro": "AVRO", "jsonschema": "JSON", "protobuf": "PROTOBUF"}
# How a format is read (rest/values.py), and what a value is then told to be.
READINGS: Final = {"binary": "base64", "json": "json", **dict.fromkeys(BY_SCHEMA, "schema")}
_ENCODED: Final = {
    "binary": "base64",
    "json": "json",
    "avro": "avro",
    "jsonschema": "json-schema",
    "protobuf": "protobuf",
}
_WHOLE: Final = "application/vnd.kafka.{}.v2+json"
_ANY: Final = frozenset(
    ("", "*/*", "application/*", "application/json", "application/vnd.kafka.v2+json")
)


def media_type(form: str) -> str:
    return _WHOLE.format(form)


def named(header: str, default: str) -> str:
    """The format that a media type names; the default where it names none."""
    for each in header.split(","):
        said = each.partition(";")[0].strip().lower()
        for form in FORMATS:
            if said in (media_type(form), f"application/vnd.kafka.{form}+json"):
                return form
        if said in _ANY:
            return default
    raise Refusal(415, f"{header[:100]}: one of {', '.join(map(media_type, FORMATS))}")


def message_of(form: str, record: Any) -> dict[str, Any]:
    """As /api/v1 has it, but for schemas, which stand beside the records."""
    if not isinstance(record, Mapping):
        raise Refusal(422, "a record is an object with a value")
    message: dict[str, Any] = {"partition": record.get("partition")}
    for part in ("key", "value"):
        said = record.get(part)
        if said is not None and form not in BY_SCHEMA:
            packed = json.dumps(said, separators=(",", ":")).encode()
            message[part] = packed if form == "json" else from_base64(said, part)
        else:
            message[part] = said
    return message


def read(form: str, message: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A message's key and value; Refusal for what the format cannot tell."""
    for part in ("key", "value"):
        encoding = message.get(f"{part}Encoding")
        if encoding not in (None, _ENCODED[form]):
            why = message.get(f"{part}Error", f"it is {encoding}")
            told = f"{where}-{message['offset']}: the {part} is no {form}: {why}"
            raise Refusal(Code.CONVERSION_FAILED, told)
    return {"key": message["key"], "value": message["value"]}
