"""The registry, in the name of who asks: what of it may be seen, and versions beside each other."""

import difflib
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

import trio

from kafkapy.http.console.asked import Asked, Lacking
from kafkapy.http.registry.access import topic_of
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import Schema, SchemaType, StoredSchema
from kafkapy.http.registry.errors import ErrorCode, RegistryError
from kafkapy.http.registry.evaluation import Rules
from kafkapy.http.registry.imports import imported_subjects, source_of
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.room import registry_of
from kafkapy.http.registry.subjects import is_context
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

# So many names are judged at once: the node's loop goes on in between.
_AT_ONCE: Final = 200
# What is larger is not set out anew: reading and writing it are long calls.
_MOST_PRETTY: Final = 64 * 1024
_MOST_SHOWN: Final = 256 * 1024
_MOST_DIFF_LINES: Final = 1500
# In place of what is different, where that may lie in something that may not be read.
_HIDDEN: Final = "they differ, maybe in what one of them refers to, which you may not read"
_SENTENCE: Final = re.compile(r"\{errorType:'(.*?)', description:'(.*)', additionalInfo:'(.*)'\}")


class Line(NamedTuple):
    """Of two texts beside each other: `sign` is +, - or a space; numbers where it is there."""

    sign: str
    old: int | None
    new: int | None
    text: str


class Verdict(NamedTuple):
    """Of a version beside the one before: what is wrong, None where nobody could tell."""

    new_reads_old: list[str] | None
    old_reads_new: list[str] | None

    @property
    def is_bad(self) -> bool:
        return bool(self.new_reads_old) or bool(self.old_reads_new)


class Schemas:
    """Of one request."""

    def __init__(self, asked: Asked) -> None:
        self._kafka = asked.kafka
        self.registry: Registry = registry_of(asked.site)

    async def visible(self, subjects: Iterable[str]) -> list[str]:
        names = sorted(subjects)
        if self._kafka.link.node.authorizer is None:
            return names
        topics = sorted({topic_of(one) for one in names})
        seen: set[str] = set()
        for at in range(0, len(topics), _AT_ONCE):
            some = topics[at : at + _AT_ONCE]
            seen |= await self._kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, some)
        return [one for one in names if topic_of(one) in seen]

    async def require(self, operation: Operation, subject: str | None) -> None:
        """As the registry judges it; None is all of it."""
        if subject is None or is_context(subject):
            kind, name = ResourceType.CLUSTER, CLUSTER_NAME
        else:
            kind, name = ResourceType.TOPIC, topic_of(subject)
        if not await self._kafka.allowed(operation, kind, [name]):
            raise Lacking(operation.name, kind.name, name)

    async def beside(self, new: StoredSchema, old: StoredSchema) -> Verdict:
        """The newer one and an older one, in both directions."""
        return Verdict(
            await self._differences(new, old, Level.BACKWARD),
            await self._differences(new, old, Level.FORWARD),
        )

    async def _differences(
        self, new: StoredSchema, old: StoredSchema, level: Level
    ) -> list[str] | None:
        state = self.registry.store.state
        try:
            found = await self.registry.workers.incompatibilities(
                source_of(state, new.subject, new.schema),
                [source_of(state, old.subject, old.schema)],
                Rules(level, state.config(new.subject).is_lenient),
            )
            names = [
                name
                for one in (new, old)
                for name in imported_subjects(state, one.subject, one.schema)
            ]
        except RegistryError as failed:
            if failed.code not in (ErrorCode.INVALID_SCHEMA, ErrorCode.TIMEOUT):
                raise
            return None
        if found and names and not set(names) <= set(await self.visible(names)):
            return [_HIDDEN]
        return [said(one) for one in found]


def said(sentence: str) -> str:
    """Of the registry's words for programs, those for people."""
    found = _SENTENCE.fullmatch(sentence)
    return sentence if found is None else found[2]


def text_of(schema: Schema) -> str:
    """As one reads it, and no more than a page can have."""
    text = schema.text
    if schema.type is not SchemaType.PROTOBUF and len(text) <= _MOST_PRETTY:
        # A bare name of a primitive type is no JSON, nor need be what another registry wrote.
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text[:_MOST_SHOWN]


async def diff(old: Schema, new: Schema) -> list[Line] | None:
    """None where there is too much to compare line by line."""
    left, right = text_of(old).splitlines(), text_of(new).splitlines()
    if max(len(left), len(right)) > _MOST_DIFF_LINES:
        return None
    # Lines that are alike, many times over, take long: not at the cost of other pages.
    return await trio.to_thread.run_sync(_lines, left, right)


def _lines(left: list[str], right: list[str]) -> list[Line]:
    found: list[Line] = []
    for kind, at, until, to, to_end in difflib.SequenceMatcher(a=left, b=right).get_opcodes():
        if kind == "equal":
            rows = zip(range(at, until), range(to, to_end), strict=True)
            found += [Line(" ", old + 1, new + 1, left[old]) for old, new in rows]
            continue
        found += [Line("-", one + 1, None, left[one]) for one in range(at, until)]
        found += [Line("+", None, one + 1, right[one]) for one in range(to, to_end)]
    return found
