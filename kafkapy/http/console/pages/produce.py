"""Writing one record, by hand."""

import binascii
import secrets
import time
from base64 import b64decode
from typing import Any, Final

from kafkapy.http.console.asked import Asked, Pages, number
from kafkapy.http.console.pages.topic import require_describe
from kafkapy.http.kafka import records
from kafkapy.http.problems import Problem
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.protocol.partitioner import partition_for_key

ENCODINGS: Final = ("text", "base64", "hex")


async def ask(asked: Asked) -> Any:
    name = asked.path("topic")
    await require_describe(asked, name)
    partitions = sorted(asked.kafka.topic(name).partitions)
    return asked.page("produce.html", name=name, partitions=partitions, encodings=ENCODINGS)


async def send(asked: Asked) -> Any:
    name = asked.path("topic")
    fields = await asked.fields()
    await require_describe(asked, name)
    encoding = fields.get("encoding", "text")
    key = _bytes(fields.get("key", ""), encoding, "key") if fields.get("key") else None
    value = None
    if "null" not in fields:
        value = _bytes(fields.get("value", ""), encoding, "value")
    record = NewRecord(key, value, time.time_ns() // 1_000_000, _headers(fields))
    count = len(asked.kafka.topic(name).partitions)
    partition = number(fields.get("partition", ""), "partition", -1, 0, count - 1)
    if partition < 0:
        partition = partition_for_key(key, count) if key else secrets.randbelow(count)
    with asked.needs("WRITE", "TOPIC", name):
        made = await records.produce(asked.kafka, name, partition, [record])
    return asked.go(f"/console/topics/{name}/messages/{made.partition}/{made.offset}")


def _bytes(text: str, encoding: str, what: str) -> bytes:
    try:
        if encoding == "base64":
            return b64decode("".join(text.split()), validate=True)
        if encoding == "hex":
            return bytes.fromhex(text)
    except (ValueError, binascii.Error):
        raise Problem(400, f"the {what} is no {encoding}") from None
    # A form sends line ends as CR LF, whatever was typed.
    return text.replace("\r\n", "\n").encode()


def _headers(fields: dict[str, str]) -> tuple[tuple[str, bytes | None], ...]:
    found = []
    for line in fields.get("headers", "").splitlines():
        if line.strip():
            name, colon, value = line.partition(":")
            if not colon or not name.strip():
                raise Problem(400, f"{line.strip()}: a header is written name: value")
            found.append((name.strip(), value.strip().encode()))
    return tuple(found)


PAGES: Pages = (
    ("GET", "/console/topics/{topic}/produce", ask),
    ("POST", "/console/topics/{topic}/produce", send),
)
