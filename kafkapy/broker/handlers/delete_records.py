"""DeleteRecords, v0-2: move the log start offset forward; -1 means the high watermark."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.delete_records.v2.request import DeleteRecordsRequest

    from kafkapy.broker.requests.needs import HasPartitions, HearsOfDisks

    class Needs(HasPartitions, HearsOfDisks, Protocol): ...


HIGH_WATERMARK = -1


def handle(node: "Needs", call: "Call[DeleteRecordsRequest]") -> Answer:
    return {
        "throttle_time": 0,
        "topics": [
            {
                "name": topic.name,
                "partitions": [_partition(node, topic.name, one) for one in topic.partitions],
            }
            for topic in call.body.topics
        ],
    }


def _partition(node: "Needs", topic: str, asked: Any) -> dict[str, Any]:
    code, low_watermark = ErrorCode.NONE, -1
    try:
        partition = node.partitions.hosted(topic, None, asked.partition_index)
        if partition.is_internal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition.check_leader()
        low_watermark = _delete(partition, asked.offset)
    except Refused as refused:
        code = refused.code
    except DiskFailed as failed:
        node.directory_failed(failed)
        code = ErrorCode.KAFKA_STORAGE_ERROR
    return {
        "partition_index": asked.partition_index,
        "low_watermark": low_watermark,
        "error_code": code,
    }


def _delete(partition: Partition, offset: int) -> int:
    log = partition.log
    if log.config.is_compacted and not log.config.deletes_old:
        raise Refused(ErrorCode.POLICY_VIOLATION)
    if offset == HIGH_WATERMARK:
        offset = log.high_watermark
    if not 0 <= offset <= log.high_watermark:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    log.advance_log_start_offset(offset)
    return log.log_start_offset
