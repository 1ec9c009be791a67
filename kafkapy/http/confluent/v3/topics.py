"""Topics, their partitions and their settings.

GET, POST               /v3/clusters/{cluster_id}/topics
GET, DELETE             …/topics/{topic}
GET                     …/topics/{topic}/partitions[/{partition}]
GET                     …/topics/{topic}/configs
GET, PUT, DELETE        …/topics/{topic}/configs/{name}
POST                    …/topics/{topic}/configs:alter
"""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.api.parameters import bounded
from kafkapy.http.confluent.errors import Refusal, answered
from kafkapy.http.confluent.v3.clusters import Related, check_cluster, listed, resource
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.configs import alter, settings
from kafkapy.http.rest.topics import configs_of, create, delete, text_of
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.image.topics import PartitionState

_SOURCES: Final = {
    "topic": "DYNAMIC_TOPIC_CONFIG",
    "broker": "DYNAMIC_BROKER_CONFIG",
    "cluster": "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "static": "STATIC_BROKER_CONFIG",
    "default": "DEFAULT_CONFIG",
}
_NEW: Final = frozenset(
    (
        "topic_name",
        "partitions_count",
        "replication_factor",
        "configs",
        "validate_only",
    )
)
_MOST: Final = 100_000


class Topics:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def list(self, request: Request) -> Response:
        kafka = self._kafka(request)
        names = sorted(kafka.image.topics_by_name.keys())
        seen = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
        rows = [self._topic(request, kafka, name) for name in names if name in seen]
        return listed(request, "KafkaTopicList", rows)

    async def create(self, request: Request) -> Response:
        kafka, body = self._kafka(request), await json_object(request)
        name = body.get("topic_name")
        if not isinstance(name, str) or not body.keys() <= _NEW:
            raise Refusal(400, f"a topic_name, and any of {', '.join(sorted(_NEW))}")
        partitions = bounded(body.get("partitions_count", -1), "partitions_count", -1, _MOST)
        replicas = bounded(body.get("replication_factor", -1), "replication_factor", -1, 2**15 - 1)
        configs = configs_of(_by_name(body.get("configs", [])))
        is_trial = body.get("validate_only", False)
        await create(kafka, name, partitions, replicas, configs, is_trial=is_trial is True)
        if is_trial or name not in kafka.image.topics_by_name:
            wanted = {"replication_factor": replicas, "partitions_count": partitions}
            return answered(self._told(request, name, **wanted), 201)
        return answered(self._topic(request, kafka, name), 201)

    async def one(self, request: Request) -> Response:
        kafka = self._kafka(request)
        return answered(self._topic(request, kafka, await self._seen(request, kafka)))

    async def delete(self, request: Request) -> Response:
        await delete(self._kafka(request), request.path_params["topic"])
        return Response(None, 204)

    async def partitions(self, request: Request) -> Response:
        kafka = self._kafka(request)
        name = await self._seen(request, kafka)
        rows = [
            self._partition(request, name, index, state)
            for index, state in sorted(kafka.topic(name).partitions.items())
        ]
        return listed(request, "KafkaPartitionList", rows)

    async def partition(self, request: Request) -> Response:
        kafka = self._kafka(request)
        name = await self._seen(request, kafka)
        index = bounded(request.path_params["partition"], "partition_id", 0, 2**31 - 1)
        return answered(self._partition(request, name, index, kafka.partition(name, index)))

    async def configs(self, request: Request) -> Response:
        name = request.path_params["topic"]
        found = await settings(self._kafka(request), name)
        rows = [self._config(request, name, key, one) for key, one in found.items()]
        return listed(request, "KafkaTopicConfigList", rows)

    async def config(self, request: Request) -> Response:
        name, key = request.path_params["topic"], request.path_params["name"]
        found = (await settings(self._kafka(request), name)).get(key)
        if found is None:
            raise Refusal(404, f"there is no setting {key}")
        return answered(self._config(request, name, key, found))

    async def set_config(self, request: Request) -> Response:
        name, key = request.path_params["topic"], request.path_params["name"]
        value = (await json_object(request)).get("value")
        change = {key: None if value is None else text_of(key, value)}
        await alter(self._kafka(request), name, change)
        return Response(None, 204)

    async def reset_config(self, request: Request) -> Response:
        await alter(
            self._kafka(request), request.path_params["topic"], {request.path_params["name"]: None}
        )
        return Response(None, 204)

    async def alter_configs(self, request: Request) -> Response:
        kafka, body = self._kafka(request), await json_object(request)
        changes: dict[str, str | None] = {}
        for one in _rows(body.get("data")):
            is_reset = one.get("operation", "SET") == "DELETE"
            changes[one["name"]] = None if is_reset else text_of(one["name"], one.get("value"))
        is_trial = body.get("validate_only") is True
        await alter(kafka, request.path_params["topic"], changes, is_trial=is_trial)
        return Response(None, 204)

    def _kafka(self, request: Request) -> Kafka:
        check_cluster(self._site, request)
        return self._site.kafka(request)

    async def _seen(self, request: Request, kafka: Kafka) -> str:
        name = str(request.path_params["topic"])
        if not await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, [name]):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        kafka.topic(name)
        return name

    def _topic(self, request: Request, kafka: Kafka, name: str) -> dict[str, Any]:
        partitions = kafka.topic(name).partitions
        replicas = max((len(one.replicas) for one in partitions.values()), default=0)
        counts = {"replication_factor": replicas, "partitions_count": len(partitions)}
        return self._told(request, name, **counts)

    def _told(self, request: Request, name: str, **counts: int) -> dict[str, Any]:
        path = f"topics/{name}"
        return resource(
            request,
            "KafkaTopic",
            path,
            cluster_id=self._site.link.node.cluster_id,
            topic_name=name,
            is_internal=name.startswith("__"),
            **counts,
            partitions=Related(f"{path}/partitions"),
            configs=Related(f"{path}/configs"),
            authorized_operations=[],
        )

    def _partition(
        self, request: Request, topic: str, index: int, state: PartitionState
    ) -> dict[str, Any]:
        path = f"topics/{topic}/partitions/{index}"
        leader = None if state.leader < 0 else Related(f"brokers/{state.leader}")
        return resource(
            request,
            "KafkaPartition",
            path,
            cluster_id=self._site.link.node.cluster_id,
            topic_name=topic,
            partition_id=index,
            leader=leader,
        )

    def _config(
        self, request: Request, topic: str, key: str, told: Mapping[str, Any]
    ) -> dict[str, Any]:
        return resource(
            request,
            "KafkaTopicConfig",
            f"topics/{topic}/configs/{key}",
            cluster_id=self._site.link.node.cluster_id,
            topic_name=topic,
            name=key,
            value=told["value"],
            is_default=told["source"] == "default",
            is_read_only=False,
            is_sensitive=told["isSensitive"],
            source=_SOURCES.get(told["source"], "UNKNOWN"),
            synonyms=[],
        )


def _rows(said: Any) -> list[Mapping[str, Any]]:
    if not isinstance(said, list) or not all(
        isinstance(one, Mapping) and isinstance(one.get("name"), str) for one in said
    ):
        raise Refusal(400, "a list of objects with a name and a value")
    return said


def _by_name(said: Any) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in _rows(said)}
