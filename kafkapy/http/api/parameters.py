"""What pages take beside a body: said once, and read by what says it (`of`).

Problem for what is not as it should be.
"""

from typing import Any, Final

from starlette.requests import HTTPConnection

from kafkapy.http.api import shapes
from kafkapy.http.api.shapes import Shape
from kafkapy.http.problems import Problem

QUERY, HEADER, PATH = "query", "header", "path"


class Parameter:
    """Of one name, in one place."""

    def __init__(
        self, name: str, told: str, shape: Shape = shapes.TEXT, *, where: str = QUERY
    ) -> None:
        self.name = name
        self.told = told
        self.shape = shape
        self.where = where

    def said(self, asked: HTTPConnection) -> str | None:
        parts = asked.headers if self.where == HEADER else asked.query_params
        return parts.get(self.name)

    def document(self) -> dict[str, Any]:
        found = {"name": self.name, "in": self.where, "description": self.told}
        return {**found, "required": self.where == PATH, "schema": dict(self.shape)}


class Number(Parameter):
    def __init__(self, name: str, told: str, default: int, *, least: int = 0, most: int) -> None:
        super().__init__(name, told, {**shapes.number(least, most), "default": default})
        self._default = default
        self._least = least
        self._most = most

    def of(self, asked: HTTPConnection) -> int:
        said = self.said(asked)
        return self._default if said is None else bounded(said, self.name, self._least, self._most)


class Word(Parameter):
    """One of several, the first being the default."""

    def __init__(self, name: str, told: str, *allowed: str) -> None:
        super().__init__(name, told, {**shapes.word(*allowed), "default": allowed[0]})
        self._allowed = allowed

    def of(self, asked: HTTPConnection) -> str:
        said = self.said(asked)
        if said is None:
            return self._allowed[0]
        if said not in self._allowed:
            raise Problem(400, f"{self.name} is one of {', '.join(self._allowed)}")
        return said


class Flag(Parameter):
    def __init__(self, name: str, told: str) -> None:
        super().__init__(name, told, {**shapes.FLAG, "default": False})

    def of(self, asked: HTTPConnection) -> bool:
        said = self.said(asked)
        if said not in (None, "true", "false"):
            raise Problem(400, f"{self.name} is true or false")
        return said == "true"


def bounded(said: Any, name: str, least: int, most: int) -> int:
    """A number of JSON's, or one that is written in digits."""
    try:
        found = int(said) if not isinstance(said, (bool, float)) else None
    except (ValueError, TypeError):
        found = None
    if found is None or not least <= found <= most:
        raise Problem(400, f"{name} is a number from {least} to {most}")
    return found


TOPIC: Final = Parameter("topic", "A topic's name", where=PATH)
GROUP: Final = Parameter("group", "A consumer group's id", where=PATH)
PARTITION: Final = Parameter(
    "partition", "A partition's number", shapes.number(0, 2**31 - 1), where=PATH
)
# Whatever a path leaves open is one of these.
IN_PATHS: Final = {one.name: one for one in (TOPIC, GROUP, PARTITION)}
IF_NONE_MATCH: Final = Parameter(
    "If-None-Match", "The tag of what one has: 304 if nothing has changed", where=HEADER
)
IF_MATCH: Final = Parameter(
    "If-Match", "The tag of what one has seen: 412 if that has changed", where=HEADER
)


def partition_of(asked: HTTPConnection) -> int:
    return bounded(asked.path_params[PARTITION.name], PARTITION.name, 0, 2**31 - 1)
