"""When the broker may say that a schema is not registered, by a registry that reads when told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkapy.broker.config.table.keys.schemas import TOPIC_NAME
from kafkapy.broker.produce.schema_ids import SchemaIds
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.log.config import RecordCheck
from kafkapy.protocol.batches.records import Record

SETTINGS = {
    "confluent.value.schema.validation": True,
    "confluent.value.subject.name.strategy": TOPIC_NAME,
}


class LateAuthority:
    """What is registered is known here once it has been read."""

    def __init__(self) -> None:
        self.registered: set[int | bytes] = set()
        self._known: set[int | bytes] = set()
        self._waiting: list[Callable[[bool], None]] = []

    def subjects_of(self, schema_id: int | bytes) -> frozenset[str] | None:
        return frozenset(["t-value"]) if schema_id in self._known else None

    def catch_up(self, then: Callable[[bool], None]) -> None:
        self._waiting.append(then)

    def read(self) -> None:
        self._known |= self.registered
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then(True)


@pytest.fixture
def authority() -> LateAuthority:
    return LateAuthority()


@pytest.fixture
def check(authority: LateAuthority) -> RecordCheck:
    ids = SchemaIds()
    ids.authority = authority
    made = ids.check_of("t", SETTINGS.get)
    assert made is not None
    return made


def record(schema_id: int, data: bytes = b"x", timestamp: int = 1) -> Record:
    return Record(0, timestamp, None, b"\0" + schema_id.to_bytes(4, "big") + data)


def must_ask_again(check: RecordCheck, sent: Record) -> None:
    with pytest.raises(Refused) as refused:
        check(sent)
    assert refused.value.code == ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_record_is_refused_for_good_only_when_it_comes_again(
    authority: LateAuthority, check: RecordCheck
) -> None:
    must_ask_again(check, record(7))
    must_ask_again(check, record(7))
    authority.read()
    assert "is not registered" in str(check(record(7)))


def test_what_was_read_for_another_record_is_too_old_for_this_one(
    authority: LateAuthority, check: RecordCheck
) -> None:
    """Somebody's record has an id that is not registered, and is not sent again. Then the id is
    registered, elsewhere, and used at once: this node has not heard of it, and does not say no."""
    must_ask_again(check, record(7))
    authority.read()
    authority.registered.add(7)
    for good in (record(7, timestamp=2), record(7, b"y")):
        must_ask_again(check, good)
    authority.read()
    for good in (record(7, timestamp=2), record(7, b"y")):
        assert check(good) is None
