"""A schema's text with all that it imports: what a language needs to read it."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.http.registry.entities import SchemaType


class Import(NamedTuple):
    """What is known under `name` in those that come after it."""

    name: str
    text: str


class Source(NamedTuple):
    """Imports in the order in which they can be read: each after those that it needs itself."""

    type: SchemaType
    text: str
    imports: tuple[Import, ...] = ()


class InvalidSchema(Exception):
    """It does not say what its language lets it say; the text says where."""


class Unfit(Exception):
    """A value that does not fit its schema, or bytes that are none; the text says why."""


class Difference(NamedTuple):
    """One thing in which a newer schema is not compatible with an older one.

    type    Confluent's name for it
    path    where, as a JSON pointer
    what    which one, or why
    """

    type: str
    path: str
    what: str = ""

    def sentence(self, new: str, old: str) -> str:
        """For people, in the form in which Confluent's clients and people expect to read it."""
        about = f" ({self.what})" if self.what else ""
        said = self.type.replace("_", " ").lower()
        return (
            f"{{errorType:'{self.type}', description:'{said} at path '{self.path}' of the {new} "
            f"schema, compared with the {old} schema{about}', additionalInfo:'{self.what}'}}"
        )
