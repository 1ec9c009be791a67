"""/metrics, as Prometheus reads it; docs/METRICS.md is the list.

Everything is read from what the node counts anyway; nothing of the loop is held for it, but for
the one question that only the quorum's leader answers.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import trio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from kafkapy.http.metrics import cluster, groups, hooks, partitions, process, requests, telemetry
from kafkapy.http.metrics.families import MEDIA_TYPE, Family, Page
from kafkapy.http.problems import Problem

if TYPE_CHECKING:
    from kafkapy.http.site import Site

FAMILIES: tuple[Family, ...] = (
    *cluster.FAMILIES,
    *partitions.FAMILIES,
    *groups.FAMILIES,
    *requests.FAMILIES,
    *telemetry.FAMILIES,
    *hooks.FAMILIES,
    *process.FAMILIES,
)


def routes(site: "Site") -> list[BaseRoute]:
    async def metrics(request: Request) -> Response:
        if not await site.may_describe_cluster(request):
            raise Problem(403, "metrics are for those who may DESCRIBE the cluster")
        page = await collected(site)
        return StreamingResponse(_pieces(page), media_type=MEDIA_TYPE)

    return [Route("/metrics", metrics)]


async def run(site: "Site") -> None:
    await site.probe.run(site.link)


async def collected(site: "Site") -> Page:
    page = Page()
    cluster.collect(site, page)
    await cluster.collect_quorum(site, page)
    partitions.collect(site, page)
    groups.collect(site, page)
    requests.collect(site, page)
    telemetry.collect(site, page)
    hooks.collect(site, page)
    process.collect(site, page)
    return page


async def _pieces(page: Page) -> AsyncIterator[bytes]:
    for piece in page.chunks():
        yield piece
        await trio.lowlevel.checkpoint()
