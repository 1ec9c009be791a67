"""Is everything that was valid by an older JSON Schema valid by a newer one?

By Confluent's rules, which ask of each keyword whether the newer schema takes less. The answer is
the list of what does. What it calls a content model decides about properties: an open one (no
`additionalProperties`) takes any property, so one that is added with a type takes less than
before; a closed one (`false`) took none, so it may be added. With LENIENT, optional properties
may come and go in both.

Pairs of nodes are compared once. A pair that is met again while it is being compared counts as
compatible; if it turns out that it is not, everything is compared again with that known, until
nothing changes (recursive schemas only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from kafkapy.http.registry.languages.json_schema.arrays import array_differences
from kafkapy.http.registry.languages.json_schema.matching import largest_matching
from kafkapy.http.registry.languages.json_schema.nodes import Kind, Node
from kafkapy.http.registry.languages.json_schema.objects import object_differences
from kafkapy.http.registry.languages.source import Difference

MAX_DIFFERENCES = 100
Found = list[Difference]
Pair = tuple[Node, Node]

#: Keywords whose number may not become smaller, and those whose number may not become larger.
_CEILINGS = {
    Kind.STRING: ("maxLength",),
    Kind.NUMBER: ("maximum", "exclusiveMaximum"),
    Kind.OBJECT: ("maxProperties",),
    Kind.ARRAY: ("maxItems", "maxContains"),
}
_FLOORS = {
    Kind.STRING: ("minLength",),
    Kind.NUMBER: ("minimum", "exclusiveMinimum"),
    Kind.OBJECT: ("minProperties",),
    Kind.ARRAY: ("minItems", "minContains"),
}


def differences(old: Node, new: Node, *, is_lenient: bool) -> Found:
    """What the newer schema does not take any more."""
    known: dict[Pair, Found] = {}
    while True:
        comparison = Comparison(is_lenient, known)
        found = comparison.of(old, new, "")
        bad = {pair: each for pair, each in comparison.known.items() if each}
        if not comparison.was_optimistic or bad.keys() == known.keys():
            return found[:MAX_DIFFERENCES]
        known = bad


class Comparison:
    """One pass over two schemas."""

    def __init__(self, is_lenient: bool, known: dict[Pair, Found]) -> None:
        self.is_lenient = is_lenient
        self.was_optimistic = False
        self.known: dict[Pair, Found] = {}
        self._before = known
        self._under_way: set[Pair] = set()

    def of(self, old: Node | None, new: Node | None, path: str) -> Found:
        if new is None:
            return []
        if old is None:
            return [Difference("SCHEMA_ADDED", _pointer(path))]
        pair = old, new
        if pair in self._under_way:
            if pair in self._before:
                return self._before[pair]
            self.was_optimistic = True
            return []
        found = self.known.get(pair)
        if found is None:
            self._under_way.add(pair)
            found = self._between(old, new, path)[:MAX_DIFFERENCES]
            self._under_way.discard(pair)
            self.known[pair] = found
        return found

    def _between(self, old: Node, new: Node, path: str) -> Found:
        if self._is_one_of(old, new, path):
            return []
        if old.kind is not new.kind:
            if old.kind is Kind.FALSE or new.kind is Kind.EMPTY or _are_bytes(old, new):
                return []
            return [Difference("TYPE_CHANGED", _pointer(path), f"{_name(old)} -> {_name(new)}")]
        compare = _BY_KIND.get(old.kind)
        found = list(_numbers(old, new, path))
        if compare is not None:
            found += compare(self, old, new, path)
        return found

    def _is_one_of(self, old: Node, new: Node, path: str) -> bool:
        """A schema became one of several, or the rest of several that all had to hold."""
        if (old.kind is Kind.COMBINED) == (new.kind is Kind.COMBINED):
            return False
        if new.kind is Kind.COMBINED:
            parts = new.parts()
            if len(parts) != 1 and new.criterion == "allOf":
                return False
            return any(not self.of(old, each, path) for each in parts)
        parts = old.parts()
        if len(parts) != 1 and old.criterion != "allOf":
            return False
        return any(not self.of(each, new, path) for each in parts)


def _pointer(path: str) -> str:
    return f"#{path or '/'}"


def _name(node: Node) -> str:
    return node.criterion or node.kind.name.lower()


def _are_bytes(old: Node, new: Node) -> bool:
    """Kafka Connect has written bytes as strings and as numbers, and says so."""
    return old.contents.get("connect.type") == new.contents.get("connect.type") == "bytes"


def _number(value: Any) -> Decimal | None:
    """Draft 4 has booleans where later drafts have limits: those are no limits of their own."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Decimal(str(value))


def _constant(keyword: str) -> str:
    return "".join(f"_{each}" if each.isupper() else each for each in keyword).upper()


