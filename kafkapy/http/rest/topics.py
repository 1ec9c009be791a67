"""GET /api/v1/topics, and GET /api/v1/topics/{topic} with where each partition begins and ends."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka import records
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.asking import number
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType

_MOST_TOPICS: Final = 10_000


class Topics:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def list(self, request: Request) -> Response:
        """By name, those that may be seen: from `after` on, `limit` of them."""
        kafka = self._site.kafka(request)
        limit = number(request, "limit", 1000, least=1, most=_MOST_TOPICS)
        after = request.query_params.get("after", "")
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

    async def one(self, request: Request) -> Response:
        kafka, name = self._site.kafka(request), request.path_params["topic"]
        if not await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, [name]):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        topic = kafka.topic(name)
        starts = await records.list_offsets(kafka, name, dict.fromkeys(topic.partitions, -2))
        ends = await records.list_offsets(kafka, name, dict.fromkeys(topic.partitions, -1))
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
        ]
        return JSONResponse({"name": name, "id": str(topic.id), "partitions": rows})
