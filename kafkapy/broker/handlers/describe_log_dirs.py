"""DescribeLogDirs, v1-5. v3 a top-level error, v4 the size of the volume (KIP-827), v5
whether the directory is cordoned (KIP-1066).
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.acls import Operation
from kafkapy.log.partition_log import PartitionLog

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_log_dirs.v5.request import DescribeLogDirsRequest

    from kafkapy.broker.requests.needs import (
        HasAuthorizer,
        HasConfig,
        HasLogs,
        HasPartitions,
        HearsOfDisks,
    )
    from kafkapy.core.seams import Disk

    class Needs(HasAuthorizer, HasConfig, HasLogs, HasPartitions, HearsOfDisks, Protocol):
        @property
        def disk(self) -> Disk: ...


_UNKNOWN_SIZE = -1


def handle(node: "Needs", call: "Call[DescribeLogDirsRequest]") -> Answer:
    if not allows_on_cluster(node, call, Operation.DESCRIBE):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return {"throttle_time": 0, "error_code": code, "results": ()}
    asked = None
    if call.body.topics is not None:
        asked = {
            TopicPartition(topic.topic, index)
            for topic in call.body.topics
            for index in topic.partitions
        }
    return {
        "throttle_time": 0,
        "error_code": 0,
        "results": [_directory(node, path, asked) for path in node.config.data_directories],
    }


def _directory(node: "Needs", path: str, asked: set[TopicPartition] | None) -> dict[str, Any]:
    if node.logs.is_offline(path):
        return _offline(path)
    try:
        total, usable = node.disk.space(path)
    except DiskFailed as failed:
        node.directory_failed(failed)
        return _offline(path)
    topics: dict[str, list[dict[str, Any]]] = {}
    for log, is_future in node.logs.in_directory(path):
        if asked is None or log.topic_partition in asked:
            row = _replica(node, log, is_future=is_future)
            topics.setdefault(log.topic_partition.topic, []).append(row)
    return {
        "error_code": 0,
        "log_dir": path,
        "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
        "total_bytes": total,
        "usable_bytes": usable,
        "is_cordoned": path in node.logs.cordoned,
    }


def _replica(node: "Needs", log: PartitionLog, *, is_future: bool) -> dict[str, Any]:
    """`offset_lag`: of a follower behind the high watermark, of a future log behind the
    one it will replace."""
    behind = log.high_watermark - log.log_end_offset
    if is_future:
        current = node.partitions.get(*log.topic_partition)
        behind = 0 if current is None else current.log.log_end_offset - log.log_end_offset
    return {
        "partition_index": log.topic_partition.partition,
        "partition_size": log.size,
        "offset_lag": max(0, behind),
        "is_future_key": is_future,
    }


def _offline(path: str) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.KAFKA_STORAGE_ERROR,
        "log_dir": path,
        "topics": (),
        "total_bytes": _UNKNOWN_SIZE,
        "usable_bytes": _UNKNOWN_SIZE,
    }
