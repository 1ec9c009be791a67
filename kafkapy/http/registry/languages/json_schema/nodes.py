"""JSON Schemas by kind, so that two can be compared.

A schema may say several things at once. Each becomes a node of one kind; several together are
`allOf` of them. `"type": ["string", "null"]` is `anyOf` of two. References are followed here.

Which keywords there are is said by `$schema` of the whole: a draft does not know those that came
after it. Without it that is draft 7, as for Confluent's registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from kafkapy.http.registry.languages.json_schema.reading import Document, inside, looked_up
from kafkapy.http.registry.languages.source import InvalidSchema


class Kind(Enum):
    """What a node says something about."""

    EMPTY = auto()
    FALSE = auto()
    STRING = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    NULL = auto()
    OBJECT = auto()
    ARRAY = auto()
    ENUM = auto()
    CONST = auto()
    NOT = auto()
    CONDITION = auto()
    COMBINED = auto()


_TYPES = {
    "string": Kind.STRING,
    "number": Kind.NUMBER,
    "integer": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
    "null": Kind.NULL,
    "object": Kind.OBJECT,
    "array": Kind.ARRAY,
}
#: What a schema without a type is about, by its keywords.
_KEYWORDS = {
    Kind.OBJECT: frozenset(
        (
            *("properties", "required", "additionalProperties", "patternProperties"),
            *("minProperties", "maxProperties", "propertyNames", "dependencies"),
            *("dependentRequired", "dependentSchemas", "unevaluatedProperties"),
        )
    ),
    Kind.ARRAY: frozenset(
        (
            *("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"),
            *("contains", "unevaluatedItems"),
        )
    ),
    Kind.STRING: frozenset(("minLength", "maxLength", "pattern", "format")),
    Kind.NUMBER: frozenset(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    ),
}
_MODERN = ("2019-09", "2020-12")
#: Keywords that drafts before those do not know.
_NEWER = frozenset(
    (
        *("prefixItems", "unevaluatedItems", "unevaluatedProperties"),
        *("dependentRequired", "dependentSchemas"),
    )
)
_COUNTS = frozenset(("minContains", "maxContains"))
_CRITERIA = ("allOf", "anyOf", "oneOf")
#: Beside a reference they change nothing that is compared.
_ANNOTATIONS = frozenset(
    (
        *("$ref", "$id", "$schema", "$comment", "$anchor", "definitions", "$defs", "title"),
        *("description", "default", "examples", "readOnly", "writeOnly", "deprecated"),
    )
)
_MAX_HOPS = 50
#: Of properties; Confluent keeps such names for itself.
_KEPT_PREFIX = "$$"


class Node:
    """One thing that a schema says."""

    __slots__ = ("_nodes", "contents", "criterion", "is_integer", "kind", "parts", "resolver")

    def __init__(self, nodes: Nodes, kind: Kind, contents: Any, resolver: Any) -> None:
        self._nodes = nodes
        self.kind = kind
        self.contents: Mapping[str, Any] = contents if isinstance(contents, dict) else {}
        self.resolver = resolver
        self.is_integer = False
        self.criterion = ""
        self.parts: Callable[[], list[Node]] = list

    def child(self, contents: Any) -> Node:
        return self._nodes.of(contents, self.resolver)

    def children(self, keyword: str) -> dict[str, Node]:
        """By name, of a keyword that holds an object of schemas."""
        found = self.contents.get(keyword)
        if not isinstance(found, dict):
            return {}
        return {name: self.child(each) for name, each in found.items()}

    def optional(self, keyword: str) -> Node | None:
        found = self.contents.get(keyword)
        return self.child(found) if isinstance(found, (dict, bool)) else None

    @property
    def is_modern(self) -> bool:
        """Of draft 2019-09 or newer."""
        return self._nodes.is_modern

    @property
    def has_default(self) -> bool:
        return "default" in self.contents


class Nodes:
    """The nodes of one document; the same part of it is always the same node."""

    def __init__(self, document: Document) -> None:
        self._document = document
        root = document.root if isinstance(document.root, dict) else {}
        self.is_modern = any(draft in str(root.get("$schema")) for draft in _MODERN)
        self._known: dict[int, Node] = {}

    def root(self) -> Node:
        return self.of(self._document.root, self._document.resolver)

    def of(self, contents: Any, resolver: Any, hops: int = 0) -> Node:
        known = self._known.get(id(contents)) if isinstance(contents, dict) else None
        if known is None:
            known = self._made(contents, resolver, hops)
            if isinstance(contents, dict):
                self._known[id(contents)] = known
        return known

    def _made(self, contents: Any, resolver: Any, hops: int) -> Node:
        if contents is False:
            return Node(self, Kind.FALSE, contents, resolver)
        if not isinstance(contents, dict):
            return Node(self, Kind.EMPTY, contents, resolver)
        if contents is not self._document.root:
            resolver = inside(contents, resolver)
        contents = self._of_its_draft(contents)
        parts = self._parts(contents, resolver, hops)
        if not parts:
            return Node(self, Kind.EMPTY, contents, resolver)
        if len(parts) == 1:
            return parts[0]
        return self._combined("allOf", lambda: parts, contents, resolver)

    def _of_its_draft(self, contents: dict[str, Any]) -> dict[str, Any]:
        """Without what its draft does not know, and with what it means without being said."""
        if not self.is_modern:
            unknown = _NEWER
        elif "contains" in contents:
            return {"minContains": 1, **contents}
        else:
            unknown = _COUNTS
        if unknown.isdisjoint(contents):
            return contents
        return {key: each for key, each in contents.items() if key not in unknown}

    def _parts(self, contents: dict[str, Any], resolver: Any, hops: int) -> list[Node]:
        parts: list[Node] = []
        reference = contents.get("$ref")
        if isinstance(reference, str):
            if hops > _MAX_HOPS:
                raise InvalidSchema(f"{reference[:200]} refers to itself")
            found = looked_up(reference, resolver)
            parts.append(self.of(found.contents, found.resolver, hops + 1))
            if _ANNOTATIONS.issuperset(contents):
                return parts
        for keyword, kind in (
            ("enum", Kind.ENUM),
            ("const", Kind.CONST),
            ("not", Kind.NOT),
            ("if", Kind.CONDITION),
        ):
            if keyword in contents:
                parts.append(Node(self, kind, contents, resolver))
        for criterion in _CRITERIA:
            if isinstance(contents.get(criterion), list):
                parts.append(self._of_criterion(criterion, contents, resolver))
        parts += self._typed(contents, resolver)
        return parts

    def _of_criterion(self, criterion: str, contents: dict[str, Any], resolver: Any) -> Node:
        def parts() -> list[Node]:
            return [self.of(each, resolver) for each in contents[criterion]]

        return self._combined(criterion, parts, contents, resolver)

    def _typed(self, contents: dict[str, Any], resolver: Any) -> list[Node]:
        types = contents.get("type")
        if types is None:
            return [
                Node(self, kind, contents, resolver)
                for kind, keywords in _KEYWORDS.items()
                if not keywords.isdisjoint(contents)
            ]
        names = types if isinstance(types, list) else [types]
        nodes = [self._of_type(name, contents, resolver) for name in names]
        if len(nodes) < 2:
            return nodes
        return [self._combined("anyOf", lambda: nodes, contents, resolver)]

    def _of_type(self, name: str, contents: dict[str, Any], resolver: Any) -> Node:
        node = Node(self, _TYPES[name], contents, resolver)
        node.is_integer = name == "integer"
        return node

    def _combined(
        self, criterion: str, parts: Callable[[], list[Node]], contents: Any, resolver: Any
    ) -> Node:
        node = Node(self, Kind.COMBINED, contents, resolver)
        node.criterion, node.parts = criterion, parts
        return node


def check_names(document: Document) -> None:
    """InvalidSchema if the whole is an object and has a property with a name that is kept."""
    root = Nodes(document).root()
    if root.kind is not Kind.OBJECT or "$ref" in document.root:
        return
    for name in root.contents.get("properties") or ():
        if name.startswith(_KEPT_PREFIX):
            raise InvalidSchema(f"at #/properties/{name[:200]}: names do not begin with $$ here")
