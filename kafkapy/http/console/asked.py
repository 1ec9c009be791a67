"""One request for a page of the console: what is asked, in whose name, and what it is answered.

Forms are taken from this console's own pages only: a browser says where a form came from (Origin),
and who does not say it is refused. Nothing is kept in cookies. What goes wrong is a page, too;
whoever lacks a right is told which.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.console.rendering import rendered
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.registry.errors import RegistryError
from kafkapy.http.site import Site, principal_of

# same-origin: with no-referrer a browser says "null" for where a form comes from.
HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_MOST_FIELDS: Final = 5000
_FORBIDDEN: Final = 403
# What a page says after something was done; the words are ours, not the address's.
_DONE: Final = {
    "created": "The topic is created.",
    "deleted": "The topic is deleted.",
    "grown": "The partitions are added.",
    "set": "The setting is changed.",
    "reset": "The group's offsets are changed.",
    "group-deleted": "The group is deleted.",
    "granted": "It is added.",
    "taken-back": "It is removed.",
    "user": "The password is set.",
    "user-gone": "The credential is removed.",
    "quota": "The quotas are changed.",
    "aborted": "The transaction is aborted, and its producer fenced.",
    "registered": "The schema is registered.",
    "level": "The compatibility is changed.",
    "schema-deleted": "It is deleted.",
}


class Lacking(Exception):
    """A right that the principal does not have."""

    def __init__(self, operation: str, resource: str, name: str) -> None:
        super().__init__(f"{operation} on {resource} {name}")
        self.operation = operation
        self.resource = resource
        self.name = name


class Asked:
    """The site, the request, and Kafka in the name of who asks."""

    def __init__(self, site: Site, request: Request) -> None:
        self.site = site
        self.request = request
        self.kafka: Kafka = site.kafka(request)
        self.principal = principal_of(request)

    # --- what is asked ---

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        return str(self.request.query_params.get(name, default)).strip()

    def number(self, name: str, default: int, least: int = 0, most: int = 2**63 - 1) -> int:
        return number(self.query(name), name, default, least, most)

    async def form(self) -> list[tuple[str, str]]:
        """As it was sent, in order."""
        self._require_own_page()
        body = await self.request.body()
        try:
            return parse_qsl(
                body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
            )
        except ValueError:
            raise Problem(400, "this is no form, or one with too many fields") from None

    async def fields(self) -> dict[str, str]:
        """By name; the last of those with one name."""
        return dict(await self.form())

    def _require_own_page(self) -> None:
        origin = self.request.headers.get("origin", "")
        if urlsplit(origin).netloc.lower() != self.request.headers.get("host", "").lower():
            raise Problem(403, "a form is taken from this console's own pages only")

    # --- what is answered ---

    def page(self, template: str, status: int = 200, **context: Any) -> Response:
        text = rendered(
            template,
            principal=self.principal,
            here=self.request.url.path,
            status=status,
            done=_DONE.get(self.query("done")) if status == 200 else None,
            query=dict(self.request.query_params),
            **context,
        )
        return Response(text, status, HEADERS, media_type="text/html")

    def problem(self, status: int, said: str, code: ErrorCode | None = None) -> Response:
        was_form = self.request.method == "POST"
        return self.page("problem.html", status, said=said, code=code, was_form=was_form)

    def link(self, **changed: Any) -> str:
        """This page with other parameters; those that are None are left out."""
        kept = {**self.request.query_params, **changed}
        kept.pop("done", None) if "done" not in changed else None
        return "?" + urlencode({name: one for name, one in kept.items() if one not in (None, "")})

    @staticmethod
    def go(path: str, **query: str) -> Response:
        """Elsewhere, after something was done: loading again does not do it again."""
        return RedirectResponse(path + ("?" + urlencode(query) if query else ""), 303, HEADERS)

    @contextmanager
    def needs(self, operation: str, resource: str, name: str) -> Iterator[None]:
        """What Kafka refuses in here is refused for want of this right."""
        try:
            yield
        except KafkaError as failed:
            # A topic that one may not see is not told from one that is not there.
            if failed.status == _FORBIDDEN and failed.code != ErrorCode.POLICY_VIOLATION:
                raise Lacking(operation, resource, name) from failed
            raise


Page = Callable[[Asked], Awaitable[Any]]
Pages = tuple[tuple[str, str, Page], ...]


def endpoint(site: Site, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        asked = Asked(site, request)
        try:
            response: Response = await page(asked)
        except Lacking as lacking:
            return asked.page("lacking.html", _FORBIDDEN, lacking=lacking)
        except KafkaError as failed:
            return asked.problem(failed.status, str(failed), failed.code)
        except RegistryError as failed:
            return asked.problem(failed.status, failed.message)
        except Problem as failed:
            return asked.problem(failed.status, failed.detail)
        return response

    return answer


def number(text: str, name: str, default: int, least: int = 0, most: int = 2**63 - 1) -> int:
    """What somebody typed; Problem if it is none that serves."""
    if text == "":
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise Problem(400, f"{name} is a number, and not {text!r}")
    found = int(text)
    if not least <= found <= most:
        raise Problem(400, f"{name} is between {least} and {most}, and not {found}")
    return found


def told(answer: Mapping[int, Any]) -> tuple[dict[int, Any], dict[int, KafkaError]]:
    """Of `ask_all`: what brokers answered, and who did not."""
    good = {node: one for node, one in answer.items() if not isinstance(one, KafkaError)}
    return good, {node: one for node, one in answer.items() if isinstance(one, KafkaError)}
