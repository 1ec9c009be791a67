"""The registry as its pages see it: questions, and changes.

Whoever is asked answers. A question is answered by what this node has read, after it has read
everything that was there when it was asked; an id never changes its meaning, so one that is
known needs no asking. A change is decided with nobody else writing (store.py), schemas are
understood elsewhere (workers.py), and what becomes true is decided by plain functions of the
state (registering.py, deleting.py, setting.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kafkapy.core.step import Step
from kafkapy.http.registry import registering
from kafkapy.http.registry.access import Access, Visible, require_visible
from kafkapy.http.registry.entities import (
    Schema,
    SchemaId,
    StoredSchema,
    Version,
    reserved_fields,
)
from kafkapy.http.registry.errors import (
    ErrorCode,
    RegistryError,
    invalid_schema,
    schema_not_found,
    subject_not_found,
    version_not_found,
)
from kafkapy.http.registry.evaluation import Rules
from kafkapy.http.registry.imports import imported_subjects, source_of
from kafkapy.http.registry.languages.source import Difference, Source
from kafkapy.http.registry.records import Record
from kafkapy.http.registry.registering import Registration
from kafkapy.http.registry.state import State
from kafkapy.http.registry.store import Store
from kafkapy.http.registry.subjects import DEFAULT_CONTEXT, Subject, context_of, parse
from kafkapy.http.registry.workers import Workers
from kafkapy.kraft.acls import Operation

#: Of texts that another registry wrote: so many of a subject are compared by what they mean.
_MOST_LOOKED_THROUGH = 100
#: A record is one batch, and a topic's batches have a megabyte.
MAX_TEXT = 900_000

#: In place of what is different, where that lies in something that may not be read.
_HIDDEN = Difference("INCOMPATIBLE", "/", "in what one of them refers to, which you may not read")

Reply = TypeVar("Reply")


class Registry:
    """One per node.

    Whoever asks for something that other schemas go into says which subjects may be read
    (`visible`); `without_saying` is what may be read by who does not say.
    """

    def __init__(
        self, store: Store, workers: Workers, cluster_id: str, without_saying: Visible
    ) -> None:
        self.store = store
        self.workers = workers
        self.cluster_id = cluster_id
        self._without_saying = without_saying

    # Changes

    async def change(self, decide: Callable[[State], Step[Record, Reply]]) -> Reply:
        """What needs no schema to be understood."""

        async def decided(state: State) -> tuple[Sequence[Record], Reply | None]:
            step = decide(state)
            return step.records, step.reply

        reply: Any = await self.store.change(decided)
        made: Reply = reply
        return made

    async def register(
        self, asked: Registration, *, visible: Visible | None = None
    ) -> StoredSchema:
        """The version that is there now, or was already. RegistryError if it may not be."""
        _check_size(asked.schema)
        visible = visible or self._without_saying
        state = await self.store.caught_up()
        if not state.config(asked.subject).shapes_schemas:
            known = await self._known(state, asked, visible)
            if known is not None:
                return known

        async def decided(state: State) -> tuple[Sequence[Record], StoredSchema]:
            wanted = registering.prepared(state, asked)
            schema = await self._canonical(state, wanted, visible)
            if wanted.version == 0:
                known = await self._found(state, wanted.subject, schema, wanted.normalize)
                if known is not None and wanted.id in (None, known.id):
                    return (), known
            wanted = replace(wanted, schema=schema)
            is_free = state.mode(wanted.subject).is_import
            wrong = [] if is_free else await self._incompatibilities(state, wanted, visible)
            step = registering.decided(state, wanted, wrong)
            assert step.reply is not None
            return step.records, step.reply

        stored = await self.store.change(decided)
        # With the time at which it was written.
        return self.store.state.get(stored.subject, stored.version) or stored

    async def _known(
        self, state: State, asked: Registration, visible: Visible
    ) -> StoredSchema | None:
        """Most registrations are of what is there: producers start again and again."""
        if asked.version > 0 or not asked.schema.text.strip():
            return None
        normalize = asked.normalize or state.config(asked.subject).normalize
        schema = await self._canonical(state, replace(asked, normalize=normalize), visible)
        known = await self._found(state, asked.subject, schema, normalize)
        if known is None or asked.id not in (None, known.id):
            return None
        if asked.version == -1 and known != state.latest(asked.subject):
            return None
        return known

    # Questions

    async def look_up(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool,
        deleted: bool,
        visible: Visible | None = None,
    ) -> StoredSchema:
        """The version that is this schema."""
        _check_size(schema)
        visible = visible or self._without_saying
        state = await self.store.caught_up()
        for name in await _visible_in_contexts(state, subject, visible, deleted=deleted):
            config = state.config(name)
            wanted = Registration(name, schema, normalize=normalize or config.normalize)
            canonical = await self._canonical(state, wanted, visible)
            found = await self._found(state, name, canonical, wanted.normalize, deleted=deleted)
            if found is None and state.latest(name) is not None:
                shaped = registering.shaped(canonical, config, state.latest(name))
                found = await self._found(state, name, shaped, wanted.normalize, deleted=deleted)
            if found is not None:
                return found
        if not state.has(subject, deleted=deleted):
            raise subject_not_found(subject)
        raise schema_not_found()

    async def differences(
        self,
        subject: str,
        schema: Schema,
        which: str | None,
        *,
        normalize: bool,
        visible: Visible | None = None,
    ) -> list[str]:
        """What is wrong with it, were it registered; or beside one version alone."""
        _check_size(schema)
        visible = visible or self._without_saying
        state = await self.store.caught_up()
        if not schema.text.strip():
            raise invalid_schema("Empty schema")
        wanted = Registration(
            subject, schema, normalize=normalize or state.config(subject).normalize
        )
        wanted = replace(wanted, schema=await self._canonical(state, wanted, visible))
        if which is None:
            return await self._incompatibilities(state, wanted, visible)
        version = version_of(which)
        one = state.latest(subject) if version is None else state.get(subject, version)
        if one is None and version is not None:
            raise version_not_found(version)
        return await self._incompatibilities(state, wanted, visible, [] if one is None else [one])

    async def by_id(self, schema_id: SchemaId, subject: str | None) -> StoredSchema:
        found = self.store.state.by_id(schema_id, subject)
        if found is None:
            state = await self.store.caught_up()
            found = state.by_id(schema_id, subject)
        if found is None:
            raise schema_not_found(schema_id)
        return found

    async def by_guid(self, guid: bytes, shown: str) -> list[tuple[str, StoredSchema]]:
        found = self.store.state.by_guid(guid)
        if not found:
            state = await self.store.caught_up()
            found = state.by_guid(guid)
        if not found:
            raise schema_not_found(shown)
        return found

    async def version(
        self, subject: str, which: str, *, deleted: bool = False, visible: Visible | None = None
    ) -> StoredSchema:
        version = version_of(which)
        visible = visible or self._without_saying
        state = await self.store.caught_up()
        for name in await _visible_in_contexts(state, subject, visible, deleted=deleted):
            found = (
                state.latest(name) if version is None else state.get(name, version, deleted=deleted)
            )
            if found is not None:
                return found
        if not state.has(subject, deleted=deleted):
            raise subject_not_found(subject)
        raise version_not_found("latest" if version is None else version)

    async def formatted(
        self, stored: StoredSchema, form: str, *, visible: Visible | None = None
    ) -> str:
        """The text, in another form if one is asked for."""
        if not form:
            return stored.schema.text
        return await self.workers.formatted(await self.source(stored, visible=visible), form)

    async def source(self, stored: StoredSchema, *, visible: Visible | None = None) -> Source:
        """With all that it refers to, if who asks may read that, too."""
        state = self.store.state
        names = imported_subjects(state, stored.subject, stored.schema)
        await require_visible(visible or self._without_saying, names)
        return source_of(state, stored.subject, stored.schema)

    async def require_readable(self, stored: StoredSchema, access: Access) -> None:
        """By any subject that has it; one may be new, so nobody is denied before all is read."""
        if not await access.visible(_subjects_of(self.store.state, stored)):
            state = await self.store.caught_up()
            await access.require_any(Operation.DESCRIBE, _subjects_of(state, stored))

    # Understanding

    async def _canonical(self, state: State, asked: Registration, visible: Visible) -> Schema:
        # Before anything is said of what it refers to, also whether that is there.
        names = imported_subjects(state, asked.subject, asked.schema)
        await require_visible(visible, names)
        source = source_of(state, asked.subject, asked.schema)
        is_strict = (
            state.config(asked.subject).validates_fields and not state.mode(asked.subject).is_import
        )
        text = await self.workers.canonical(
            source, is_normalized=asked.normalize, is_strict=is_strict
        )
        references = asked.schema.references
        if asked.normalize:
            references = tuple(sorted(set(references)))
        return replace(asked.schema, text=text, references=references)

    async def _found(
        self, state: State, subject: str, schema: Schema, normalize: bool, *, deleted: bool = False
    ) -> StoredSchema | None:
        """By its digest; or by its meaning, where another registry wrote the text."""
        found = registering.existing(state, subject, schema, deleted=deleted)
        if found is not None:
            return found
        versions = state.versions(subject, deleted=deleted)[::-1]
        for stored in versions[:_MOST_LOOKED_THROUGH]:
            if not registering.alike(schema, stored.schema):
                continue
            source = source_of(state, subject, stored.schema)
            if await self.workers.canonical(source, is_normalized=normalize) == schema.text:
                return stored
        return None

    async def _incompatibilities(
        self,
        state: State,
        asked: Registration,
        visible: Visible,
        olds: Sequence[StoredSchema] | None = None,
    ) -> list[str]:
        config = state.config(asked.subject)
        previous = olds[0] if olds else state.latest(asked.subject) if olds is None else None
        if olds is None:
            olds = registering.compared_with(state, asked.subject, asked.schema)
        else:
            olds = registering.of_its_group(config, asked.schema, olds)
        rules = Rules(config.level, config.is_lenient)
        new = source_of(state, asked.subject, asked.schema)
        sources = [source_of(state, old.subject, old.schema) for old in olds]
        found = await self.workers.incompatibilities(new, sources, rules)
        if found:
            names = [
                name for old in olds for name in imported_subjects(state, old.subject, old.schema)
            ]
            if names and not set(names) <= set(await visible(names)):
                found = [_HIDDEN.sentence("new", "old")]
        if config.validates_fields:
            before = None if previous is None else previous.schema
            fields = await self.workers.fields(new) if reserved_fields(asked.schema) else ()
            found = [*registering.reserved_differences(asked.schema, before, fields), *found]
        if found:
            found.append(f"{{compatibility: '{config.level}'}}")
        return found


def in_contexts(state: State, subject: str, *, deleted: bool = False) -> list[str]:
    """The subject, and if it has no context and is not in the default one, those of its name."""
    named = parse(subject)
    if named.context != DEFAULT_CONTEXT or state.has(subject, deleted=deleted):
        return [subject]
    others = (str(Subject(context, named.name)) for context in state.contexts())
    found = [name for name in others if named.name and state.has(name, deleted=deleted)]
    return found or [subject]


async def _visible_in_contexts(
    state: State, subject: str, visible: Visible, *, deleted: bool
) -> list[str]:
    """Who may read the subject that was named need not be allowed to read its namesakes."""
    names = in_contexts(state, subject, deleted=deleted)
    if names == [subject]:
        return names
    seen = await visible(names)
    return [name for name in names if name in seen]


def _subjects_of(state: State, stored: StoredSchema) -> list[str]:
    keys = state.keys_of(context_of(stored.subject), stored.id)
    return [name for name, _ in keys] or [stored.subject]


def version_of(said: str) -> Version | None:
    """None is the latest."""
    if said in ("latest", "-1"):
        return None
    if said.isascii() and said.isdigit() and 0 < int(said) < 2**31:
        return Version(int(said))
    raise RegistryError(
        ErrorCode.INVALID_VERSION,
        f"The specified version '{said[:40]}' is not a valid version id. Allowed values are "
        'between [1, 2^31-1] and the string "latest"',
    )


def _check_size(schema: Schema) -> None:
    size = len(schema.text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT:
        raise RegistryError(
            ErrorCode.SCHEMA_TOO_LARGE, f"a schema of {size} bytes; {MAX_TEXT} are taken"
        )
