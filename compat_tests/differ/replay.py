"""A recorded conversation, said again to a server, frame by frame.

    recorded request --> names, identities, times of today --> server --> its answer
    recorded answer --- against the answer: which identity is which ---^

Requests leave in the recorded order, and nothing that was said after an answer had come is
said before it has: what a client knew when it spoke, the server has told here too. What a
server draws (topic ids, member ids, producer ids, session ids) is told apart by comparing
its answer with the recorded one. A frame without any of these is sent as it was recorded.

An error that passes (a leader is elected, a coordinator loads) where the recording has none
is waited out by asking again: when it passes is not part of the conversation. Metadata is
asked for until it says the same twice, since a server may tell of a change before its own
metadata has it.
"""

import dataclasses
import secrets
import struct
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple
from uuid import UUID

from compat_tests.differ.conversations import Event, names
from compat_tests.differ.side import Closed, Side, newest
from compat_tests.waiting import NeverHappened, wait_for
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import HEADER_SIZE, batches, pack_header
from kafkapy.protocol.framing import frame, read_request_header, read_response_head
from kafkapy.protocol.messages import decode_request, decode_response, encode_request

# Fields whose values a server draws, and what kind of identity they are.
IDENTITIES: Final = {
    "topic_id": "topic id",
    "member_id": "member",
    "leader": "member",
    "session_id": "session",
    "producer_id": "producer",
    "v3_and_below_producer_id": "producer",
}
# A number that stands for no identity.
_NOBODY: Final = (-1, 0, "", None)
_PASSING: Final = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_LEADER_OR_FOLLOWER",
        "LEADER_NOT_AVAILABLE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "CONCURRENT_TRANSACTIONS",
        "UNSTABLE_OFFSET_COMMIT",
        "NO_OFFSET_YET",  # our word: the markers of its transaction are being written
    }
)
# Requests that change what other connections see, perhaps a moment after the answer.
_CHANGES: Final = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.END_TXN,
)
_UNDER_WAY: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
_NAMES: Final = {int(one): one.name for one in ApiKey}
_PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.02
_HOUR_MS: Final = 3_600_000

Identities = dict[tuple[str, Any], Any]


class Said(NamedTuple):
    """One exchange of a replay: `answer` as it came, None if the connection was closed."""

    label: str
    request: Any
    answer: Any


class Replay:
    """One conversation with one server; `names` are the same for all servers compared."""

    def __init__(
        self,
        address: str,
        events: Sequence[Event],
        renamed: Mapping[bytes, bytes],
        later_ms: int,
    ) -> None:
        self.identities: Identities = {}
        self._address = address
        self._events = events
        self._renamed = renamed
        self._later_ms = later_ms
        self._sides: dict[int, Side] = {}
        # Per connection: requests that wait for an answer, as (frame to send, header).
        self._waiting: dict[int, deque[tuple[bytes, Any, Any]]] = {}
        # Answers that were in the way of one that was asked for again.
        self._received: dict[int, deque[bytes]] = {}

    def play(self) -> Iterator[Said]:
        try:
            for event in self._events:
                if event.is_request:
                    self._send(event)
                else:
                    yield self._hear(event)
        finally:
            for side in self._sides.values():
                side.close()

    def _send(self, event: Event) -> None:
        sent, header, body = self._translated(event.frame)
        side = self._sides.get(event.connection)
        if side is None:
            side = Side(self._address, ApiKey.METADATA, 0, "replay")
            self._sides[event.connection] = side
            self._waiting[event.connection] = deque()
            self._received[event.connection] = deque()
        side.send_bytes(sent)
        if not (header.api_key == ApiKey.PRODUCE and body.acks == 0):
            self._waiting[event.connection].append((sent, header, body))
        if header.api_key in _CHANGES:
            self._finish(event.connection, body)

    def _finish(self, connection: int, body: Any) -> None:
        """A change is done before anything else is said: who asks meanwhile would hear of
        it from one server and not yet from the other."""
        self._receive_all(connection)
        if (name := getattr(body, "transactional_id", None)) is not None:
            side = self._sides[connection]
            wait_for("its markers are written", lambda: _has_ended(side, name), every_s=_PAUSE_S)

    def _hear(self, event: Event) -> Said:
        sent, header, body = self._waiting[event.connection].popleft()
        api_key, version = header.api_key, header.api_version
        recorded = _answer(api_key, version, self._rename(event.frame[4:]))
        label = f"{_NAMES[api_key]} v{version}"
        answer = before = None

        def is_final() -> bool:
            nonlocal answer, before
            if answer is None:
                raw = self._next_answer(event.connection)
            else:
                raw = self._ask_again(event.connection, sent)
            before, answer = answer, _answer(api_key, version, raw)
            return not (
                _is_passing(answer, recorded)
                or (api_key == ApiKey.METADATA and not _is_settled(body, answer, before))
                or (api_key == ApiKey.FETCH and _is_late(body, answer, recorded))
            )

        try:
            # An answer that stays as it is, is judged as it is.
            with suppress(NeverHappened):
                wait_for(f"{label} settles", is_final, timeout_s=_PATIENCE_S, every_s=_PAUSE_S)
        except Closed:
            return Said(label, body, None)
        _learn(recorded, answer, self.identities)
        return Said(label, body, answer)

    def _next_answer(self, connection: int) -> bytes:
        received = self._received[connection]
        return received.popleft() if received else self._sides[connection].receive()

    def _ask_again(self, connection: int, sent: bytes) -> bytes:
        """Answers come in the order of requests: those under way are kept for later."""
        self._sides[connection].send_bytes(sent)
        self._receive_all(connection)
        return self._sides[connection].receive()

    def _receive_all(self, connection: int) -> None:
        received = self._received[connection]
        while len(received) < len(self._waiting[connection]):
            received.append(self._sides[connection].receive())

    def _translated(self, recorded: bytes) -> tuple[bytes, Any, Any]:
        request = self._rename(recorded[4:])
        header, body_at = read_request_header(request)
        key, version = header.api_key, header.api_version
        if key == ApiKey.API_VERSIONS:  # perhaps of a version that nobody here knows yet
            return struct.pack(">i", len(request)) + request, header, None
        body = decode_request(key, version, request[body_at:])
        today = self._of_today(body, "")
        if today == body:
            return struct.pack(">i", len(request)) + request, header, body
        return frame(request[:body_at], encode_request(key, version, today)), header, today

    def _rename(self, data: bytes) -> bytes:
        for old, new in self._renamed.items():
            data = data.replace(old, new)
        return data

    def _of_today(self, value: Any, name: str) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            changed = {
                field.name: self._of_today(getattr(value, field.name), field.name)
                for field in dataclasses.fields(value)
            }
            return dataclasses.replace(value, **changed)
        if isinstance(value, tuple):
            return tuple(self._of_today(one, name) for one in value)
        if name == "records" and value is not None:
            return self._batches_of_today(bytes(value))
        if name == "timestamp" and isinstance(value, int) and value > 0:
            return value + self._later_ms
        kind = IDENTITIES.get(name)
        return value if kind is None else self.identities.get((kind, value), value)

    def _batches_of_today(self, data: bytes) -> bytes:
        done = []
        for position, one in batches(data):
            body = data[position + HEADER_SIZE : position + one.size]
            done.append(
                pack_header(
                    body,
                    one.base_offset,
                    one.leader_epoch,
                    one.attributes,
                    one.last_offset_delta,
                    one.base_timestamp + self._later_ms,
                    one.max_timestamp + self._later_ms,
                    self.identities.get(("producer", one.producer_id), one.producer_id),
                    one.producer_epoch,
                    one.base_sequence,
                    one.record_count,
                )
                + body
            )
        return b"".join(done)


def fresh_names(events: Sequence[Event]) -> dict[bytes, bytes]:
    """New random ends for the names of a recording, of the same length."""
    return {old: secrets.token_hex(4).encode() for old in sorted(names(events))}


