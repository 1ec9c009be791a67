"""Answers that cannot be written: what is too long for its version costs its connection, and what
is a bug of ours is told as well."""

from typing import Any

import pytest

from kafkapy.broker.produce.appending import answer_of, refused_row
from kafkapy.broker.requests.dispatch import encode, encode_or_hang_up
from kafkapy.broker.requests.request import Call, Hangup, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.handwritten.produce_request import ProduceRequestView

TOO_LONG = "x" * 32768
PRODUCED = ProduceRequestView(None, 1, 1000, [])


class Told:
    """A journal that remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **facts: object) -> None:
        self.events.append((event, facts))

    warning = error = info


def call_of(api: ApiKey, version: int, body: Any = None) -> Call[Any]:
    return Call(api, version, 7, "test", body, Peer("PLAINTEXT", "test"), Instant(0))


def test_a_name_too_long_for_its_version_is_no_bug_of_ours() -> None:
    told = Told()
    with pytest.raises(Hangup, match="no answer can be written: MetadataResponse 1"):
        encode_or_hang_up(told, call_of(ApiKey.METADATA, 1), {"topics": [{"name": TOO_LONG}]})
    assert told.events == []
    call = call_of(ApiKey.PRODUCE, 8, PRODUCED)
    row = refused_row(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert isinstance(answer_of(call, [(TOO_LONG, None, [row])]), Hangup)


def test_a_key_that_no_version_has_is_told_as_a_bug() -> None:
    told, call = Told(), call_of(ApiKey.METADATA, 1)
    with pytest.raises(Hangup, match="a bug of kafkapy in METADATA"):
        encode_or_hang_up(told, call, {"tropics": []})
    [(event, facts)] = told.events
    assert (event, facts["api"], facts["version"]) == ("bug", "METADATA", 1)
    assert "has no field 'tropics'" in str(facts["trace"])


def test_where_nobody_listens_a_broken_assertion_comes_out() -> None:
    with pytest.raises(AssertionError, match="tropics"):
        encode(call_of(ApiKey.METADATA, 1), {"tropics": []})
    nameless = [(None, None, [refused_row(0, ErrorCode.NONE)])]
    with pytest.raises(AssertionError):
        answer_of(call_of(ApiKey.PRODUCE, 9, PRODUCED), nameless)
