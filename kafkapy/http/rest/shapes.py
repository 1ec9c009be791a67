"""What goes in and comes out, in the words of JSON Schema (http/api/shapes.py)."""

from typing import Final

from starlette.requests import HTTPConnection

from kafkapy.http.api.parameters import Number, Parameter, Word
from kafkapy.http.api.shapes import (
    ANYTHING,
    TEXT,
    WHOLE,
    by_name,
    either,
    fields,
    nullable,
    number,
    several,
    text,
    word,
)
from kafkapy.http.rest.values import READINGS

MOST_OFFSET: Final = 2**63 - 1
MOST_TIMESTAMP: Final = 2**53
MOST_PARTITION: Final = 2**31 - 1

PARTITION: Final = number(0, MOST_PARTITION)
OFFSET: Final = number(0, MOST_OFFSET)
BASE64: Final = nullable({"type": "string", "contentEncoding": "base64"})
# Starts and ends of partitions: names, or a number.
PLACE: Final = text(pattern="^(earliest|latest|[0-9]{1,18})$")


class Place(Parameter):
    """A name of a place in a partition, or an offset."""

    def __init__(self, default: str) -> None:
        super().__init__("offset", "Where to begin", {**PLACE, "default": default})
        self._default = default

    def of(self, asked: HTTPConnection) -> str:
        said = self.said(asked)
        return self._default if said is None else said


AFTER: Final = Parameter("after", "What a page before said in `next`: go on behind it")
AS: Final = Word(
    "as", "How keys, values and headers are told; `schema` asks the registry", *READINGS
)


def limit(most: int, default: int) -> Number:
    return Number("limit", "At most so many", default, least=1, most=most)


HEADER_OUT: Final = fields(
    {"name": TEXT, "value": ANYTHING}, {"valueEncoding": word("json", "text", "base64")}
)
_ENCODING: Final = word("json", "text", "base64", "avro", "json-schema", "protobuf")
_MESSAGE_NEEDED: Final = {
    "offset": OFFSET,
    "timestamp": WHOLE,
    "key": ANYTHING,
    "value": ANYTHING,
    "headers": several(HEADER_OUT),
}
_MESSAGE_MAYBE: Final = {
    f"{part}{what}": shape
    for part in ("key", "value")
    for what, shape in (("Encoding", _ENCODING), ("SchemaId", WHOLE), ("Error", TEXT))
}
MESSAGE_OUT: Final = fields(_MESSAGE_NEEDED, _MESSAGE_MAYBE, title="Message")

# One that is not there is not found, whatever its size.
SCHEMA_CHOICE: Final = either(
    WHOLE,
    word("latest"),
    fields(
        maybe={
            "id": WHOLE,
            "subject": TEXT,
            "version": either(WHOLE, TEXT),
            "schemaType": word("AVRO", "JSON", "PROTOBUF"),
            "schema": TEXT,
            "references": several({"type": "object"}),
            "message": TEXT,
        }
    ),
)
_HEADERS_IN: Final = either(
    by_name(ANYTHING),
    several(fields({"name": TEXT}, {"value": ANYTHING, "valueBase64": BASE64})),
    {"type": "null"},
)
MESSAGE_IN: Final = fields(
    maybe={
        "key": ANYTHING,
        "keyBase64": BASE64,
        "value": ANYTHING,
        "valueBase64": BASE64,
        "headers": _HEADERS_IN,
        "partition": nullable(PARTITION),
        "timestamp": nullable(number(0, MOST_TIMESTAMP)),
        "keySchema": nullable(SCHEMA_CHOICE),
        "valueSchema": nullable(SCHEMA_CHOICE),
    },
    title="NewMessage",
    told="A text is written as such, all else as its JSON, null as nothing (a tombstone)",
)
WRITTEN: Final = fields(
    {"partition": PARTITION, "offset": number(-1, MOST_OFFSET), "timestamp": WHOLE},
    title="Written",
    told="An offset of -1: it was there already, and it is not known any more where",
)
NOT_WRITTEN: Final = fields({"status": WHOLE, "error": TEXT, "detail": TEXT}, title="NotWritten")
COMMITTED_OFFSET: Final = fields(
    {"topic": TEXT, "partition": PARTITION, "offset": OFFSET}, title="CommittedOffset"
)
