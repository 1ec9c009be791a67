"""A state and what is done to it, without a node: each step's records are applied at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from kafkapy.core.step import Step
from kafkapy.http.registry import deleting, registering, setting
from kafkapy.http.registry.entities import Json, Reference, Schema, SchemaType, Version
from kafkapy.http.registry.evaluation import Rules, canonical, incompatibilities
from kafkapy.http.registry.imports import source_of
from kafkapy.http.registry.records import Record, decode, encode
from kafkapy.http.registry.registering import Registration
from kafkapy.http.registry.state import State

Reply = TypeVar("Reply")


class World:
    """Everything that was written, and what it amounts to."""

    def __init__(self) -> None:
        self.state = State()
        self.written: list[Record] = []

    def do(self, decide: Callable[[State], Step[Record, Reply]]) -> Reply | None:
        step = decide(self.state)
        for record in step.records:
            # As bytes and back: what cannot be written cannot become true.
            key, value = encode(record)
            assert encode(decode(key, value)) == (key, value)
            self.state.apply(decode(key, value))
            self.written.append(record)
        return step.reply

    def register(self, subject: str, schema: Schema, **more: Any) -> tuple[int, int]:
        """(id, version), by the ways of a node, but on the spot."""
        asked = registering.prepared(self.state, Registration(subject, schema, **more))
        source = source_of(self.state, subject, asked.schema)
        text = canonical(source, is_normalized=asked.normalize)
        asked = replace(asked, schema=replace(asked.schema, text=text))
        known = registering.existing(self.state, subject, asked.schema)
        if known is not None and asked.version == 0 and asked.id in (None, known.id):
            return known.id, known.version
        config = self.state.config(subject)
        olds = registering.compared_with(self.state, subject, asked.schema)
        wrong = incompatibilities(
            source_of(self.state, subject, asked.schema),
            [source_of(self.state, old.subject, old.schema) for old in olds],
            Rules(config.level, config.is_lenient),
        )
        stored = self.do(lambda state: registering.decided(state, asked, wrong))
        assert stored is not None
        return stored.id, stored.version

    def set_config(self, scope: str | None, **body: Any) -> Any:
        return self.do(lambda state: setting.config(state, scope, body))

    def set_mode(self, scope: str | None, mode: str | None, **more: Any) -> Any:
        return self.do(lambda state: setting.mode(state, scope, {"mode": mode}, **more))

    def delete(self, subject: str, version: int | None = None, *, permanently: bool = False) -> Any:
        if version is None:
            return self.do(lambda s: deleting.subject(s, subject, permanently=permanently))
        return self.do(
            lambda s: deleting.version(s, subject, Version(version), permanently=permanently)
        )

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        return [each.version for each in self.state.versions(subject, deleted=deleted)]


def avro(*names: str, metadata: Json | None = None, rule_set: Json | None = None) -> Schema:
    """A record of strings; those after the first have a default."""
    fields = [
        {"name": name, "type": "string", **({"default": ""} if index else {})}
        for index, name in enumerate(names)
    ]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    return Schema(SchemaType.AVRO, text, metadata=metadata, rule_set=rule_set)


def referring(subject: str, version: int, *, name: str = "R") -> Schema:
    """To a record R that is registered there."""
    text = json.dumps(
        {"type": "record", "name": "Holder", "fields": [{"name": "held", "type": "R"}]}
    )
    return Schema(SchemaType.AVRO, text, (Reference(name, subject, Version(version)),))
