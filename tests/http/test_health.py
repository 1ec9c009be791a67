"""Whether a node says how it is."""

import json

import httpx2 as httpx

from kafkapy.testing import Broker, Cluster
from tests.http.pages import HTTP, client_of

STRICT = {**HTTP, "min.insync.replicas": "2"}


def test_a_node_that_is_well_says_so_to_people(over_http: httpx.Client) -> None:
    answer = over_http.get("/health")
    assert answer.status_code == 200
    assert answer.text.startswith("pass  node 1 of cluster ")
    assert "node 1 leads, in epoch" in answer.text
    assert "all have leaders" in answer.text


def test_and_to_programs(over_http: httpx.Client) -> None:
    answer = over_http.get("/health", headers={"accept": "application/json"})
    assert answer.headers["content-type"] == "application/health+json"
    told = answer.json()
    assert told["status"] == "pass"
    assert told["checks"]["quorum"][0]["status"] == "pass"


def test_a_cluster_that_lost_a_broker_is_not_well() -> None:
    """With two of three replicas in sync it warns; with fewer than acks=all needs it fails."""
    with Cluster(3, settings=STRICT) as cluster:
        cluster.create_topic("kept", partitions=3, config={"min.insync.replicas": "3"})
        cluster.kill(3)
        cluster.wait_for(
            lambda: all(len(cluster.in_sync("kept", one)) == 2 for one in range(3)), "two in sync"
        )
        with client_of(cluster.node(1)) as client:
            answer = client.get("/health", headers={"accept": "application/json"})
        told = json.loads(answer.text)
        assert answer.status_code == 503
        assert told["checks"]["brokers"][0]["status"] == "warn"
        assert "fenced: 3" in told["checks"]["brokers"][0]["output"]


def test_a_node_that_does_not_serve_yet_is_alive_and_not_ready() -> None:
    """Its link is as it is before the node serves."""
    with Broker(HTTP) as broker, client_of(broker) as client:
        http = broker._running().http
        assert http is not None
        http.link.is_serving = False
        assert client.get("/health/live").status_code == 200
        assert client.get("/health/ready").status_code == 503
        assert client.get("/health").status_code == 503
