"""What tests of pages share."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2 as httpx
import trio

from kafkapy.http.alerting.rules import Alerting
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.link import NodeLink
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

HTTP = {"http.listeners": "http://127.0.0.1:0"}
T = TypeVar("T")
# Of an ACL: the name as it is, and that it is allowed.
LITERAL, ALLOW = 3, 3


def client_of(broker: Broker, **options: Any) -> httpx.Client:
    """Of a broker with HTTP; nothing is taken from the environment."""
    return httpx.Client(base_url=broker.http, trust_env=False, timeout=30, **options)


def link_of(broker: Broker) -> NodeLink:
    http = broker._running().http
    assert http is not None, "it was given http.listeners"
    return http.link


def site_of(broker: Broker, alerting: Alerting | None = None) -> Site:
    link = link_of(broker)
    shell = broker._running()._shell
    assert shell is not None, "it runs"
    return Site(link.node.config, link.node.journal, link, shell, alerting)


def with_kafka(
    broker: Broker, work: Callable[[Kafka], Awaitable[T]], principal: str = "User:ANONYMOUS"
) -> T:
    """`await work(kafka)` on a Trio loop of its own, as a page would."""

    async def main() -> T:
        return await work(Kafka(link_of(broker), principal, "127.0.0.1"))

    return trio.run(main)


def logged(broker: Broker, event: str) -> list[dict[str, Any]]:
    """The facts of what the journal was told of HTTP."""
    told = (facts for _, name, facts in broker.events() if name == event)
    return [facts for facts in told if facts.get("listener") == "HTTP"]


def grant(broker: Broker, operation: Operation, kind: ResourceType, name: str) -> None:
    """To alice, by a superuser whose name is broker."""
    row = {
        "resource_type": int(kind),
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": int(operation),
        "permission_type": ALLOW,
    }

    async def work(kafka: Kafka) -> Any:
        return await kafka.ask(ApiKey.CREATE_ACLS, {"creations": [row]})

    assert not with_kafka(broker, work, "User:broker").results[0].error_code
