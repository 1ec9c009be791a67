"""What every page is given: the node, its settings, and Kafka in the name of who asks."""

from collections import Counter
from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import Scope

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.requests.request import ANONYMOUS
from kafkapy.broker.security.authorizer.hosts import canonical_host
from kafkapy.core.seams import Journal
from kafkapy.http.alerting.judge import Judge
from kafkapy.http.alerting.rules import Alerting, default_rules
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.link import NodeLink
from kafkapy.http.serving.streams import Streams
from kafkapy.http.watching.history import History
from kafkapy.http.watching.lag import LagWatch
from kafkapy.http.watching.probe import Probe
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.server.run import Shell

PRINCIPAL: Final = "kafkapy.principal"  # in a request's scope


class Site:
    """`shell` is for what the node counts (kafkapy/http/metrics); nothing of it is called."""

    def __init__(
        self,
        config: BrokerConfig,
        journal: Journal,
        link: NodeLink,
        shell: Shell,
        alerting: Alerting | None = None,
    ) -> None:
        self.config = config
        self.journal = journal
        self.link = link
        self.shell = shell
        self.lag = LagWatch()
        self.history = History()
        self.probe = Probe()
        self.alerting = alerting or Alerting(default_rules())
        self.streams = Streams(config.http_max_streams, config.http_max_connections)
        self.judge = Judge(self.alerting.rules)
        # (method, status) of what was answered over HTTP.
        self.answered: Counter[tuple[str, int]] = Counter()

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
    return peer_of(request.scope) or "127.0.0.1"


def peer_of(scope: Scope) -> str:
    """The address of who asks, as ACLs and quotas have it; empty where there is none."""
    client = scope.get("client")
    return canonical_host(str(client[0])) if client else ""
