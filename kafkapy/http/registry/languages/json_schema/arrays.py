"""Comparing what two JSON Schemas say of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkapy.http.registry.languages.json_schema.nodes import Kind, Node
from kafkapy.http.registry.languages.json_schema.objects import Comparing, rest_differences
from kafkapy.http.registry.languages.source import Difference


def array_differences(
    comparing: Comparing, old: Node, new: Node, path: str
) -> Iterator[Difference]:
    """What arrays the newer schema does not take any more."""
    if new.contents.get("uniqueItems") is True and old.contents.get("uniqueItems") is not True:
        yield Difference("UNIQUE_ITEMS_ADDED", f"#{path}/uniqueItems")
    yield from comparing.of(_every(old), _every(new), f"{path}/items")
    yield from _places(comparing, old, new, path)
    before, after = _further(old), _further(new)
    where = f"#{path}/additionalItems"
    if after is False and before is not False:
        yield Difference("ADDITIONAL_ITEMS_REMOVED", where)
    elif isinstance(after, dict) and before is True:
        yield Difference("ADDITIONAL_ITEMS_NARROWED", where)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from comparing.of(old.child(before), new.child(after), f"{path}/additionalItems")
    yield from rest_differences(
        comparing, old, new, path, ("unevaluatedItems", "UNEVALUATED_ITEMS"), False
    )


def _every(node: Node) -> Node | None:
    """What each item must be, where items are not told apart by their place."""
    items = node.contents.get("items")
    if isinstance(items, bool) and node.is_modern:
        # All that are left after none in their places: `_further` says whether there may be any.
        return None
    if "prefixItems" in node.contents or not isinstance(items, (dict, bool)):
        return None
    return node.child(items)


def _in_place(node: Node) -> list[Node]:
    """What the first items must be, each by its place: `prefixItems`, or `items` before 2020."""
    items = node.contents.get("prefixItems", node.contents.get("items"))
    return [node.child(each) for each in items] if isinstance(items, list) else []


def _further(node: Node) -> Any:
    """What items after those may be."""
    items = node.contents.get("items", True)
    if not node.is_modern or isinstance(items, list):
        # Drafts before 2019-09 ignore it where there are no places; Confluent's registry does not.
        return node.contents.get("additionalItems", True)
    return items if "prefixItems" in node.contents or items is False else True


def _places(comparing: Comparing, old: Node, new: Node, path: str) -> Iterator[Difference]:
    before, after = _in_place(old), _in_place(new)
    both = min(len(before), len(after))
    for index in range(max(len(before), len(after))):
        where = f"{path}/items/{index}"
        if index < both:
            yield from comparing.of(before[index], after[index], where)
        elif index < len(before):
            yield from _removed(comparing, before[index], new, where)
        else:
            yield from _added(comparing, old, after[index], where)


def _removed(comparing: Comparing, old: Node, model: Node, where: str) -> Iterator[Difference]:
    if _is_open(model):
        return
    other = _partially_open(model)
    if other is not None:
        found = comparing.of(old, other, where)
        yield from found
        if found:
            kind = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield Difference(kind, f"#{where}")
    elif old.kind is not Kind.FALSE:
        yield Difference("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", f"#{where}")


def _added(comparing: Comparing, model: Node, new: Node, where: str) -> Iterator[Difference]:
    if _is_open(model):
        if new.kind is not Kind.EMPTY:
            yield Difference("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", f"#{where}")
        return
    other = _partially_open(model)
    if other is not None:
        found = comparing.of(other, new, where)
        yield from found
        if found:
            kind = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield Difference(kind, f"#{where}")


def _is_open(node: Node) -> bool:
    if _further(node) is not True:
        return False
    rest = node.optional("unevaluatedItems")
    return rest is None or rest.kind is Kind.EMPTY


def _partially_open(node: Node) -> Node | None:
    further = _further(node)
    if isinstance(further, dict):
        return node.child(further)
    rest = node.optional("unevaluatedItems") if further is True else None
    if rest is not None and rest.kind not in (Kind.FALSE, Kind.EMPTY):
        return rest
    return None
