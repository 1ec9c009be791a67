"""Comparing what two JSON Schemas say of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from kafkapy.http.registry.languages.json_schema.nodes import Kind, Node
from kafkapy.http.registry.languages.source import Difference

#: Compatible only with LENIENT: an open content model takes them already, typed otherwise.
LENIENT = frozenset(
    (
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    )
)


class Comparing(Protocol):
    """What goes on with the schemas inside."""

    is_lenient: bool

    def of(self, old: Node | None, new: Node | None, path: str) -> list[Difference]: ...


def object_differences(
    comparing: Comparing, old: Node, new: Node, path: str
) -> Iterator[Difference]:
    """What objects the newer schema does not take any more."""
    for found in _all(comparing, old, new, path):
        if not (comparing.is_lenient and found.type in LENIENT):
            yield found


def _all(comparing: Comparing, old: Node, new: Node, path: str) -> Iterator[Difference]:
    before, after = old.children("properties"), new.children("properties")
    required = _required(old), _required(new)
    for name in before:
        if name in after and name in required[1] - required[0] and not after[name].has_default:
            yield Difference("REQUIRED_ATTRIBUTE_ADDED", f"#{path}/required/{name}", name)
    for name in {**before, **after}:
        where = f"{path}/properties/{name}"
        if name not in after:
            yield from _removed(comparing, before[name], new, name, where)
        elif name not in before:
            yield from _added(comparing, old, after[name], name, name in required[1], where)
        else:
            yield from comparing.of(before[name], after[name], where)
    yield from _dependencies(comparing, old, new, path)
    yield from rest_differences(
        comparing, old, new, path, ("additionalProperties", "ADDITIONAL_PROPERTIES"), True
    )
    yield from rest_differences(
        comparing, old, new, path, ("unevaluatedProperties", "UNEVALUATED_PROPERTIES"), False
    )


def _removed(
    comparing: Comparing, old: Node, model: Node, name: str, where: str
) -> Iterator[Difference]:
    """The newer content model decides whether it still takes the property."""
    if _is_open(model):
        return
    other = _partially_open(model, name)
    if other is not None:
        found = comparing.of(old, other, where)
        yield from found
        if found:
            kind = "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield Difference(kind, f"#{where}", name)
    elif old.kind is not Kind.FALSE:
        yield Difference("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", f"#{where}", name)


def _added(
    comparing: Comparing, model: Node, new: Node, name: str, is_required: bool, where: str
) -> Iterator[Difference]:
    """The older content model decides what the property could be before."""
    if _is_open(model):
        if new.kind is Kind.EMPTY:
            return
        kind = "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
        if is_required:
            default = "WITH_DEFAULT_" if new.has_default else ""
            kind = f"REQUIRED_PROPERTY_{default}ADDED_TO_OPEN_CONTENT_MODEL"
        yield Difference(kind, f"#{where}", name)
        return
    other = _partially_open(model, name)
    if other is not None:
        found = comparing.of(other, new, where)
        yield from found
        if found:
            kind = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield Difference(kind, f"#{where}", name)
    if is_required and not new.has_default:
        yield Difference("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", f"#{where}", name)


def _required(node: Node) -> frozenset[str]:
    found = node.contents.get("required")
    return frozenset(found) if isinstance(found, list) else frozenset()


def _is_open(node: Node) -> bool:
    """Any property that is not named is taken, whatever it is."""
    if node.contents.get("additionalProperties", True) is not True:
        return False
    if node.contents.get("patternProperties"):
        return False
    rest = node.optional("unevaluatedProperties")
    return rest is None or rest.kind is Kind.EMPTY


def _partially_open(node: Node, name: str) -> Node | None:
    """What a property must be that is not named, if it may be there."""
    for pattern, found in node.children("patternProperties").items():
        try:
            if re.search(pattern, name):
                return found
        except re.error:
            continue
    more = node.contents.get("additionalProperties")
    if isinstance(more, dict):
        return node.child(more)
    if more is None:
        rest = node.optional("unevaluatedProperties")
        if rest is not None and rest.kind not in (Kind.FALSE, Kind.EMPTY):
            return rest
    return None


def rest_differences(
    comparing: Comparing,
    old: Node,
    new: Node,
    path: str,
    keyword: tuple[str, str],
    is_open_without: bool,
) -> Iterator[Difference]:
    """Of a keyword that says what else is taken: false, a schema, or anything."""
    name, constant = keyword
    before, after = _rest(old, name), _rest(new, name)
    where = f"#{path}/{name}"
    if after is False and before is not False:
        yield Difference(f"{constant}_REMOVED", where)
    elif isinstance(after, dict) and before is True:
        if is_open_without or new.child(after).kind is not Kind.EMPTY:
            yield Difference(f"{constant}_NARROWED", where)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from comparing.of(old.child(before), new.child(after), f"{path}/{name}")


def _rest(node: Node, name: str) -> Any:
    return node.contents.get(name, True)


def _dependencies(comparing: Comparing, old: Node, new: Node, path: str) -> Iterator[Difference]:
    before, after = _dependency_map(old), _dependency_map(new)
    for name, needs in after.items():
        where = f"{path}/dependencies/{name}"
        had = before.get(name)
        if isinstance(needs, list):
            if not isinstance(had, list):
                yield Difference("DEPENDENCY_ARRAY_ADDED", f"#{where}", name)
            elif not set(needs) <= set(had):
                extended = set(needs) >= set(had)
                kind = "DEPENDENCY_ARRAY_EXTENDED" if extended else "DEPENDENCY_ARRAY_CHANGED"
                yield Difference(kind, f"#{where}", name)
        elif had is None or isinstance(had, list):
            yield Difference("DEPENDENCY_SCHEMA_ADDED", f"#{where}", name)
        else:
            yield from comparing.of(old.child(had), new.child(needs), where)


def _dependency_map(node: Node) -> dict[str, Any]:
    """One keyword until draft 7, two since."""
    made: dict[str, Any] = {}
    for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
        found = node.contents.get(keyword)
        if isinstance(found, dict):
            made.update(found)
    return made
