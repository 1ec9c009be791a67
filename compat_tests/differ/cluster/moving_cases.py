"""Replicas that are placed, moved and elected: asked of a broker, and of controllers that lead and
that do not."""

from collections.abc import Mapping, Sequence
from typing import Any

from compat_tests.differ.cluster.cases import case
from compat_tests.differ.cluster.nodes import Nodes
from compat_tests.differ.side import batch_of
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

CREATE, GROW = ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS
REASSIGN, REASSIGNMENTS = ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS
ELECT, METADATA = ApiKey.ELECT_LEADERS, ApiKey.METADATA
TOPIC, BROKER = 2, 4
PREFERRED, UNCLEAN = 0, 1


@case(CREATE)
def topics_are_placed(nodes: Nodes) -> None:
    """Where, is each one's own; how many, and what cannot be, is not."""
    name = f"{nodes.name}-new"
    nodes.ask_controllers(CREATE, creation(f"{name}-0", partitions=4, replicas=2))
    for at, body in enumerate(
        (
            creation(f"{name}-1", partitions=3, replicas=3),
            creation(f"{name}-2", partitions=150, replicas=1),
            creation(f"{name}-3"),
            creation(f"{name}-4", replicas=4),
            creation(f"{name}-5", assignment={0: [1, 2, 3], 1: [2, 1, 3]}),
            creation(f"{name}-6", assignment={0: [1, 2], 1: [2]}),
            creation(f"{name}-7", assignment={0: [1, 1]}),
            creation(f"{name}-8", assignment={0: [1, 4]}),
            creation(f"{name}-9", assignment={0: [1], 2: [2]}),
            creation(f"{name}-0"),
        )
    ):
        nodes.broker(1 + at % 3).ask(CREATE, {**body, "timeout": 10_000})


@case(GROW)
def topics_grow(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    for count, assignment in (
        (2, [[2, 3]]),
        (3, [[3]]),
        (3, [[3, 1, 2]]),
        (3, [[3, 3]]),
        (3, [[3, 4]]),
        (4, [[1, 2], [2, 1]]),
        (2, None),
    ):
        rows = None if assignment is None else [{"broker_ids": each} for each in assignment]
        row = {"name": topic, "count": count, "assignments": rows}
        nodes.ask_controllers(GROW, {"topics": [row], "timeout": 10_000})
        nodes.broker(2).ask(GROW, {"topics": [row], "timeout": 10_000})


@case(REASSIGN)
def reassignments_that_cannot_be(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2], 1: [1, 2]})
    plans: list[dict[int, list[int] | None]] = [
        {0: [1, 9]},
        {0: [3, 3]},
        {0: []},
        {0: [-1]},
        {0: None},
        {7: [1, 2]},
        {7: None},
        {0: [1, 9], 1: [1, 2]},
        {},
    ]
    for wanted in plans:
        for name in (topic, f"{nodes.name}-unknown"):
            nodes.broker(3).ask(REASSIGN, reassignment({name: wanted}))
    nodes.ask_controllers(REASSIGN, reassignment({topic: {0: [1, 9]}}))
    nodes.ask_controllers(REASSIGN, reassignment({topic: {1: [2, 1]}}))
    told(nodes, topic, {0: [1, 2], 1: [2, 1]})


@case(REASSIGN, since=1)
def reassignments_that_may_not_change_how_many(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    for replicas in ([1], [1, 2, 3], [2, 1], [2, 3]):
        body = reassignment({topic: {0: replicas}})
        nodes.broker(3).ask(REASSIGN, {**body, "allow_replication_factor_change": False})
    nodes.broker(3).call(REASSIGN, reassignment({topic: {0: None}}))


@case(REASSIGNMENTS)
def reassignments_under_way_are_listed_changed_and_cancelled(nodes: Nodes) -> None:
    """Held back by a throttle of a byte a second. A controller that does not lead lists what it
    knows with Apache Kafka, and refuses with kafkapy: it may not be the latest."""
    topic = slow_topic(nodes, {0: [1, 2], 1: [1, 2]})
    nodes.broker(1).ask(REASSIGN, reassignment({topic: {0: [1, 3], 1: [3, 2]}}))
    everything = {"topics": [{"name": topic, "partition_indexes": [0, 1, 7]}]}
    nodes.ask_brokers(REASSIGNMENTS, everything)
    nodes.active.ask(REASSIGNMENTS, everything)
    for rows in ([{"name": topic, "partition_indexes": [1]}], [{"name": topic}], []):
        nodes.broker(2).ask(REASSIGNMENTS, {"topics": rows})
    told(nodes, topic, {0: [1, 3, 2], 1: [3, 2, 1]})
    for wanted in ([1, 2, 3], [2, 3], [3], None, None):
        nodes.broker(2).ask(REASSIGN, reassignment({topic: {0: wanted}}))
        nodes.broker(2).ask(REASSIGNMENTS, everything)
    nodes.broker(2).ask(REASSIGN, reassignment({topic: {0: None, 1: None}}))
    nodes.broker(2).ask(REASSIGNMENTS, everything)
    told(nodes, topic, {0: [1, 2], 1: [2, 1]})


@case(ELECT)
def leaders_are_elected(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2], 1: [2, 3], 2: [1, 2]})
    nodes.lead(topic, 0, [2, 1])
    nodes.broker(1).ask(REASSIGN, reassignment({topic: {0: [1, 2]}}))
    for kind in (PREFERRED, UNCLEAN, 7):
        for rows in (
            [{"topic": topic, "partitions": [0]}],
            [{"topic": topic, "partitions": [0, 1, 7]}],
            [{"topic": f"{nodes.name}-unknown", "partitions": [0]}],
            [],
        ):
            body = {"election_type": kind, "topic_partitions": rows, "timeout": 10_000}
            nodes.broker(3).ask(ELECT, body)
            if kind in (PREFERRED, UNCLEAN):
                nodes.ask_controllers(ELECT, body)
    nodes.wait_for_leaders(topic, {0: 1, 1: 2, 2: 1})
    nodes.ask_brokers(METADATA, {"topics": [{"name": topic}]})