def _numbers(old: Node, new: Node, path: str) -> Iterator[Difference]:
    for keywords, worse in ((_CEILINGS, "DECREASED"), (_FLOORS, "INCREASED")):
        for keyword in keywords.get(old.kind, ()):
            before, after = (_number(each.contents.get(keyword)) for each in (old, new))
            if after is None or before == after:
                continue
            if before is None:
                what = "ADDED"
            elif (after < before) == (worse == "DECREASED"):
                what = worse
            else:
                continue
            yield Difference(f"{_constant(keyword)}_{what}", f"{_pointer(path)}/{keyword}")


def _strings(comparison: Comparison, old: Node, new: Node, path: str) -> Iterator[Difference]:
    before, after = old.contents.get("pattern"), new.contents.get("pattern")
    if after is not None and before != after:
        what = "PATTERN_ADDED" if before is None else "PATTERN_CHANGED"
        yield Difference(what, f"{_pointer(path)}/pattern", str(after))


def _numbers_by_type(
    comparison: Comparison, old: Node, new: Node, path: str
) -> Iterator[Difference]:
    if new.is_integer and not old.is_integer:
        yield Difference("TYPE_NARROWED", _pointer(path), "number -> integer")
    before, after = (_number(each.contents.get("multipleOf")) for each in (old, new))
    if after is None or before == after or not after:
        return
    where = f"{_pointer(path)}/multipleOf"
    if before is None:
        yield Difference("MULTIPLE_OF_ADDED", where)
    elif before and not after % before:
        yield Difference("MULTIPLE_OF_EXPANDED", where)
    elif before % after:
        yield Difference("MULTIPLE_OF_CHANGED", where)


def _enums(comparison: Comparison, old: Node, new: Node, path: str) -> Iterator[Difference]:
    before, after = old.contents["enum"], new.contents["enum"]
    missing = [each for each in before if not _holds(after, each)]
    if missing:
        narrowed = all(_holds(before, each) for each in after)
        what = "ENUM_ARRAY_NARROWED" if narrowed else "ENUM_ARRAY_CHANGED"
        yield Difference(what, f"{_pointer(path)}/enum", str(missing)[:200])


def _holds(values: Sequence[Any], value: Any) -> bool:
    """JSON's equality: true is not 1."""
    return any(
        each == value and isinstance(each, bool) == isinstance(value, bool) for each in values
    )


def _constants(comparison: Comparison, old: Node, new: Node, path: str) -> Iterator[Difference]:
    if not _holds([old.contents["const"]], new.contents["const"]):
        yield Difference("ENUM_ARRAY_CHANGED", f"{_pointer(path)}/const")


def _negations(comparison: Comparison, old: Node, new: Node, path: str) -> Iterator[Difference]:
    """What may not hold is compared the other way around."""
    where = f"{path}/not"
    if comparison.of(new.optional("not"), old.optional("not"), where):
        yield Difference("NOT_TYPE_EXTENDED", _pointer(where))


def _combinations(comparison: Comparison, old: Node, new: Node, path: str) -> Iterator[Difference]:
    before, after = _distinct(old.parts()), _distinct(new.parts())
    if old.criterion != new.criterion and not (
        new.criterion == "anyOf"
        or (len(before) == 1 and len(after) == 1)
        or (len(before) == 1 and new.criterion == "oneOf")
        or (len(after) == 1 and old.criterion == "allOf")
    ):
        found = f"{old.criterion} -> {new.criterion}"
        yield Difference("COMBINED_TYPE_CHANGED", _pointer(path), found)
        return
    if len(before) < len(after) and new.criterion == "allOf":
        yield Difference("PRODUCT_TYPE_EXTENDED", _pointer(path))
    elif len(before) > len(after) and old.criterion != "allOf":
        yield Difference("SUM_TYPE_NARROWED", _pointer(path))
    compatible = [
        [
            place
            for place, other in enumerate(after)
            if not comparison.of(each, other, f"{path}/{old.criterion}/{index}")
        ]
        for index, each in enumerate(before)
    ]
    if largest_matching(compatible) < min(len(before), len(after)):
        yield Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED", _pointer(path))


def _distinct(nodes: list[Node]) -> list[Node]:
    """Saying a thing twice is saying it once."""
    kept: list[Node] = []
    for node in nodes:
        if not any(
            node is each
            or (
                node.contents == each.contents
                and (node.kind, node.criterion, node.is_integer)
                == (each.kind, each.criterion, each.is_integer)
            )
            for each in kept
        ):
            kept.append(node)
    return kept


_BY_KIND: dict[Kind, Callable[[Comparison, Node, Node, str], Iterator[Difference]]] = {
    Kind.STRING: _strings,
    Kind.NUMBER: _numbers_by_type,
    Kind.ENUM: _enums,
    Kind.CONST: _constants,
    Kind.NOT: _negations,
    Kind.COMBINED: _combinations,
    Kind.OBJECT: object_differences,
    Kind.ARRAY: array_differences,
}
