"""The registry as a room of the site: one per site, made when its routes are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from weakref import WeakKeyDictionary

import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from kafkapy.broker.config.table.broker_keys import SUPER_USERS
from kafkapy.broker.requests.request import ANONYMOUS
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.registry.access import Access
from kafkapy.http.registry.authority import Authority
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.errors import RegistryError
from kafkapy.http.registry.pages.table import PAGES, Page
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.requests import Asked, answered, of_kafka, refused, segments
from kafkapy.http.registry.store import Store
from kafkapy.http.registry.workers import Workers
from kafkapy.http.site import Site

_PATTERNS = [(method, tuple(pattern.split("/")), page) for method, pattern, page in PAGES]
_METHODS = ("GET", "POST", "PUT", "DELETE")
_registries: WeakKeyDictionary[Site, Registry] = WeakKeyDictionary()


def registry_of(site: Site) -> Registry:
    """The site's registry."""
    found = _registries.get(site)
    if found is None:
        config = site.config
        level = Level(config.schema_registry_compatibility_level)
        store = Store(lambda: own_kafka(site), config.schema_registry_topic, level)
        cluster_id = site.link.node.cluster_id
        found = Registry(store, Workers(), cluster_id, partial(_visible_to_anybody, site))
        _registries[site] = found
    return found


async def _visible_to_anybody(site: Site, subjects: Iterable[str]) -> Collection[str]:
    """What may be read without its being known who asks: all of it, or nothing."""
    return frozenset(subjects) if site.link.node.authorizer is None else frozenset()


def own_kafka(site: Site) -> Kafka:
    """The node itself asks, as the first super user: who asked it is judged by access.py."""
    supers = site.config.static.get(SUPER_USERS, "").split(";")
    principal = next((one.strip() for one in supers if one.strip()), ANONYMOUS)
    return Kafka(site.link, principal, "127.0.0.1", timeout_ms=site.config.http_request_timeout_ms)


def routes(site: Site) -> list[BaseRoute]:
    """One page for all: the table of pages knows paths as they were sent."""
    registry = registry_of(site)

    async def page(request: Request) -> Response:
        return await _answer(registry, site, request)

    tops = dict.fromkeys(pattern.partition("/")[0] for _, pattern, _ in PAGES if pattern[0] != "v")
    paths = [f"/{top}" for top in tops] + [f"/{top}/{{rest:path}}" for top in tops]
    return [Route(path, page, methods=list(_METHODS)) for path in (*paths, "/v1/metadata/{rest}")]


async def run(site: Site) -> None:
    """Read what is written, and let go of what is not needed."""
    registry = registry_of(site)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(registry.store.follow)
            nursery.start_soon(registry.workers.let_go_when_idle)
            authority = Authority(site, registry.store, nursery)
            await site.link.call(partial(_tell, site, authority))
    finally:
        await registry.workers.close()


def _tell(site: Site, authority: Authority) -> None:
    """On the node's loop. A node that is no broker has no topics to ask for."""
    if site.link.node.broker is not None:
        site.link.node.broker.schema_ids.authority = authority


async def _answer(registry: Registry, site: Site, request: Request) -> Response:
    try:
        found = _page(request.method, segments(request))
        if found is None:
            return answered(request, {"error_code": 404, "message": "HTTP 404 Not Found"}, 404)
        if not isinstance(found, tuple):
            return answered(request, {"error_code": 405, "message": "HTTP 405"}, 405)
        page, parts = found
        said = await page(registry, Asked(request, parts, Access(site.kafka(request))))
        return answered(request, said, 204 if said is None else 200)
    except RegistryError as error:
        return refused(request, error)
    except KafkaError as failed:
        return refused(request, of_kafka(failed))


def _page(method: str, path: tuple[str, ...]) -> tuple[Page, tuple[str, ...]] | bool | None:
    """The page and what its pattern leaves open; False: not by this method; None: no page."""
    is_there = False
    for known, pattern, page in _PATTERNS:
        if len(pattern) != len(path):
            continue
        if all(part in ("*", said) for part, said in zip(pattern, path, strict=True)):
            if known == method or (known == "GET" and method == "HEAD"):
                open_parts = [s for p, s in zip(pattern, path, strict=True) if p == "*"]
                return page, tuple(open_parts)
            is_there = True
    return False if is_there else None
