"""Reading JSON Schemas: valid by their metaschema, with every reference found.

`jsonschema` knows the drafts and their metaschemas, `referencing` follows `$ref` by each draft's
rules. Nothing is fetched: what a schema refers to lies in it or in the schemas it imports, under
the names by which it imports them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import referencing
import referencing.exceptions
import referencing.jsonschema
from jsonschema.validators import validator_for

from kafkapy.http.registry.languages.source import InvalidSchema, Source

MAX_DEPTH = 200

_DEFAULT = jsonschema.Draft7Validator
_SPECIFICATION = referencing.jsonschema.DRAFT7
#: What holds data, not schemas.
_DATA = ("enum", "const", "default", "examples")


class Document:
    """A schema with what is known by which name in it."""

    def __init__(self, source: Source) -> None:
        self.root = tree(source.text)
        resources = [(each.name, _resource(tree(each.text))) for each in source.imports]
        resource = _resource(self.root)
        try:
            self.registry = referencing.Registry[Any]().with_resources(resources).crawl()
            self.resolver = self.registry.resolver_with_root(resource)
        except (ValueError, AttributeError, TypeError, KeyError) as why:
            raise InvalidSchema(f"no identifiers to resolve by: {why}"[:500]) from None


def read(source: Source) -> Document:
    """The schema; InvalidSchema if it is none by its metaschema, or a reference leads nowhere."""
    document = Document(source)
    cls = validator_for(document.root, default=_DEFAULT)
    try:
        cls.check_schema(document.root)
    except jsonschema.exceptions.SchemaError as why:
        where = "/".join(map(str, why.absolute_path))
        raise InvalidSchema(f"at #/{where}: {why.message}"[:500]) from None
    for contents, resolver in _objects(document):
        reference = contents.get("$ref")
        if isinstance(reference, str):
            looked_up(reference, resolver)
    return document


def looked_up(reference: str, resolver: Any) -> Any:
    try:
        return resolver.lookup(reference)
    except (referencing.exceptions.Unresolvable, ValueError, AttributeError, TypeError):
        raise InvalidSchema(f"nothing is known as {reference[:200]}") from None


def inside(contents: Any, resolver: Any) -> Any:
    """The resolver for what lies in a schema, which may have an identifier of its own."""
    if isinstance(contents, dict) and isinstance(contents.get("$id"), str):
        return resolver.in_subresource(_resource(contents))
    return resolver


def tree(text: str) -> Any:
    """The JSON of a schema."""
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidSchema("not JSON") from None
    if not isinstance(made, (dict, bool)):
        raise InvalidSchema("a schema is an object, true or false")
    layer, depth = [made], 0
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            raise InvalidSchema(f"nested deeper than {MAX_DEPTH}")
        layer = [below for each in layer for below in _below(each)]
    return made


def canonical(text: str) -> str:
    """Without white space, in the order in which it was written."""
    return json.dumps(tree(text), separators=(",", ":"), ensure_ascii=False)


def normalized(text: str) -> str:
    """In alphabetical order."""
    return json.dumps(tree(text), separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _resource(contents: Any) -> Any:
    return referencing.Resource.from_contents(contents, default_specification=_SPECIFICATION)


def _below(each: Any) -> Iterator[Any]:
    children = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    return (child for child in children if isinstance(child, (dict, list)))


def _objects(document: Document) -> Iterator[tuple[dict[str, Any], Any]]:
    """Every object that may be a schema."""
    waiting = [(document.root, document.resolver)]
    while waiting:
        contents, resolver = waiting.pop()
        if isinstance(contents, list):
            waiting.extend((each, resolver) for each in contents)
        elif isinstance(contents, dict):
            within = inside(contents, resolver) if contents is not document.root else resolver
            yield contents, within
            waiting.extend((value, within) for key, value in contents.items() if key not in _DATA)
