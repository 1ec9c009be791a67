"""The OpenAPI document and the page say what the table of routes says."""

import json
import re
from urllib.request import urlopen

from kafkapy.testing import Broker
from kafkapy.testing.http import Kit, TestApi
from kafkapy.testing.http.openapi import document, page
from kafkapy.testing.http.routes import ROUTES


def test_every_route_is_an_operation_with_its_fields() -> None:
    paths = document()["paths"]
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        assert operation["summary"] == route.about
        named = {one["name"] for one in operation["parameters"]}
        assert named == {*re.findall(r"{(\w+)}", route.path), *(one.name for one in route.query)}
        if route.body:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert list(schema["properties"]) == [one.name for one in route.body]


def test_operation_ids_are_unique() -> None:
    ids = [
        one["operationId"] for methods in document()["paths"].values() for one in methods.values()
    ]
    assert len(set(ids)) == len(ids) == len(ROUTES)


def test_the_page_names_every_path_and_fetches_nothing() -> None:
    shown = page()
    for route in ROUTES:
        assert f"<code>{route.path}</code>" in shown
    assert "<script" not in shown
    assert re.findall(r"(?:src|href)=\"([^\"]+)\"", shown) == ["/openapi.json"]


def test_both_are_served() -> None:
    kit = Kit(lambda _: Broker())
    api = TestApi(kit, "127.0.0.1", 0)
    with urlopen(f"{api.url}/openapi.json", timeout=10) as answer:
        assert json.load(answer) == json.loads(json.dumps(document()))
    with urlopen(f"{api.url}/", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.read().decode() == page()
    api.close()
