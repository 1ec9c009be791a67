"""AssignReplicasToDirs in bytes."""

from uuid import UUID

from kafkapy.broker.handlers import assign_replicas_to_dirs
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode
from tests.kraft.controller.fakes import directory_of

UNKNOWN = UUID(int=1 << 70)


def test_each_replica_is_answered_where_it_was_named() -> None:
    node = AdminNode()
    topic_id = node.cluster.create("t", (1,))
    directory = directory_of(1)
    topics = [
        {"topic_id": topic_id, "partitions": [{"partition_index": 0}, {"partition_index": 9}]},
        {"topic_id": UNKNOWN, "partitions": [{"partition_index": 0}]},
    ]
    answer = node.request(
        assign_replicas_to_dirs,
        73,
        0,
        broker_id=1,
        broker_epoch=node.image.brokers[1].epoch,
        directories=[{"id_": directory, "topics": topics}],
    )
    (told,) = answer.directories
    assert told.id_ == directory
    codes = [[one.error_code for one in topic.partitions] for topic in told.topics]
    assert codes == [
        [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        [ErrorCode.UNKNOWN_TOPIC_ID],
    ]


def test_a_stale_broker_is_refused_as_a_whole() -> None:
    answer = AdminNode().request(
        assign_replicas_to_dirs, 73, 0, broker_id=1, broker_epoch=999, directories=[]
    )
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
