"""The console as a room of the site: THE table of what is shown, and its files."""

from functools import partial
from typing import Final

import trio
from starlette.routing import BaseRoute, Route

from kafkapy.http.console.asked import Asked, Page, endpoint
from kafkapy.http.console.files import static
from kafkapy.http.console.lag import lags_of_any
from kafkapy.http.console.pages import (
    acl_changes,
    alerts,
    api,
    brokers,
    drafts,
    groups,
    logs,
    messages,
    overview,
    produce,
    quota_changes,
    relays,
    resets,
    schemas,
    security,
    settings,
    tail,
    topic,
    topics,
    transactions,
    user_changes,
)
from kafkapy.http.problems import Problem
from kafkapy.http.registry.room import own_kafka
from kafkapy.http.site import Site
from kafkapy.http.watching.history import EVERY_SECONDS

_SUBJECTS: Final = (
    overview,
    brokers,
    settings,
    topics,
    topic,
    messages,
    produce,
    tail,
    relays,
    groups,
    resets,
    transactions,
    schemas,
    drafts,
    security,
    acl_changes,
    user_changes,
    quota_changes,
    alerts,
    logs,
    api,
)


def routes(site: Site) -> list[BaseRoute]:
    found: list[BaseRoute] = [Route("/console/static/{name}", static)]
    for subject in _SUBJECTS:
        for method, path, page in subject.PAGES:
            found.append(_route(site, method, path, page))
    found.append(_route(site, "GET", "/console/{rest:path}", _nothing))
    return found


async def run(site: Site) -> None:
    """What pages show of the last hour."""
    kafka = own_kafka(site)
    while True:
        await site.history.look(site, partial(lags_of_any, kafka))
        await trio.sleep(EVERY_SECONDS)


def _route(site: Site, method: str, path: str, page: Page) -> Route:
    return Route(path, endpoint(site, page), methods=[method])


async def _nothing(asked: Asked) -> None:
    raise Problem(404, f"there is no page {asked.request.url.path}")
