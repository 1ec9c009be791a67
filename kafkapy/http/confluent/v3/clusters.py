"""Clusters, which is this one; its brokers; groups with their lag.

GET /v3/clusters                                       GET /v3/clusters/{cluster_id}
GET /v3/clusters/{cluster_id}/brokers[/{broker}]
GET /v3/clusters/{cluster_id}/consumer-groups[/{group}[/lags|/lag-summary]]
"""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from kafkapy.http.api.parameters import bounded
from kafkapy.http.confluent.errors import V3, Refusal, answered
from kafkapy.http.kafka import groups
from kafkapy.http.rest.groups import described
from kafkapy.http.rest.offsets import with_lags
from kafkapy.http.site import Site

_NO_SUCH: Final = 404
_AT_ONCE: Final = 100
_PARTS: Final = ("acls", "brokers", "broker_configs", "consumer_groups", "topics")


class Clusters:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def list(self, request: Request) -> Response:
        return listed(request, "KafkaClusterList", [self._cluster(request)])

    async def one(self, request: Request) -> Response:
        check_cluster(self._site, request)
        return answered(self._cluster(request))

    async def brokers(self, request: Request) -> Response:
        check_cluster(self._site, request)
        kafka = self._site.kafka(request)
        return listed(
            request, "KafkaBrokerList", [self._broker(request, one) for one in kafka.brokers()]
        )

    async def broker(self, request: Request) -> Response:
        check_cluster(self._site, request)
        wanted = bounded(request.path_params["broker"], "broker_id", 0, 2**31 - 1)
        if wanted not in self._site.kafka(request).brokers():
            raise Refusal(_NO_SUCH, f"there is no broker {wanted}")
        return answered(self._broker(request, wanted))

    async def groups(self, request: Request) -> Response:
        check_cluster(self._site, request)
        found = await groups.list_groups(self._site.kafka(request))
        rows = [self._group(request, one.name, one.state, one.coordinator) for one in found]
        return listed(request, "KafkaConsumerGroupList", rows)

    async def group(self, request: Request) -> Response:
        check_cluster(self._site, request)
        kafka, name = self._site.kafka(request), request.path_params["group"]
        told = await described(kafka, name)
        coordinator = await kafka.coordinator(name)
        row = self._group(request, name, told["state"], coordinator)
        return answered({**row, "partition_assignor": told["assignor"]})

    async def lags(self, request: Request) -> Response:
        check_cluster(self._site, request)
        rows = [
            resource(
                request,
                "KafkaConsumerLag",
                f"consumer-groups/{one['consumer_group_id']}/lags/{one['topic_name']}/partitions/{one['partition_id']}",
                cluster_id=self._site.link.node.cluster_id,
                **one,
            )
            for one in await self._lags(request)
        ]
        return listed(request, "KafkaConsumerLagList", rows)

    async def lag_summary(self, request: Request) -> Response:
        check_cluster(self._site, request)
        group, rows = request.path_params["group"], await self._lags(request)
        if not rows:
            raise Refusal(_NO_SUCH, f"{group} has committed nothing")
        worst = max(rows, key=lambda one: int(one["lag"]))
        said = resource(
            request,
            "KafkaConsumerGroupLagSummary",
            f"consumer-groups/{group}/lag-summary",
            cluster_id=self._site.link.node.cluster_id,
            consumer_group_id=group,
            max_lag_topic_name=worst["topic_name"],
            max_lag_partition_id=worst["partition_id"],
            max_lag=worst["lag"],
            total_lag=sum(int(one["lag"]) for one in rows),
        )
        return answered(said)

    async def _lags(self, request: Request) -> Sequence[dict[str, Any]]:
        group = request.path_params["group"]
        return [
            {
                "consumer_group_id": group,
                "topic_name": one["topic"],
                "partition_id": one["partition"],
                "current_offset": one["offset"],
                "log_end_offset": one["endOffset"],
                "lag": one["lag"],
            }
            for one in await with_lags(self._site.kafka(request), group)
            if one["lag"] is not None
        ]

    def _cluster(self, request: Request) -> dict[str, Any]:
        cluster_id = self._site.link.node.cluster_id
        links = {name: Related(name.replace("_", "-")) for name in _PARTS}
        return resource(request, "KafkaCluster", "", cluster_id=cluster_id, **links)

    def _broker(self, request: Request, broker_id: int) -> dict[str, Any]:
        known = self._site.link.image.brokers[broker_id]
        endpoint = next(iter(known.endpoints), None)
        return resource(
            request,
            "KafkaBroker",
            f"brokers/{broker_id}",
            cluster_id=self._site.link.node.cluster_id,
            broker_id=broker_id,
            host=None if endpoint is None else endpoint.host,
            port=None if endpoint is None else endpoint.port,
            rack=known.rack,
        )

    def _group(self, request: Request, name: str, state: str, coordinator: int) -> dict[str, Any]:
        path = f"consumer-groups/{name}"
        return resource(
            request,
            "KafkaConsumerGroup",
            path,
            cluster_id=self._site.link.node.cluster_id,
            consumer_group_id=name,
            is_simple=False,
            state=state.replace(" ", "").upper(),
            coordinator=Related(f"brokers/{coordinator}"),
            lag_summary=Related(f"{path}/lag-summary"),
        )


def check_cluster(site: Site, request: Request) -> None:
    said = request.path_params["cluster"]
    if said != site.link.node.cluster_id:
        raise Refusal(_NO_SUCH, f"Cluster {said} cannot be found.")


def resource(request: Request, kind: str, path: str, **fields: Any) -> dict[str, Any]:
    """`path` below the cluster's."""
    cluster_id = fields["cluster_id"]
    metadata = {
        "self": _address(request, cluster_id, path),
        "resource_name": f"crn:///kafka={cluster_id}" + (f"/{path}" if path else ""),
    }
    return {
        "kind": kind,
        "metadata": metadata,
        **{
            name: {"related": _address(request, cluster_id, one.path)}
            if isinstance(one, Related)
            else one
            for name, one in fields.items()
        },
    }


def listed(request: Request, kind: str, rows: list[dict[str, Any]]) -> Response:
    """In pieces: ten thousand topics are megabytes."""
    metadata = {"self": str(request.url.replace(query="")), "next": None}

    async def pieces() -> AsyncIterator[str]:
        yield json.dumps({"kind": kind, "metadata": metadata})[:-1] + ', "data": ['
        for at in range(0, len(rows), _AT_ONCE):
            some = ", ".join(map(json.dumps, rows[at : at + _AT_ONCE]))
            yield (", " if at else "") + some
        yield "]}"

    return StreamingResponse(pieces(), media_type=V3)


class Related(NamedTuple):
    """A link, by its path below the cluster's."""

    path: str


def _address(request: Request, cluster_id: str, path: str) -> str:
    base = f"{request.base_url}v3/clusters/{cluster_id}"
    return f"{base}/{path}" if path else base
