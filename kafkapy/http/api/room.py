"""/api/v1/openapi.json: what there is, for programs. For people: /console/api."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from kafkapy.http.api.declaring import Api, Told, declared
from kafkapy.http.api.document import document
from kafkapy.http.api.parameters import IF_NONE_MATCH
from kafkapy.http.etags import tagged
from kafkapy.http.site import Site

PATH = "/api/v1/openapi.json"


def routes(site: Site) -> list[BaseRoute]:
    return [Api(PATH, GET=_page)]


@declared(
    "This document",
    subject="About",
    parameters=(IF_NONE_MATCH,),
    answers={
        200: Told("OpenAPI 3.1", {"type": "object"}, headers={"etag": "its tag"}),
        304: Told("It is what one has"),
    },
)
async def _page(request: Request) -> Response:
    return tagged(request, document(request.app.routes))
