"""ListPartitionReassignments in bytes."""

from kafkapy.broker.handlers import list_partition_reassignments
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions.reassignments import AlterReassignments, Reassignment
from tests.broker.handlers.admin_node import AdminNode

KEY = 46


def test_what_is_moving_is_listed_with_who_comes_and_who_goes() -> None:
    node = AdminNode(brokers=3)
    node.cluster.create("t", (1, 2), (2, 3))
    node.cluster.ask(AlterReassignments((Reassignment(TopicPartition("t", 0), (2, 3)),)))
    for topics in (None, [{"name": "t", "partition_indexes": [0, 1]}]):
        answer = node.request(list_partition_reassignments, KEY, 0, topics=topics, timeout=1000)
        (topic,) = answer.topics
        (moving,) = topic.partitions
        assert (topic.name, moving.partition_index) == ("t", 0)
        assert tuple(moving.replicas) == (2, 3, 1)
        assert tuple(moving.adding_replicas) == (3,)
        assert tuple(moving.removing_replicas) == (1,)


def test_nothing_moving_nothing_listed() -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))
    answer = node.request(list_partition_reassignments, KEY, 0, topics=None, timeout=1000)
    assert answer.topics == ()
