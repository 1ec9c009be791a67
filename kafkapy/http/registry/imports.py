"""What a schema imports, and what that imports: texts in the order in which they can be read."""

from __future__ import annotations

from kafkapy.http.registry.entities import Reference, Schema, StoredSchema, Version
from kafkapy.http.registry.errors import invalid_schema
from kafkapy.http.registry.languages.source import Import, Source
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import normalized, referred

#: Files, and bytes of them all.
MAX_IMPORTS = 500
MAX_BYTES = 8 << 20


def source_of(state: State, subject: str, schema: Schema) -> Source:
    """The schema with all its imports. RegistryError for one that is not there, or too many.

    One that was deleted softly since still counts: records refer to schemas that refer to it.
    """
    found: dict[str, str] = {}
    size = 0
    # Depth first, each after what it imports itself: a stack of those still to be looked at,
    # and of those whose own imports are done.
    waiting = [(subject, reference, False) for reference in reversed(schema.references)]
    under_way: set[str] = set()
    while waiting:
        parent, reference, is_done = waiting.pop()
        stored = _stored(state, parent, reference)
        if is_done:
            found.setdefault(reference.name, stored.schema.text)
            continue
        if reference.name in under_way:
            continue
        under_way.add(reference.name)
        size += len(stored.schema.text)
        if len(under_way) > MAX_IMPORTS or size > MAX_BYTES:
            raise invalid_schema(f"imports more than {MAX_IMPORTS} schemas or {MAX_BYTES} bytes")
        waiting.append((parent, reference, True))
        waiting += [(stored.subject, each, False) for each in reversed(stored.schema.references)]
    imports = tuple(Import(name, text) for name, text in found.items())
    return Source(schema.type, schema.text, imports)


def imported_subjects(state: State, subject: str, schema: Schema) -> list[str]:
    """The subjects of all that `source_of` would take, and of what is not there.

    Each comes after one that refers to it: who may not read the first that is denied has not
    been told of it by another that is hidden.
    """
    found: dict[str, None] = {}
    looked_at: set[tuple[str, Version]] = set()
    waiting = [(subject, reference) for reference in reversed(schema.references)]
    while waiting:
        parent, reference = waiting.pop()
        name = normalized(referred(parent, reference.subject))
        if (name, reference.version) in looked_at:
            continue
        looked_at.add((name, reference.version))
        if len(looked_at) > MAX_IMPORTS:
            raise invalid_schema(f"imports more than {MAX_IMPORTS} schemas")
        found.setdefault(name)
        stored = _known(state, name, reference.version)
        if stored is not None:
            waiting += [(name, each) for each in reversed(stored.schema.references)]
    return list(found)


def _stored(state: State, parent: str, reference: Reference) -> StoredSchema:
    subject = normalized(referred(parent, reference.subject))
    stored = _known(state, subject, reference.version)
    if stored is None:
        raise invalid_schema(
            f"No schema reference found for subject {subject} and version {reference.version}"
        )
    return stored


def _known(state: State, subject: str, version: Version) -> StoredSchema | None:
    if version == -1:
        return state.latest(subject)
    return state.get(subject, version, deleted=True)
