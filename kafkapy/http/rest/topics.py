"""Topics: listed, described with where each partition begins and ends, made, grown, deleted.

GET    /api/v1/topics?after=&limit=
POST   /api/v1/topics                        {"name", "partitions", "replicationFactor", "configs"}
GET    /api/v1/topics/{topic}
DELETE /api/v1/topics/{topic}
POST   /api/v1/topics/{topic}/partitions     {"count": 12}
"""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import IF_NONE_MATCH, Flag, bounded
from kafkapy.http.etags import tagged
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object, only
from kafkapy.http.rest.shapes import AFTER, OFFSET, PARTITION, limit
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

_MOST_TOPICS: Final = 10_000
_MOST_PARTITIONS: Final = 100_000
_MOST_REPLICAS: Final = 2**15 - 1
_LIMIT: Final = limit(_MOST_TOPICS, 1000)
VALIDATE_ONLY: Final = Flag("validateOnly", "Say what would be refused, and do nothing")
CONFIG_VALUE: Final = shapes.either(shapes.TEXT, shapes.FRACTION, shapes.FLAG)
_LISTED: Final = shapes.fields(
    {
        "topics": shapes.several(
            shapes.fields({"name": shapes.TEXT, "partitions": shapes.WHOLE}, title="ListedTopic")
        )
    },
    {"next": shapes.TEXT},
)
_PARTITION: Final = shapes.fields(
    {
        "partition": PARTITION,
        "leader": shapes.WHOLE,
        "replicas": shapes.several(shapes.WHOLE),
        "isr": shapes.several(shapes.WHOLE),
        "startOffset": OFFSET,
        "endOffset": OFFSET,
    },
    title="Partition",
)
_TOPIC: Final = shapes.fields(
    {"name": shapes.TEXT, "id": shapes.TEXT, "partitions": shapes.several(_PARTITION)},
    title="Topic",
)
_NEW: Final = shapes.fields(
    {"name": shapes.text(least=1)},
    {
        "partitions": shapes.number(-1, _MOST_PARTITIONS),
        "replicationFactor": shapes.number(-1, _MOST_REPLICAS),
        "configs": shapes.by_name(CONFIG_VALUE),
    },
    title="NewTopic",
    told="-1: as many as the cluster gives by default",
)
_FIELDS: Final = ("name", "partitions", "replicationFactor", "configs")


