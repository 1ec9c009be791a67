"""Keys, values and headers, between bytes and JSON.

    written   "value": "text"           the text's bytes
              "value": {"any": "JSON"}  its JSON
              "value": null             nothing: a tombstone
              "valueBase64": "AAEC"     these bytes
    read      "value" and "valueEncoding": json, text or base64, whichever says what is there

`?as=json|text|base64` says how to read instead: who knows what a topic holds is told the same way
for every record (`base64` also where it is no text). `?as=schema` reads by the registry
(schemas.py).
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.http.problems import Problem

READINGS: Final = ("auto", "json", "text", "base64", "schema")
_OF_HEADER: Final = frozenset(("name", "value", "valueBase64"))
_COMPACT: Final = json.JSONEncoder(separators=(",", ":"))
_MOST_JSON: Final = 1 << 20  # longer ones are told as text: reading them holds the interpreter


def to_bytes(body: Mapping[str, Any], name: str, name_of_base64: str) -> bytes | None:
    """The key or the value that a message says it has."""
    encoded = body.get(name_of_base64)
    if encoded is not None:
        if body.get(name) is not None:
            raise Problem(400, f"either {name} or {name_of_base64}")
        return from_base64(encoded, name_of_base64)
    return as_bytes(body.get(name))


def as_bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if value is None or isinstance(value, bytes):
        return value  # bytes are none of JSON's: somebody has made them of it (schemas.py)
    return _COMPACT.encode(value).encode("utf-8", "surrogatepass")


def headers_to_bytes(body: Mapping[str, Any]) -> tuple[tuple[str, bytes | None], ...]:
    """An object of texts, or a list of {"name", "value"} where a name comes twice or is bytes."""
    said = body.get("headers")
    if said is None:
        return ()
    if isinstance(said, Mapping):
        return tuple((name, as_bytes(value)) for name, value in said.items())
    if isinstance(said, list) and all(map(_is_header, said)):
        return tuple((one["name"], to_bytes(one, "value", "valueBase64")) for one in said)
    raise Problem(400, "headers are an object, or a list of objects with a name and a value")


def _is_header(one: Any) -> bool:
    is_named = isinstance(one, Mapping) and isinstance(one.get("name"), str)
    return is_named and one.keys() <= _OF_HEADER


def shown(name: str, data: bytes | None, reading: str) -> dict[str, Any]:
    """What a message is told to have."""
    value, encoding = _read(data, reading)
    told = {name: value}
    if encoding is not None:
        told[f"{name}Encoding"] = encoding
    return told


def _read(data: bytes | None, reading: str) -> tuple[Any, str | None]:
    if data is None:
        return None, None
    if reading != "base64":
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return base64.b64encode(data).decode(), "base64"
        if reading != "text" and len(text) <= _MOST_JSON:
            try:
                return json.loads(text, parse_constant=_no_json), "json"
            except (ValueError, RecursionError):
                pass
        return text, "text"
    return base64.b64encode(data).decode(), "base64"


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def from_base64(encoded: Any, name: str) -> bytes:
    if isinstance(encoded, str):
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise Problem(400, f"{name} is no base64")
