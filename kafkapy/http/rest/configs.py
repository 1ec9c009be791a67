"""A topic's settings: told, and changed.

    GET   /api/v1/topics/{topic}/configs
    PATCH /api/v1/topics/{topic}/configs     {"retention.ms": 1000, "cleanup.policy": null}

null is back to the default. Several change together or not at all. With the tag of what was read as
`If-Match` nobody's change in between is overwritten.
"""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.broker.config.resources import Resource
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import IF_MATCH, IF_NONE_MATCH
from kafkapy.http.etags import require_match, tagged
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.topics import CONFIG_VALUE, VALIDATE_ONLY, text_of
from kafkapy.http.site import Site
from kafkapy.protocol.api_keys import ApiKey

# ConfigSource, as DescribeConfigs tells it.
_SOURCES: Final = {
    1: "topic",
    2: "broker",
    3: "cluster",
    4: "static",
    5: "default",
    6: "broker-logger",
    7: "client-metrics",
    8: "group",
}
_SET, _DELETE = 0, 1
_SETTING: Final = shapes.fields(
    {
        "value": shapes.nullable(shapes.TEXT),
        "source": shapes.word(*_SOURCES.values(), "unknown"),
        "isSensitive": shapes.FLAG,
        "documentation": shapes.TEXT,
    },
    title="Setting",
)
_SETTINGS: Final = shapes.fields({"topic": shapes.TEXT, "configs": shapes.by_name(_SETTING)})


class Configs:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @declared(
        "A topic's settings",
        subject="Topics",
        parameters=(IF_NONE_MATCH,),
        answers={
            200: Told("All of them, by name", _SETTINGS, headers={"etag": "their tag"}),
            304: Told("They are as one has them"),
        },
        problems=(404,),
    )
    async def read(self, request: Request) -> Response:
        name = request.path_params["topic"]
        told = await settings(self._site.kafka(request), name)
        return tagged(request, {"topic": name, "configs": told})

    @declared(
        "Change settings of a topic, together or not at all",
        subject="Topics",
        parameters=(VALIDATE_ONLY, IF_MATCH),
        body=Told(
            "By name; null is back to the default",
            shapes.by_name(shapes.nullable(CONFIG_VALUE), least=1),
        ),
        answers={
            200: Told(
                "They are changed",
                shapes.fields({"topic": shapes.TEXT, "changed": shapes.several(shapes.TEXT)}),
            )
        },
        problems=(404, 412),
    )
    async def change(self, request: Request) -> Response:
        kafka, name = self._site.kafka(request), request.path_params["topic"]
        is_trial = VALIDATE_ONLY.of(request)
        wanted = await json_object(request)
        if not wanted:
            raise Problem(400, "an object of settings, null for the default")
        changes = {key: None if one is None else text_of(key, one) for key, one in wanted.items()}
        if "if-match" in request.headers:
            seen = {"topic": name, "configs": await settings(kafka, name)}
            require_match(request, seen)
        await alter(kafka, name, changes, is_trial=is_trial)
        return JSONResponse({"topic": name, "changed": sorted(changes)})


async def settings(kafka: Kafka, name: str) -> dict[str, dict[str, Any]]:
    """Each setting's value (None where it is hidden), where it comes from, and what it does."""
    resource = {
        "resource_type": Resource.TOPIC,
        "resource_name": name,
        "configuration_keys": None,
    }
    body = {"resources": [resource], "include_synonyms": False, "include_documentation": True}
    found = (await kafka.ask(ApiKey.DESCRIBE_CONFIGS, body)).results[0]
    check(found.error_code, name, found.error_message)
    return {
        str(one.name): {
            "value": None if one.is_sensitive else one.value,
            "source": _SOURCES.get(int(one.config_source), "unknown"),
            "isSensitive": bool(one.is_sensitive),
            "documentation": one.documentation or "",
        }
        for one in sorted(found.configs, key=lambda one: str(one.name))
    }


async def alter(
    kafka: Kafka, name: str, changes: Mapping[str, str | None], *, is_trial: bool = False
) -> None:
    rows = [
        {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
        for key, value in changes.items()
    ]
    resource = {"resource_type": Resource.TOPIC, "resource_name": name, "configs": rows}
    body = {"resources": [resource], "validate_only": is_trial}
    row = (await kafka.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body)).responses[0]
    check(row.error_code, name, row.error_message)
