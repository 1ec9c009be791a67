"""What is known of an idempotency key: a claim, open until what it is for has been written.

    record key      SHA-256 of who asks and the key that they named
    record value    JSON: an open claim, or the same with what was `written`

A claim fixes everything that makes a second attempt the same as the first: which partition each
message goes to, the timestamp of those that have none, which schemas were chosen, and by which
producer, under which sequences, each partition's batch is written. Whoever repeats it, on whichever
node, sends batches that the partitions' leaders recognise, and of the same bytes: `latest` may be
another schema by then, and its values written in another way, or not at all.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from kafkapy.core.data import dataclass

_FORMAT: Final = 1


class Written(NamedTuple):
    """Where the first message of a partition's batch is; its timestamp, where the log sets it."""

    offset: int
    timestamp: int


class Producer(NamedTuple):
    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Claim:
    """`written` is None while it is open."""

    fingerprint: str  # of the request: a key stands for one
    timestamp: int
    places: tuple[int, ...]  # the partition of each message
    producer: Producer
    sequences: Mapping[int, int]  # by partition: of its batch's first record
    written: Mapping[int, Written] | None = None
    # By part of a message: the ids of what it chose, in the order in which that first came. None
    # in claims of nodes that did not keep them yet.
    schema_ids: Mapping[str, tuple[int, ...]] | None = None


def slot_of(principal: str, key: str) -> bytes:
    """Everybody's keys are their own."""
    return sha256(f"{principal}\0{key}".encode("utf-8", "surrogatepass")).digest()


def fingerprint_of(topic: str, body: bytes) -> str:
    return sha256(topic.encode() + b"\0" + body).hexdigest()


def encode(claim: Claim) -> bytes:
    told: dict[str, Any] = {
        "format": _FORMAT,
        "fingerprint": claim.fingerprint,
        "timestamp": claim.timestamp,
        "places": claim.places,
        "producer": claim.producer,
        "sequences": claim.sequences,
    }
    if claim.schema_ids is not None:
        told["schemaIds"] = claim.schema_ids
    if claim.written is not None:
        told["written"] = claim.written
    return json.dumps(told, separators=(",", ":")).encode()


def decode(value: bytes | None) -> Claim | None:
    """None for what is no claim, or one of a kafkapy to come."""
    try:
        told = json.loads(value or b"")
        if told["format"] != _FORMAT:
            return None
        written, schema_ids = told.get("written"), told.get("schemaIds")
        return Claim(
            str(told["fingerprint"]),
            int(told["timestamp"]),
            tuple(map(int, told["places"])),
            Producer(*map(int, told["producer"])),
            {int(at): int(sequence) for at, sequence in told["sequences"].items()},
            None if written is None else _written(written),
            None if schema_ids is None else _schema_ids(schema_ids),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _written(told: Mapping[str, Any]) -> dict[int, Written]:
    return {int(at): Written(*map(int, each)) for at, each in told.items()}


def _schema_ids(told: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {str(part): tuple(map(int, ids)) for part, ids in told.items()}
