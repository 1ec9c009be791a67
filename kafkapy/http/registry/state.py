"""What the registry knows: a fold over the records of `_schemas`.

    apply(record)     the only writer; never fails, and the same records make the same state
    everything else   reads

Ids are given per context, and one id means one text with what belongs to it, whichever subjects
of the context it is registered under. The digest finds the id of a schema; who refers to whom is
kept by subject and version, because that is how references are written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeVar

from kafkapy.http.registry.configs import DEFAULT_LEVEL, Config, Level, Mode, within
from kafkapy.http.registry.entities import Json, Schema, SchemaId, StoredSchema, Version
from kafkapy.http.registry.records import (
    ConfigSet,
    ContextSet,
    ModeSet,
    Noop,
    Record,
    SchemaForgotten,
    SchemaWritten,
    SubjectCleared,
    SubjectDeleted,
)
from kafkapy.http.registry.subjects import (
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    context_of,
    context_prefix,
    is_context,
    lies_in,
    parse,
    referred,
)

Key = tuple[str, Version]
Value = TypeVar("Value")


class State:
    """Subjects, their versions, and what is set for them."""

    def __init__(self, default_level: Level = DEFAULT_LEVEL) -> None:
        self.default_level = default_level
        self._subjects: dict[str, dict[Version, StoredSchema]] = {}
        self._configs: dict[str | None, Json] = {}
        self._modes: dict[str | None, Mode] = {}
        self._contexts: set[str] = set()
        self._by_id: dict[str, dict[SchemaId, set[Key]]] = defaultdict(dict)
        self._ids: dict[str, dict[bytes, SchemaId]] = defaultdict(dict)
        self._highest: dict[str, int] = defaultdict(int)
        self._referrers: dict[Key, set[Key]] = defaultdict(set)
        # Of the default context, by id and by guid: whole sets, changed as a whole, so that the
        # node's thread may look while this one writes.
        self._names: dict[SchemaId | bytes, frozenset[str]] = {}

    # What becomes true

    def apply(self, record: Record) -> None:
        """Make it so."""
        match record:
            case SchemaWritten(stored):
                self._write(stored)
            case SchemaForgotten(subject, version):
                self._forget(subject, version)
            case SubjectDeleted(subject, version):
                for stored in self.versions(subject):
                    if stored.version <= version:
                        self._write(_deleted(stored))
            case SubjectCleared(subject):
                for stored in list(self.all(subject, deleted=True)):
                    if stored.is_deleted:
                        self._forget(*stored.key)
            case ConfigSet(subject, config):
                _set(self._configs, subject, config)
            case ModeSet(subject, mode):
                known = Mode.__members__.get(mode or "")
                _set(self._modes, subject, known)
            case ContextSet(context, is_there):
                (self._contexts.add if is_there else self._contexts.discard)(context)
            case Noop():
                pass

    def _write(self, stored: StoredSchema) -> None:
        """An id whose text is another one already is not taken over: the first stays."""
        context = context_of(stored.subject)
        others = self._by_id[context].get(stored.id)
        if others:
            known = self._stored(next(iter(others)))
            if known.schema.text != stored.schema.text and stored.key not in others:
                return
        self._forget(*stored.key)
        self._subjects.setdefault(stored.subject, {})[stored.version] = stored
        self._by_id[context].setdefault(stored.id, set()).add(stored.key)
        self._ids[context][stored.schema.digest()] = stored.id
        self._highest[context] = max(self._highest[context], stored.id)
        for key in _references(stored):
            self._referrers[key].add(stored.key)
        self._name(context, stored)

    def _name(self, context: str, stored: StoredSchema) -> None:
        if context != DEFAULT_CONTEXT:
            return
        names = frozenset(name for name, _ in self._by_id[context].get(stored.id, ()))
        for known_as in (stored.id, stored.schema.digest()):
            if names:
                self._names[known_as] = names
            else:
                self._names.pop(known_as, None)

    def _forget(self, subject: str, version: Version) -> None:
        stored = self._subjects.get(subject, {}).pop(version, None)
        if stored is None:
            return
        if not self._subjects[subject]:
            del self._subjects[subject]
        context = context_of(subject)
        same = self._by_id[context][stored.id]
        same.discard(stored.key)
        if not same:
            del self._by_id[context][stored.id]
            self._ids[context].pop(stored.schema.digest(), None)
        for key in _references(stored):
            self._referrers[key].discard(stored.key)
        self._name(context, stored)

    def _stored(self, key: Key) -> StoredSchema:
        return self._subjects[key[0]][key[1]]

    # Subjects and their versions

    def get(self, subject: str, version: Version, *, deleted: bool = False) -> StoredSchema | None:
        """That version, if it is there; a softly deleted one only on request."""
        stored = self._subjects.get(subject, {}).get(version)
        return stored if stored is not None and (deleted or not stored.is_deleted) else None

    def latest(self, subject: str) -> StoredSchema | None:
        return next(reversed(self.versions(subject)), None)

    def versions(self, subject: str, *, deleted: bool = False) -> list[StoredSchema]:
        """Oldest first."""
        found = self._subjects.get(subject, {})
        return [
            found[version] for version in sorted(found) if deleted or not found[version].is_deleted
        ]

    def all(self, scope: str | None, *, deleted: bool = False) -> Iterator[StoredSchema]:
        """All versions of a subject, or of all subjects of a context."""
        for subject in self.subjects(scope, deleted=deleted):
            yield from self.versions(subject, deleted=deleted)

    def subjects(self, scope: str | None, *, deleted: bool = False) -> list[str]:
        """Names, sorted: of those in scope that have a version."""
        return [
            subject
            for subject in sorted(self._subjects)
            if lies_in(subject, scope) and (deleted or self.has(subject))
        ]

    def all_subjects(self, *, deleted: bool = False) -> list[str]:
        """Whatever their context."""
        return self.subjects(context_prefix(GLOBAL_CONTEXT), deleted=deleted)

    def has(self, scope: str | None, *, deleted: bool = False) -> bool:
        """Whether a subject has a version, or any subject of a context does."""
        names = [scope] if scope in self._subjects else self._names_in(scope)
        return any(
            deleted or not stored.is_deleted
            for name in names
            if name is not None
            for stored in self._subjects[name].values()
        )

    def _names_in(self, scope: str | None) -> list[str]:
        return [name for name in self._subjects if lies_in(name, scope)]

    def contexts(self) -> list[str]:
        """Those that somebody registered in, the default one always."""
        return sorted({DEFAULT_CONTEXT, *self._contexts, *map(context_of, self._subjects)})

    # Ids

    def keys_of(self, context: str, schema_id: SchemaId) -> list[Key]:
        """The versions that have this id."""
        return sorted(self._by_id.get(context, {}).get(schema_id, ()))

    def by_id(self, schema_id: SchemaId, subject: str | None) -> StoredSchema | None:
        """The schema of an id, in the context of a subject if one is named.

        A subject without a context is looked for in the others, too: consumers ask with the
        subject of their topic, which need not say where it was registered.
        """
        named = parse(subject or "")
        keys = self.keys_of(named.context, schema_id)
        if not named.name or named.context != DEFAULT_CONTEXT:
            own = [key for key in keys if not named.name or key[0] == subject]
            return self._stored(own[0]) if own else None
        for context in self.contexts():
            for key in self.keys_of(context, schema_id):
                if parse(key[0]).name == named.name:
                    return self._stored(key)
        return self._stored(keys[0]) if keys else None

    def by_guid(self, guid: bytes) -> list[tuple[str, StoredSchema]]:
        """With the context of each."""
        found = []
        for context in self.contexts():
            schema_id = self._ids.get(context, {}).get(guid)
            if schema_id is not None:
                found.append((context, self._stored(self.keys_of(context, schema_id)[0])))
        return found

    def id_of(self, context: str, schema: Schema) -> SchemaId | None:
        """The id under which exactly this is registered there."""
        return self._ids.get(context, {}).get(schema.digest())

    def names_of(self, known_as: SchemaId | bytes) -> frozenset[str] | None:
        """The subjects of the default context that have an id or a guid. For any thread."""
        return self._names.get(known_as)

    def next_id(self, context: str) -> SchemaId:
        return SchemaId(self._highest[context] + 1)

    def highest_id(self, context: str) -> int:
        return self._highest[context]

    # References

    def referrers(self, key: Key, *, deleted: bool = False) -> list[StoredSchema]:
        """The versions that import this one, by id."""
        found = [self._stored(each) for each in self._referrers.get(key, ())]
        return sorted(
            (each for each in found if deleted or not each.is_deleted),
            key=lambda each: (each.id, each.key),
        )

    # What is set

    def own_mode(self, scope: str | None) -> Mode | None:
        return self._modes.get(scope)

    def mode(self, scope: str | None) -> Mode:
        """What applies: its own, its context's, all contexts', or READWRITE."""
        for each in _scopes(scope):
            if each in self._modes:
                return self._modes[each]
        return Mode.READWRITE

    def own_config(self, scope: str | None) -> Config | None:
        found = self._configs.get(scope)
        return None if found is None else Config(found, self.default_level)

    def config(self, scope: str | None) -> Config:
        """What applies. A subject's own still takes some things from the context around it."""
        found = [self._configs[each] for each in _scopes(scope) if each in self._configs]
        said = found[0] if found else {}
        if scope is not None and scope in self._configs:
            said = within(said, self._configs.get(None, {}))
        return Config(said, self.default_level)

    def scopes_with_mode(self) -> list[str]:
        return sorted(scope for scope in self._modes if scope is not None)

    def aliases(self) -> Mapping[str, str]:
        """Subjects that stand for others."""
        return {
            scope: config["alias"]
            for scope, config in self._configs.items()
            if scope is not None and config.get("alias")
        }


def _deleted(stored: StoredSchema) -> StoredSchema:
    return StoredSchema(
        stored.subject, stored.version, stored.id, stored.schema, True, stored.timestamp
    )


def _references(stored: StoredSchema) -> list[Key]:
    return [
        (referred(stored.subject, reference.subject), reference.version)
        for reference in stored.schema.references
    ]


def _scopes(scope: str | None) -> list[str | None]:
    """Where to look, the nearest first."""
    around: list[str | None] = [scope]
    if scope is not None and not is_context(scope):
        around.append(context_prefix(context_of(scope)) or None)
    around.append(context_prefix(GLOBAL_CONTEXT))
    return around


def _set(where: dict[str | None, Value], key: str | None, value: Value | None) -> None:
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value
