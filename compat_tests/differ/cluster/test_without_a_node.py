"""What two nodes answer while the third is away: stopped as it should be, or killed."""

import signal
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from compat_tests.clusters import APACHE, KAFKAPY, Cluster
from compat_tests.differ.cluster.moving_cases import creation, reassignment
from compat_tests.differ.cluster.nodes import Nodes
from compat_tests.differ.differences import compared
from compat_tests.differ.record_cases import fetch, list_offsets
from compat_tests.differ.side import batch_of
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-differ")]
AWAY, THERE = 2, (1, 3)
NOBODY = -1
METADATA = ApiKey.METADATA


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_both_clusters_answer_alike_without_a_node(
    clusters: dict[str, Cluster],
    how: signal.Signals,
    record_property: Callable[[str, object], None],
) -> None:
    name = f"a{uuid.uuid4().hex[:10]}"
    asked = [Nodes(clusters[server], METADATA, 13, name) for server in (APACHE, KAFKAPY)]
    with ThreadPoolExecutor(2) as pool:
        try:
            topics = list(pool.map(make_topics, asked))
            # By this thread: a node dies with the one that started it.
            for nodes in asked:
                nodes.cluster.stop([AWAY], how=how)
            try:
                list(pool.map(ask_when_it_is_known, asked, topics))
            finally:
                for nodes in asked:
                    nodes.cluster.start([AWAY])
            list(pool.map(wait_until_in_sync, asked, topics))
            apache, kafkapy = (nodes.heard for nodes in asked)
        finally:
            for nodes in asked:
                nodes.close()
    record_property("answers compared", len(apache))
    found = compared("without a node", apache, kafkapy)
    assert not found, "\n".join(["", *found])


class Topics(NamedTuple):
    """On all nodes; on two, and both must have a record; on that which goes."""

    shared: str
    strict: str
    alone: str


def make_topics(nodes: Nodes) -> Topics:
    return Topics(
        nodes.topic({0: [2, 1, 3], 1: [1, 2, 3], 2: [3, 2, 1]}),
        nodes.topic({0: [1, 2]}, {"min.insync.replicas": "2"}),
        nodes.topic({0: [AWAY]}),
    )


def ask_when_it_is_known(nodes: Nodes, topics: Topics) -> None:
    # The next leader is who stands first of those in sync.
    nodes.wait_for_leaders(topics.shared, {0: 1, 1: 1, 2: 3}, asked=THERE)
    wait_until_nobody_leads(nodes, topics.alone)
    wait_until_it_is_not_named(nodes)
    ask(nodes, *topics)


def ask(nodes: Nodes, shared: str, strict: str, alone: str) -> None:
    topics = [{"name": name} for name in (shared, strict, alone)]
    for node_id in THERE:
        side = nodes.broker(node_id)
        for version in (1, 5, 13):
            side.ask(METADATA, {"topics": topics, "allow_auto_topic_creation": False}, version)
        side.ask(
            ApiKey.DESCRIBE_TOPIC_PARTITIONS, {"topics": topics, "response_partition_limit": 99}
        )
        for fenced in (False, True):
            side.ask(
                ApiKey.DESCRIBE_CLUSTER, {"endpoint_type": 1, "include_fenced_brokers": fenced}
            )
    for acks in (-1, 1):
        for node_id, topic in ((1, strict), (1, shared), (3, alone)):
            side = nodes.broker(node_id)
            side.ask(ApiKey.PRODUCE, side.produce(topic, batch_of(b"1"), acks=acks))
    side = nodes.broker(3)
    side.ask(ApiKey.FETCH, fetch(side, alone))
    side.ask(ApiKey.LIST_OFFSETS, list_offsets(alone, -1))
    new = f"{nodes.name}-new"
    for at, body in enumerate(
        (
            creation(f"{new}-0", partitions=1, replicas=3),
            creation(f"{new}-1", partitions=1, replicas=2),
            creation(f"{new}-2", assignment={0: [AWAY]}),
            creation(f"{new}-3", assignment={0: [AWAY, 1]}),
        )
    ):
        nodes.broker(THERE[at % 2]).ask(ApiKey.CREATE_TOPICS, {**body, "timeout": 10_000})
    for kind in (0, 1):
        for topic in (shared, alone):
            rows = [{"topic": topic, "partitions": [0]}]
            body = {"election_type": kind, "topic_partitions": rows, "timeout": 10_000}
            side.ask(ApiKey.ELECT_LEADERS, body)
    for replicas in ([AWAY, 3], [3], None):
        side.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, reassignment({alone: {0: replicas}}))
    listed = {"topics": [{"name": alone, "partition_indexes": [0]}]}
    side.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, listed)


def wait_until_nobody_leads(nodes: Nodes, topic: str) -> None:
    def nobody() -> bool:
        answers = [nodes.broker(one).call(METADATA, {"topics": [{"name": topic}]}) for one in THERE]
        return all(one.topics[0].partitions[0].leader_id == NOBODY for one in answers)

    wait_for(f"nobody leads {topic}", nobody, every_s=0.05)


def wait_until_it_is_not_named(nodes: Nodes) -> None:
    """kafkapy knows of a death sooner, and names the broker until its session is over, too
    (broker/metadata/recently_dead.py)."""

    def is_left_out() -> bool:
        answers = [nodes.broker(one).call(METADATA, {"topics": []}) for one in THERE]
        return all(AWAY not in [one.node_id for one in answer.brokers] for answer in answers)

    wait_for(f"node {AWAY} is not named", is_left_out, every_s=0.05)


def wait_until_in_sync(nodes: Nodes, topics: Topics) -> None:
    rows = [{"name": topics.shared}, {"name": topics.strict}]

    def are_in_sync() -> bool:
        found = nodes.broker(1).call(METADATA, {"topics": rows}).topics
        partitions = [one for topic in found for one in topic.partitions]
        return all(len(one.isr_nodes) == len(one.replica_nodes) for one in partitions)

    wait_for("all are in sync", are_in_sync, every_s=0.1)
