"""Schemas of strangers: what they take, they take from a process that can be ended."""

from __future__ import annotations

import json

import pytest
import trio

from kafkapy.http.registry import workers as module
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import SchemaType
from kafkapy.http.registry.errors import ErrorCode, RegistryError
from kafkapy.http.registry.evaluation import Rules
from kafkapy.http.registry.languages.source import Source
from kafkapy.http.registry.workers import Workers

STRING = Source(SchemaType.AVRO, '"string"')
# A pattern that takes longer with each letter of the property that it is tried on.
PATTERN = {
    "type": "object",
    "patternProperties": {"^(a+)+$": {"type": "string"}},
    "additionalProperties": False,
}
LONG = {**PATTERN, "properties": {"a" * 60 + "!": {"type": "string"}}}


def test_one_that_takes_too_long_costs_the_process_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = (Source(SchemaType.JSON, json.dumps(each)) for each in (PATTERN, LONG))

    async def main() -> None:
        workers = Workers()
        try:
            assert await workers.canonical(STRING) == '"string"'
            # The languages' libraries take their time once.
            await workers.canonical(Source(SchemaType.JSON, "{}"))
            # It would take years: any time is too short.
            monkeypatch.setattr(module, "QUESTION_SECONDS", 0.2)
            with pytest.raises(RegistryError) as refused:
                await workers.incompatibilities(new, [old], Rules(Level.BACKWARD))
            assert refused.value.code == ErrorCode.INVALID_SCHEMA
            assert workers._process is None
            monkeypatch.undo()
            other = Source(SchemaType.AVRO, '"int"')
            assert await workers.canonical(other) == '"int"'
        finally:
            await workers.close()

    trio.run(main)


@pytest.mark.parametrize(
    "source",
    [
        Source(SchemaType.AVRO, "[" * 200_000),
        Source(SchemaType.JSON, '{"not":' * 50_000),
        Source(SchemaType.PROTOBUF, 'syntax = "proto3";' + "message M {" * 50_000),
        Source(SchemaType.PROTOBUF, "A" * 800_000),
        Source(SchemaType.JSON, '{"a":' * 190 + "1" + "}" * 190 + "x"),
        Source(SchemaType.AVRO, json.dumps(["int", {"type": "nothing"}])),
    ],
)
def test_deep_huge_and_damaged_ones_are_refused_in_time(source: Source) -> None:
    async def main() -> None:
        workers = Workers()
        try:
            with pytest.raises(RegistryError) as refused:
                await workers.canonical(source)
            assert refused.value.code == ErrorCode.INVALID_SCHEMA
            assert await workers.canonical(STRING) == '"string"'
        finally:
            await workers.close()

    trio.run(main)


def test_who_no_longer_waits_leaves_no_answer_for_the_next() -> None:
    async def main() -> None:
        workers = Workers()
        try:
            await workers.canonical(STRING)
            for _ in range(3):
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await workers.canonical(Source(SchemaType.AVRO, '"long"'))
                assert await workers.canonical(Source(SchemaType.AVRO, '"boolean"')) == '"boolean"'
        finally:
            await workers.close()

    trio.run(main)


def test_a_value_without_end_is_none_of_its_schema() -> None:
    """Ten bytes that say they are four billion billion nothings; one that ends too early."""
    nothings = Source(SchemaType.AVRO, '{"type":"array","items":"null"}')
    values = [b"\x04\x00", b"\xff", b"\xfe" * 8 + b"\x7f\x00"]

    async def main() -> None:
        workers = Workers()
        try:
            found = await workers.readable(nothings, values, 99)
        finally:
            await workers.close()
        assert found == ["[null, null]", None, None]

    trio.run(main)
