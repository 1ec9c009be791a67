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
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import flag, json_object
from kafkapy.http.rest.etags import require_match, tagged
from kafkapy.http.rest.topics import text_of
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


class Configs:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def read(self, request: Request) -> Response:
        name = request.path_params["topic"]
        told = await settings(self._site.kafka(request), name)
        return tagged(request, {"topic": name, "configs": told})

    async def change(self, request: Request) -> Response:
        kafka, name = self._site.kafka(request), request.path_params["topic"]
        wanted = await json_object(request)
        if not wanted:
            raise Problem(400, "an object of settings, null for the default")
        changes = {key: None if one is None else text_of(key, one) for key, one in wanted.items()}
        if "if-match" in request.headers:
            seen = {"topic": name, "configs": await settings(kafka, name)}
            require_match(request, seen)
        is_trial = flag(request, "validateOnly")
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
