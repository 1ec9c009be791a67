"""Topics created through a broker while the controller is another process."""

from typing import Any

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from tests.sim.cluster.kit import Kit

APART = ("broker",) * 3 + ("controller",)


def create(kit: Kit, name: str, at: int, timeout_ms: int = 10_000) -> Any:
    topic = {"name": name, "num_partitions": 3, "replication_factor": 2}
    body = {"topics": [topic], "timeout": timeout_ms}
    return kit.client.ask(at, ApiKey.CREATE_TOPICS, body).topics[0]


def knows(kit: Kit, node_id: int, name: str) -> bool:
    """Whether it is what the metadata says, as far as that topic goes."""
    node = kit.world.hosts[node_id].node
    assert node is not None
    assert node.broker is not None
    topic = node.image.topics_by_name.get(name)
    return topic is not None and node.broker.partitions.is_followed(topic.id)


def test_the_broker_that_answers_knows_the_topic() -> None:
    kit = Kit(1, APART)
    for number in range(15):
        at = 1 + number % 3
        assert create(kit, f"new-{number}", at).error_code == ErrorCode.NONE
        assert knows(kit, at, f"new-{number}")


def test_what_was_not_created_is_answered_at_once() -> None:
    kit = Kit(2, APART)
    began = kit.world.clock.now()
    assert create(kit, "t", 1).error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert kit.world.clock.now() - began < 1_000


def test_who_asks_a_controller_that_stops_leading_is_answered_by_the_next() -> None:
    """Its own broker was asked: the client never hears which of the nodes is a controller."""
    kit = Kit(11)
    asked = kit.world.wait_for_controller()
    for other in kit.others(asked):
        kit.world.network.cut(asked.name, other)
        kit.world.network.cut(other, asked.name)
    heard: list[Any] = []
    topic = {"name": "late", "num_partitions": 1, "replication_factor": 3}
    body = {"topics": [topic], "timeout": 60_000}
    kit.client.send(asked.node_id, ApiKey.CREATE_TOPICS, body, heard.append)
    kit.world.run(10_000)
    assert kit.world.wait_for_controller() is not asked
    kit.world.network.heal()
    kit.wait(lambda: bool(heard))
    assert heard[0].topics[0].error_code == ErrorCode.NONE
