"""THE table: what there is under which path. A room is a module (or a package) with

    def routes(site: Site) -> list[BaseRoute]        its pages
    async def run(site: Site) -> None                what it does besides, if anything

`run` is started once the node serves, and is cancelled when the node stops; a bug in it is said,
and it is started again a while later.
"""

from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any, Final

from starlette.routing import BaseRoute

from kafkapy.http.site import Site

ROOMS: Final = (
    "kafkapy.http.health",
    "kafkapy.http.watching.lag",
    "kafkapy.http.metrics",
    "kafkapy.http.alerts",
    "kafkapy.http.scaling",
    "kafkapy.http.tracing",
    "kafkapy.http.registry.room",
    "kafkapy.http.rest.room",
    "kafkapy.http.confluent.room",
    "kafkapy.http.api.room",
    "kafkapy.http.console.room",
)

Run = Callable[[Site], Awaitable[None]]


def all_routes(site: Site) -> list[BaseRoute]:
    return [route for room in _rooms() for route in room.routes(site)]


def all_runs() -> dict[str, Run]:
    """By the room's name."""
    return {room.__name__: room.run for room in _rooms() if hasattr(room, "run")}


def _rooms() -> Iterator[Any]:
    for name in ROOMS:
        yield import_module(name)
