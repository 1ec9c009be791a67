"""What every page is given: the node, its settings, and Kafka in the name of who asks."""

from typing import Final

from starlette.requests import HTTPConnection

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.core.seams import Journal
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.link import NodeLink
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

ANONYMOUS: Final = "User:ANONYMOUS"
PRINCIPAL: Final = "kafkapy.principal"  # in a request's scope


class Site:
    def __init__(self, config: BrokerConfig, journal: Journal, link: NodeLink) -> None:
        self.config = config
        self.journal = journal
        self.link = link

    def kafka(self, request: HTTPConnection) -> Kafka:
        """For one request, in the name of who asks."""
        return Kafka(
            self.link,
            principal_of(request),
            host_of(request),
            timeout_ms=self.config.http_request_timeout_ms,
        )

    async def may_describe_cluster(self, request: HTTPConnection) -> bool:
        """What the node tells of itself as a whole is for those who may see the cluster."""
        kafka = self.kafka(request)
        return bool(await kafka.allowed(Operation.DESCRIBE, ResourceType.CLUSTER, [CLUSTER_NAME]))


def principal_of(request: HTTPConnection) -> str:
    return str(request.scope.get(PRINCIPAL, ANONYMOUS))


def host_of(request: HTTPConnection) -> str:
    return "127.0.0.1" if request.client is None else request.client.host