def from_then_to_now(events: Sequence[Event]) -> int:
    """By how much the recording's times are moved, so that retention leaves its records
    alone: its first batch was made an hour ago."""
    for one in events:
        if one.is_request:
            header, body_at = read_request_header(one.frame[4:])
            if header.api_key == ApiKey.PRODUCE:
                body = decode_request(header.api_key, header.api_version, one.frame[4 + body_at :])
                for topic in body.topic_data:
                    for partition in topic.partition_data:
                        for _, batch in batches(bytes(partition.records or b"")):
                            return int(time.time()) * 1000 - _HOUR_MS - batch.base_timestamp
    return 0


def _answer(api_key: int, version: int, data: bytes) -> Any:
    if api_key == ApiKey.API_VERSIONS and version > newest(ApiKey.API_VERSIONS):
        version = 0  # so that whoever asked can read that it is not served
    _, body_at = read_response_head(api_key, version, data)
    return decode_response(api_key, version, memoryview(data)[body_at:].toreadonly())


def _learn(recorded: Any, answer: Any, identities: Identities, name: str = "") -> None:
    """Values at the same place that differ are the same identity, drawn twice."""
    if dataclasses.is_dataclass(recorded) and dataclasses.is_dataclass(answer):
        for field in dataclasses.fields(recorded):
            here = getattr(answer, field.name)
            _learn(getattr(recorded, field.name), here, identities, field.name)
    elif isinstance(recorded, tuple) and isinstance(answer, tuple):
        for left, right in _paired(recorded, answer):
            _learn(left, right, identities, name)
    else:
        kind = IDENTITIES.get(name)
        if kind and recorded not in _NOBODY and answer not in _NOBODY:
            identities.setdefault((kind, recorded), answer)


def _paired(recorded: tuple[Any, ...], answer: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Rows with names are paired by them: their order is the server's own."""
    if recorded and isinstance(getattr(recorded[0], "name", None), str):
        by_name = {getattr(one, "name", None): one for one in answer}
        return ((one, by_name[one.name]) for one in recorded if one.name in by_name)
    return zip(recorded, answer, strict=False)


def _is_passing(answer: Any, recorded: Any) -> bool:
    now = [code for code in _codes(answer) if code in _PASSING]
    then = [code for code in _codes(recorded) if code in _PASSING]
    return len(now) > len(then)


def _has_ended(side: Side, transactional_id: str) -> bool:
    answer = side.call(ApiKey.DESCRIBE_TRANSACTIONS, {"transactional_ids": [transactional_id]})
    return answer.transaction_states[0].transaction_state not in _UNDER_WAY


def _is_settled(request: Any, answer: Any, before: Any) -> bool:
    """Whether metadata says what it said before; a topic that it makes is there at last."""
    makes_topics = getattr(request, "allow_auto_topic_creation", True)
    return answer == before and not (makes_topics and _PASSING.intersection(_codes(answer)))


def _is_late(request: Any, answer: Any, recorded: Any) -> bool:
    """Whether records that came then do not come yet. In a session (KIP-227) nothing can be
    asked for twice: they come with the next fetch."""
    in_session = getattr(request, "session_epoch", -1) != -1
    return not in_session and _size(answer) < _size(recorded)


def _size(fetched: Any) -> int:
    rows = (row for topic in fetched.responses for row in topic.partitions)
    return sum(len(row.records or b"") for row in rows)


def _codes(value: Any, name: str = "") -> Iterator[str]:
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _codes(getattr(value, field.name), field.name)
    elif isinstance(value, tuple):
        for one in value:
            yield from _codes(one, name)
    elif name == "error_code":
        yield value.name
    elif name == "committed_offset" and value == -1:
        yield "NO_OFFSET_YET"


def words_of(identities: Identities) -> dict[Any, str]:
    """What a server drew -> a word that is the same for every server."""
    return {
        now: f"<{kind} {then}>"
        for (kind, then), now in identities.items()
        if isinstance(now, str | UUID)
    }
