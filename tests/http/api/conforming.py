"""Whatever a page answers in a test, it has declared: a hook of httpx's."""

import re
from collections.abc import Callable
from typing import Any

import httpx2 as httpx
from jsonschema import Draft202012Validator

from kafkapy.http.api.document import document
from kafkapy.http.rooms import all_routes
from kafkapy.testing import Broker
from tests.http.pages import site_of


def conforming(broker: Broker) -> Callable[[httpx.Response], None]:
    """Of pages that are in the document; streams are looked at by their type alone."""
    told = document(all_routes(site_of(broker)))
    paths = [
        (re.compile(re.sub(r"{\w+}", "[^/]+", path) + "$"), methods)
        for path, methods in told["paths"].items()
    ]

    def check(answer: httpx.Response) -> None:
        path, method = answer.request.url.raw_path.decode().partition("?")[0], answer.request.method
        for pattern, methods in paths:
            if pattern.match(path) and method.lower() in methods:
                _check(answer, methods[method.lower()]["responses"], told["components"])
                return

    return check


def _check(answer: httpx.Response, responses: Any, components: Any) -> None:
    said = responses.get(str(answer.status_code))
    assert said is not None, f"{answer.request.url}: {answer.status_code} is not declared"
    if "content" not in said:
        assert not answer.read()
        return
    ((media_type, content),) = said["content"].items()
    assert answer.headers["content-type"].partition(";")[0] == media_type
    if media_type.endswith("json"):
        answer.read()
        schema = {**content["schema"], "components": components}
        Draft202012Validator(schema).validate(answer.json())
