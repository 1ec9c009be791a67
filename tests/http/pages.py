"""What tests of pages share."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2 as httpx
import trio

from kafkapy.http.alerting.rules import Alerting
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.link import NodeLink
from kafkapy.http.site import Site
from kafkapy.testing import Broker

HTTP = {"http.listeners": "http://127.0.0.1:0"}
T = TypeVar("T")


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
