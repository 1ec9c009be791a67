"""What pages say of themselves is what they do."""

from typing import Any

import httpx2 as httpx
import pytest
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient

from kafkapy.http.api.declaring import Api, Told, declared
from kafkapy.http.api.document import document
from kafkapy.http.rooms import all_routes
from kafkapy.testing import Broker
from tests.http.pages import site_of

PATH = "/api/v1/openapi.json"
OTHERS = {
    "kafkapy.http.console",  # for people
    "kafkapy.http.confluent",  # Confluent's: docs/REST.md
    "kafkapy.http.registry",  # Confluent's, in a table of its own (docs/REGISTRY.md)
    "kafkapy.http.health",
    "kafkapy.http.metrics",
}


def test_every_route_is_in_the_document_or_known_to_be_none_of_it(broker: Broker) -> None:
    """All routes of the site, by room."""
    routes = all_routes(site_of(broker))
    told = document(routes)["paths"]
    counted = 0
    for route in routes:
        if isinstance(route, Api):
            for method in route.methods or ():
                assert method == "HEAD" or method.lower() in told[route.path], route.path
                counted += method != "HEAD"
        elif isinstance(route, WebSocketRoute):
            assert "get" in told[route.path], "the same by server-sent events"
        else:
            assert isinstance(route, Route), route
            room = ".".join(route.endpoint.__module__.split(".")[:3])
            assert room in OTHERS, f"{route.path} declares nothing"
            assert not route.path.startswith("/api/"), route.path
    operations = [one for path in told.values() for one in path if one != "parameters"]
    assert len(operations) == counted > 20


def test_every_path_has_its_parameters_and_every_reference_its_shape(pages: TestClient) -> None:
    told = pages.get(PATH).json()
    assert told["openapi"] == "3.1.0"
    names = [
        one["operationId"]
        for path in told["paths"].values()
        for method, one in path.items()
        if method != "parameters"
    ]
    assert len(set(names)) == len(names)
    for path, methods in told["paths"].items():
        open_parts = [one["name"] for one in methods.get("parameters", ())]
        assert path.count("{") == len(open_parts), path
        assert all(f"{{{name}}}" in path for name in open_parts)
    known = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    assert set(_references(told)) == known


def _references(said: Any) -> list[str]:
    if isinstance(said, dict):
        own = [said["$ref"]] if "$ref" in said else []
        return own + [each for one in said.values() for each in _references(one)]
    return [each for one in said for each in _references(one)] if isinstance(said, list) else []


def test_the_document_is_sent_once(pages: TestClient) -> None:
    tag = pages.get(PATH).headers["etag"]
    assert pages.get(PATH, headers={"if-none-match": tag}).status_code == 304


def test_a_page_without_a_declaration_has_no_route() -> None:
    async def silent(request: Any) -> Any: ...

    with pytest.raises(AttributeError):
        Api("/api/v1/silent", GET=silent)


def test_what_is_declared_is_told() -> None:
    @declared(
        "Hello",
        subject="S",
        answers={201: Told("so", {"title": "X", "type": "null"})},
        problems=(409,),
    )
    async def page(request: Any) -> Any: ...

    told = document([Api("/api/v1/hello/{topic}", POST=page)])
    said = told["paths"]["/api/v1/hello/{topic}"]
    assert said["parameters"][0]["name"] == "topic"
    answers = said["post"]["responses"]
    content = answers["201"]["content"]["application/json"]
    assert content == {"schema": {"$ref": "#/components/schemas/X"}}
    assert "409" in answers
    assert "413" not in answers  # it takes no body
    assert told["components"]["schemas"]["X"] == {"title": "X", "type": "null"}


def test_a_parameter_that_is_not_declared_is_refused(pages: TestClient) -> None:
    answer = pages.get("/api/v1/topics", params={"limits": 3})
    assert answer.status_code == 400
    assert "limits" in answer.json()["detail"]


def test_another_method_is_told_all_that_there_are(over_http: httpx.Client) -> None:
    answer = over_http.put("/api/v1/topics")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert answer.headers["content-type"] == "application/problem+json"


def test_people_read_it_as_a_page(pages: TestClient) -> None:
    told = pages.get(PATH).json()
    text = pages.get("/console/api").text
    for path, methods in told["paths"].items():
        assert path in text
        for method, one in methods.items():
            assert method == "parameters" or one["operationId"] in text
