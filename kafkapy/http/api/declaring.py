"""A page says what it is, what it takes and what it tells: there, and nowhere else.

    @declared("The topic's settings", parameters=(IF_NONE_MATCH,), answers={200: Told(…)})
    async def read(self, request): ...

    Api("/api/v1/topics/{topic}/configs", GET=configs.read, PATCH=configs.change)

The route is made of that, and the document (document.py). A parameter of the query that a page
has not declared is refused: one that is misspelt is no wish.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafkapy.http.api.parameters import QUERY, Parameter
from kafkapy.http.api.shapes import Shape
from kafkapy.http.problems import Problem

Page = Callable[[Request], Awaitable[Response]]
P = TypeVar("P", bound=Callable[..., Awaitable[Response]])
JSON: Final = "application/json"
_MARK: Final = "_declaration"


class Told(NamedTuple):
    """An answer, or a body; without a shape there is none."""

    told: str
    shape: Shape | None = None
    media_type: str = JSON
    headers: Mapping[str, str] = {}


class Declaration(NamedTuple):
    summary: str
    told: str
    subject: str
    parameters: tuple[Parameter, ...]
    body: Told | None
    answers: Mapping[int, Told]
    problems: tuple[int, ...]


def declared(
    summary: str,
    *,
    subject: str,
    answers: Mapping[int, Told],
    told: str = "",
    parameters: tuple[Parameter, ...] = (),
    body: Told | None = None,
    problems: tuple[int, ...] = (),
) -> Callable[[P], P]:
    """`problems`: the statuses that it refuses with, beside those that any page may have."""
    made = Declaration(summary, told, subject, parameters, body, answers, problems)

    def mark(page: P) -> P:
        setattr(page, _MARK, made)
        return page

    return mark


def declaration_of(page: Any) -> Declaration:
    found: Declaration = getattr(page, _MARK)
    return found


class Api(Route):
    """A path, and its page by method."""

    def __init__(self, path: str, **by_method: Page) -> None:
        self.declarations = {
            method: declaration_of(page) for method, page in sorted(by_method.items())
        }
        known = {
            method: frozenset(one.name for one in said.parameters if one.where == QUERY)
            for method, said in self.declarations.items()
        }

        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            unknown = sorted(request.query_params.keys() - known[method])
            if unknown:
                takes = ", ".join(sorted(known[method])) or "no parameters"
                raise Problem(400, f"{unknown[0][:100]} is nothing that this takes: {takes}")
            return await by_method[method](request)

        super().__init__(path, answer, methods=list(by_method))
