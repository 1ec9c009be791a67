"""Three nodes that know each other by tokens of a provider: brokers and controllers alike.

Tokens live for half a minute and sessions for less, so that nodes fetch new ones and log in anew
while a producer writes with acks=all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests import installation
from compat_tests.clusters import Cluster, Node
from compat_tests.security.provider import Provider
from compat_tests.security.servers import (
    OAUTHBEARER,
    PASSWORD,
    showing_tokens,
    taking_tokens,
    token_jaas,
)
from compat_tests.targets import APACHE, KAFKAPY
from compat_tests.waiting import wait_for

pytestmark = pytest.mark.slow
_NODE = "kafka-node"
_LIFETIME_S = 30
# Of what takes a moment where there is time for it.
_PATIENCE_S = 120
_CLUSTERS = {
    "kafkapy": (KAFKAPY, KAFKAPY, KAFKAPY),
    "Apache Kafka": (APACHE, APACHE, APACHE),
    "mixed": (KAFKAPY, APACHE, KAFKAPY),
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider({_NODE: PASSWORD}, _LIFETIME_S)
    yield made
    made.close()


def settings(provider: Provider) -> dict[str, str]:
    found = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        # Else Apache Kafka's brokers speak what security.inter.broker.protocol says.
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": OAUTHBEARER,
        "sasl.mechanism.controller.protocol": OAUTHBEARER,
        "sasl.login.refresh.min.period.seconds": "1",
        "sasl.login.refresh.buffer.seconds": "1",
        "connections.max.reauth.ms": "8000",
        "offsets.topic.replication.factor": "3",
    }
    for listener in ("plaintext", "controller"):
        own = f"listener.name.{listener}.oauthbearer."
        found |= taking_tokens(listener, provider) | showing_tokens(provider, own)
        found[f"{own}sasl.jaas.config"] = token_jaas(_NODE, PASSWORD)
    return found


@pytest.mark.parametrize("servers", _CLUSTERS.values(), ids=_CLUSTERS)
def test_nodes_log_in_by_tokens_that_they_fetch_and_renew(
    servers: tuple[str, ...], provider: Provider, tmp_path: Path
) -> None:
    if (reason := installation.why_not()) is not None:
        pytest.skip(reason)
    nodes = [Node(number, server) for number, server in enumerate(servers, 1)]
    cluster = Cluster(tmp_path, nodes, settings(provider), jvm_options=[provider.java_option])
    try:
        cluster.start()
        writes_while_tokens_end(cluster, provider)
        for number in cluster.nodes:
            assert PASSWORD not in cluster.log(number)
    finally:
        cluster.close()


def writes_while_tokens_end(cluster: Cluster, provider: Provider) -> None:
    client: dict[str, Any] = {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": OAUTHBEARER,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": _NODE,
        "sasl.oauthbearer.client.secret": PASSWORD,
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "log_level": 0,
    }
    admin = AdminClient(client)
    wait_for("three brokers", lambda: len(admin.list_topics(timeout=30).brokers) == 3)
    for done in admin.create_topics([NewTopic("t", 3, 3, config={"min.insync.replicas": "3"})]):
        assert done == "t"
    producer = Producer({**client, "acks": "all", "delivery.timeout.ms": _PATIENCE_S * 1000})
    failed: list[object] = []
    written = 0
    issued = provider.issued[_NODE]

    def every_token_has_ended() -> bool:
        nonlocal written
        written += 1
        producer.produce("t", str(written), on_delivery=lambda error, _: failed.append(error))
        producer.poll(0)
        # Two a node (of brokers, of controllers), and two clients: each has had another.
        return provider.issued[_NODE] - issued >= 8

    wait_for("tokens that follow tokens", every_token_has_ended, timeout_s=_PATIENCE_S)
    assert producer.flush(_PATIENCE_S) == 0
    assert len(failed) == written
    assert set(failed) == {None}
