"""GET /topics, /topics/{topic}, /topics/{topic}/partitions[/{partition}[/offsets]], /brokers."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.api.parameters import partition_of
from kafkapy.http.confluent.errors import V2, Code, Refusal, answered
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.configs import settings
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.image.topics import PartitionState


class Topics:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def list(self, request: Request) -> Response:
        kafka = self._site.kafka(request)
        names = sorted(kafka.image.topics_by_name.keys())
        seen = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
        return answered([name for name in names if name in seen], media_type=V2)

    async def one(self, request: Request) -> Response:
        kafka, name = await self._asked(request)
        configs = {key: one["value"] for key, one in (await settings(kafka, name)).items()}
        rows = _partitions(kafka, name)
        return answered({"name": name, "configs": configs, "partitions": rows}, media_type=V2)

    async def partitions(self, request: Request) -> Response:
        kafka, name = await self._asked(request)
        return answered(_partitions(kafka, name), media_type=V2)

    async def partition(self, request: Request) -> Response:
        kafka, name = await self._asked(request)
        index = _there(kafka, name, partition_of(request))
        return answered(_partition(index, kafka.partition(name, index)), media_type=V2)

    async def offsets(self, request: Request) -> Response:
        kafka, name = await self._asked(request)
        index = _there(kafka, name, partition_of(request))
        starts = await records.list_offsets(kafka, name, {index: records.START})
        ends = await records.list_offsets(kafka, name, {index: records.END})
        told = {"beginning_offset": starts[index], "end_offset": ends[index]}
        return answered(told, media_type=V2)

    async def brokers(self, request: Request) -> Response:
        return answered({"brokers": self._site.kafka(request).brokers()}, media_type=V2)

    async def _asked(self, request: Request) -> tuple[Kafka, str]:
        kafka, name = self._site.kafka(request), str(request.path_params["topic"])
        if not await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, [name]):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        kafka.topic(name)
        return kafka, name


def _there(kafka: Kafka, topic: str, index: int) -> int:
    if index not in kafka.topic(topic).partitions:
        raise Refusal(Code.PARTITION_NOT_FOUND, f"{topic} has no partition {index}")
    return index


def _partitions(kafka: Kafka, name: str) -> list[dict[str, Any]]:
    found = sorted(kafka.topic(name).partitions.items())
    return [_partition(index, state) for index, state in found]


def _partition(index: int, state: PartitionState) -> dict[str, Any]:
    replicas = [
        {"broker": one, "leader": one == state.leader, "in_sync": one in state.isr}
        for one in state.replicas
    ]
    return {"partition": index, "leader": state.leader, "replicas": replicas}