class Topics:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @declared(
        "Topics that may be seen, by name",
        subject="Topics",
        parameters=(AFTER, _LIMIT),
        answers={200: Told("Some of them; `next`, if there are more", _LISTED)},
    )
    async def list(self, request: Request) -> Response:
        """By name, those that may be seen: from `after` on, `limit` of them."""
        kafka = self._site.kafka(request)
        limit = _LIMIT.of(request)
        after = AFTER.said(request) or ""
        names = sorted(name for name in list(kafka.image.topics_by_name) if name > after)
        visible = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
        found = [name for name in names if name in visible]
        rows = [
            {"name": name, "partitions": len(kafka.topic(name).partitions)}
            for name in found[:limit]
        ]
        told: dict[str, Any] = {"topics": rows}
        if len(found) > limit:
            told["next"] = rows[-1]["name"]
        return JSONResponse(told)

    @declared(
        "A topic, and where each partition begins and ends",
        subject="Topics",
        parameters=(IF_NONE_MATCH,),
        answers={
            200: Told("It", _TOPIC, headers={"etag": "its tag"}),
            304: Told("It is as one has it"),
        },
        problems=(404,),
    )
    async def one(self, request: Request) -> Response:
        return tagged(request, await told(self._site.kafka(request), request.path_params["topic"]))

    @declared(
        "Make a topic",
        subject="Topics",
        parameters=(VALIDATE_ONLY,),
        body=Told("What it is to be", _NEW),
        answers={
            200: Told("It could be made", shapes.fields({"name": shapes.TEXT})),
            201: Told(
                "It is made", shapes.fields({"name": shapes.TEXT}), headers={"location": "its page"}
            ),
        },
        problems=(409,),
    )
    async def create(self, request: Request) -> Response:
        body = only(await json_object(request), _FIELDS)
        name = body.get("name")
        if not isinstance(name, str) or not name:
            raise Problem(400, "a topic has a name")
        partitions = bounded(body.get("partitions", -1), "partitions", -1, _MOST_PARTITIONS)
        replicas = bounded(
            body.get("replicationFactor", -1), "replicationFactor", -1, _MOST_REPLICAS
        )
        configs = configs_of(body.get("configs", {}))
        is_trial = VALIDATE_ONLY.of(request)
        await create(
            self._site.kafka(request), name, partitions, replicas, configs, is_trial=is_trial
        )
        path = f"/api/v1/topics/{name}"
        return JSONResponse({"name": name}, 200 if is_trial else 201, {"location": path})

    @declared(
        "Delete a topic, and all that is in it",
        subject="Topics",
        answers={204: Told("It is gone")},
        problems=(404,),
    )
    async def delete(self, request: Request) -> Response:
        await delete(self._site.kafka(request), request.path_params["topic"])
        return Response(None, 204)

    @declared(
        "Give a topic more partitions",
        subject="Topics",
        body=Told("So many in all", shapes.fields({"count": shapes.number(1, _MOST_PARTITIONS)})),
        answers={
            200: Told(
                "It has them", shapes.fields({"name": shapes.TEXT, "partitions": shapes.WHOLE})
            )
        },
        problems=(404,),
    )
    async def grow(self, request: Request) -> Response:
        kafka, name = self._site.kafka(request), request.path_params["topic"]
        body = only(await json_object(request), ("count",))
        count = bounded(body.get("count"), "count", 1, _MOST_PARTITIONS)
        topic = {"name": name, "count": count, "assignments": None}
        asked = {"topics": [topic], "timeout": kafka.timeout_ms, "validate_only": False}
        row = (await kafka.ask(ApiKey.CREATE_PARTITIONS, asked)).results[0]
        check(row.error_code, name, row.error_message)
        return JSONResponse({"name": name, "partitions": count})


async def told(kafka: Kafka, name: str) -> dict[str, Any]:
    """What a topic is told to be. KafkaError if it may not be seen, or is not there."""
    if not await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, [name]):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    topic = kafka.topic(name)
    starts = await records.list_offsets(kafka, name, dict.fromkeys(topic.partitions, records.START))
    ends = await records.list_offsets(kafka, name, dict.fromkeys(topic.partitions, records.END))
    rows = [
        {
            "partition": index,
            "leader": state.leader,
            "replicas": list(state.replicas),
            "isr": list(state.isr),
            "startOffset": starts[index],
            "endOffset": ends[index],
        }
        for index, state in sorted(topic.partitions.items())
        if index in starts and index in ends
    ]
    return {"name": name, "id": str(topic.id), "partitions": rows}


async def create(
    kafka: Kafka,
    name: str,
    partitions: int,
    replicas: int,
    configs: Mapping[str, str],
    *,
    is_trial: bool = False,
) -> None:
    """-1: as the cluster has it by default."""
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }
    body = {"topics": [topic], "timeout": kafka.timeout_ms, "validate_only": is_trial}
    row = (await kafka.ask(ApiKey.CREATE_TOPICS, body)).topics[0]
    check(row.error_code, name, row.error_message)


async def delete(kafka: Kafka, name: str) -> None:
    topics = [{"name": name, "topic_id": None}]
    body = {"topics": topics, "timeout": kafka.timeout_ms}
    row = (await kafka.ask(ApiKey.DELETE_TOPICS, body)).responses[0]
    check(row.error_code, name, row.error_message)


def configs_of(said: Any) -> dict[str, str]:
    """Of JSON: numbers and truth may be written as such."""
    if not isinstance(said, Mapping):
        raise Problem(400, "configs are an object")
    return {name: text_of(name, value) for name, value in said.items()}


def text_of(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise Problem(400, f"{name}: a text, a number, true or false")