@case(ApiKey.DELETE_TOPICS)
def topics_are_deleted_by_any_broker(nodes: Nodes) -> None:
    """Its reassignment goes with a topic."""
    topic = slow_topic(nodes, {0: [1, 2]})
    nodes.broker(1).call(REASSIGN, reassignment({topic: {0: [1, 3]}}))
    names = [topic]
    rows = [{"name": topic}]
    body = {"topics": rows, "topic_names": names, "timeout": 10_000}
    nodes.inactive.ask(ApiKey.DELETE_TOPICS, body)
    nodes.broker(2).ask(ApiKey.DELETE_TOPICS, body)
    nodes.broker(3).ask(ApiKey.DELETE_TOPICS, body)
    nodes.broker(3).ask(REASSIGNMENTS, {"topics": [{"name": topic, "partition_indexes": [0]}]})


def creation(
    name: str,
    *,
    partitions: int = -1,
    replicas: int = -1,
    assignment: Mapping[int, Sequence[int]] | None = None,
) -> dict[str, Any]:
    rows = [{"partition_index": at, "broker_ids": to} for at, to in (assignment or {}).items()]
    row = {"name": name, "num_partitions": partitions, "replication_factor": replicas}
    return {"topics": [{**row, "assignments": rows, "configs": []}]}


def reassignment(wanted: Mapping[str, Mapping[int, Sequence[int] | None]]) -> dict[str, Any]:
    topics = [
        {
            "name": name,
            "partitions": [{"partition_index": at, "replicas": to} for at, to in rows.items()],
        }
        for name, rows in wanted.items()
    ]
    return {"topics": topics, "timeout": 10_000}


def slow_topic(nodes: Nodes, assignment: Mapping[int, Sequence[int]]) -> str:
    """One with something to copy, and a leader that gives a byte a second of it."""
    throttled = {"leader.replication.throttled.replicas": "*"}
    topic = nodes.topic(assignment, {**throttled, "follower.replication.throttled.replicas": "*"})
    alter = ApiKey.INCREMENTAL_ALTER_CONFIGS
    rates = [
        {"name": f"{side}.replication.throttled.rate", "config_operation": 0, "value": "1"}
        for side in ("leader", "follower")
    ]
    rows = [
        {"resource_type": BROKER, "resource_name": str(one), "configs": rates} for one in (1, 2, 3)
    ]
    nodes.broker(1).call(alter, {"resources": rows, "validate_only": False})
    nodes.broker(1).write(topic, b"x" * 100_000)
    side = nodes.broker(1)
    if 1 in assignment:
        side.call(ApiKey.PRODUCE, side.produce(topic, batch_of(b"x" * 100_000), partition=1))
    return topic


def told(nodes: Nodes, topic: str, replicas: dict[int, list[int]]) -> None:
    """All brokers know where its replicas are; what they say of it is compared."""
    body = {"topics": [{"name": topic}]}

    def known() -> bool:
        answers = [nodes.broker(one).call(METADATA, body) for one in (1, 2, 3)]
        found = [one.topics[0].partitions for one in answers]
        return all(
            {row.partition_index: list(row.replica_nodes) for row in rows} == replicas
            for rows in found
        )

    wait_for(f"{topic} is on {replicas}", known, every_s=0.01)
    nodes.ask_brokers(METADATA, body)
