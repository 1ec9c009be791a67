"""/health/live, /health/ready."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from kafkapy.http.problems import problem
from kafkapy.http.site import Site


def routes(site: Site) -> list[BaseRoute]:
    async def live(request: Request) -> Response:
        """The node's loop turns: it was asked, and has answered."""
        await site.link.call(lambda: None)
        return Response("alive\n", media_type="text/plain")

    async def ready(request: Request) -> Response:
        if not site.link.is_serving:
            return problem(503, "this node does not serve (yet, or any more)")
        return Response("ready\n", media_type="text/plain")

    return [Route("/health/live", live), Route("/health/ready", ready)]
