"""Deleting versions, subjects and contexts: softly first, then for good.

A soft delete hides a version from those who ask for the latest or compare with it; its id keeps
answering, because records with it are in topics. Only what is softly deleted can be deleted for
good, and neither as long as another schema refers to it.
"""

from __future__ import annotations

from dataclasses import replace

from kafkapy.core.step import Step
from kafkapy.http.registry.entities import StoredSchema, Version
from kafkapy.http.registry.errors import (
    ErrorCode,
    RegistryError,
    not_permitted,
    subject_not_found,
    version_not_found,
)
from kafkapy.http.registry.records import (
    ConfigSet,
    ContextSet,
    ModeSet,
    Record,
    SchemaForgotten,
    SchemaWritten,
    SubjectDeleted,
)
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import context_of, context_prefix


def version(
    state: State, subject: str, which: Version | None, *, permanently: bool
) -> Step[Record, Version]:
    """Delete one version; None is the latest."""
    stored = _found(state, subject, which)
    if stored.is_deleted and not permanently:
        raise RegistryError(
            ErrorCode.VERSION_SOFT_DELETED,
            f"Subject '{subject}' Version {stored.version} was soft deleted."
            "Set permanent=true to delete permanently",
        )
    _check_writable(state, subject)
    if state.referrers(stored.key, deleted=permanently):
        raise _referred(stored)
    if not permanently:
        record: Record = SchemaWritten(replace(stored, is_deleted=True))
        return Step(records=(record,), reply=stored.version)
    if not stored.is_deleted:
        raise RegistryError(
            ErrorCode.VERSION_NOT_SOFT_DELETED,
            f"Subject '{subject}' Version {stored.version} was not deleted first before being "
            "permanently deleted",
        )
    records: list[Record] = [SchemaForgotten(*stored.key)]
    if len(state.versions(subject, deleted=True)) == 1:
        records += _settings_of(state, subject)
    return Step(records=tuple(records), reply=stored.version)


def subject(state: State, name: str, *, permanently: bool) -> Step[Record, list[Version]]:
    """Delete all versions of a subject."""
    if not state.versions(name, deleted=True):
        raise subject_not_found(name)
    if not permanently and not state.versions(name):
        raise RegistryError(
            ErrorCode.SUBJECT_SOFT_DELETED,
            f"Subject '{name}' was soft deleted.Set permanent=true to delete permanently",
        )
    _check_writable(state, name)
    gone = state.versions(name, deleted=permanently)
    for stored in gone:
        if any(by.subject != name for by in state.referrers(stored.key, deleted=permanently)):
            raise _referred(stored)
        if permanently and not stored.is_deleted:
            raise RegistryError(
                ErrorCode.SUBJECT_NOT_SOFT_DELETED,
                f"Subject '{name}' was not deleted first before being permanently deleted",
            )
    versions = [stored.version for stored in gone]
    if not permanently:
        return Step(records=(SubjectDeleted(name, versions[-1]),), reply=versions)
    # Backwards: a version may refer to an earlier one of its own subject.
    forgotten = tuple(SchemaForgotten(*stored.key) for stored in reversed(gone))
    return Step(records=(*forgotten, *_settings_of(state, name)), reply=versions)


def context(state: State, name: str) -> Step[Record, None]:
    """An empty context is forgotten."""
    if state.has(context_prefix(name), deleted=True):
        raise RegistryError(ErrorCode.CONTEXT_NOT_EMPTY, f"Context {name} is not empty")
    return Step(records=(ContextSet(name, False),))


def _found(state: State, subject: str, which: Version | None) -> StoredSchema:
    if not state.versions(subject, deleted=True):
        raise subject_not_found(subject)
    stored = state.latest(subject) if which is None else state.get(subject, which, deleted=True)
    if stored is None:
        raise version_not_found("latest" if which is None else which)
    return stored


def _settings_of(state: State, subject: str) -> list[Record]:
    """They go with the subject."""
    records: list[Record] = []
    if state.own_mode(subject) is not None:
        records.append(ModeSet(subject, None))
    if state.own_config(subject) is not None:
        records.append(ConfigSet(subject, None))
    return records


def _check_writable(state: State, subject: str) -> None:
    if state.mode(subject).is_read_only:
        where = f"Subject {subject} in context {context_of(subject)}"
        raise not_permitted(f"{where} is in read-only mode")


def _referred(stored: StoredSchema) -> RegistryError:
    return RegistryError(
        ErrorCode.REFERENCE_EXISTS,
        "One or more references exist to the schema "
        f"{{magic=1,keytype=SCHEMA,subject={stored.subject},version={stored.version}}}.",
    )
