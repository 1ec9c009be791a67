"""AlterReplicaLogDirs, v1-2: move partitions between this node's own log directories.

The copy is made beside the log in use, which is replaced by it once it has caught up. For
a partition that is not there yet the directory is remembered.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.acls import Operation

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.alter_replica_log_dirs.v2.request import AlterReplicaLogDirsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasLogs, HearsOfDisks

    class Needs(HasAuthorizer, HasConfig, HasLogs, HearsOfDisks, Protocol): ...


def handle(node: "Needs", call: "Call[AlterReplicaLogDirsRequest]") -> Answer:
    topics: dict[str, list[dict[str, Any]]] = {}
    may = allows_on_cluster(node, call, Operation.ALTER)
    for directory in call.body.dirs:
        for topic in directory.topics:
            rows = topics.setdefault(topic.name, [])
            for index in topic.partitions:
                code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                if may:
                    code = _move(node, TopicPartition(topic.name, index), directory.path)
                rows.append({"partition_index": index, "error_code": code})
    return {
        "throttle_time": 0,
        "results": [{"topic_name": name, "partitions": rows} for name, rows in topics.items()],
    }


def _move(node: "Needs", topic_partition: TopicPartition, path: str) -> ErrorCode:
    try:
        if path not in node.config.data_directories:
            raise Refused(ErrorCode.LOG_DIR_NOT_FOUND)
        if node.logs.is_offline(path):
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        node.logs.move(topic_partition, path)
        if node.logs.get(topic_partition) is None:
            return ErrorCode.REPLICA_NOT_AVAILABLE  # for now: it is remembered
    except Refused as refused:
        return refused.code
    except DiskFailed as failed:
        node.directory_failed(failed)
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE
