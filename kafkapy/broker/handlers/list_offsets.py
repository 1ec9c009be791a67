"""ListOffsets, v1-11. v2 isolation level, v4 leader epochs, v7 -3, v8 -4, v9 -5, v11 -6.

timestamp   offset
>= 0        first record at or after it
-1 latest   high watermark, or last stable offset for read_committed
-2 earliest, -4 earliest on local disk: log start offset
-3          record with the largest timestamp
-5, -6      tiered storage, which kafkapy has not: none
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.list_offsets.v11.request import ListOffsetsPartition, ListOffsetsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasPartitions, HearsOfDisks

    class Needs(HasAuthorizer, HasPartitions, HearsOfDisks, Protocol): ...


LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
)
_SINCE_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING: 11,
}
CONSUMER, DEBUGGING_CONSUMER = -1, -2
_NOT_FOUND = (-1, -1, -1)


def handle(node: "Needs", call: "Call[ListOffsetsRequest]") -> Answer:
    asked = Counter(
        (topic.name, one.partition_index) for topic in call.body.topics for one in topic.partitions
    )
    return {
        "throttle_time": 0,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    _partition(node, call, topic.name, one, asked[topic.name, one.partition_index])
                    for one in topic.partitions
                ],
            }
            for topic in call.body.topics
        ],
    }


def _partition(
    node: "Needs",
    call: "Call[ListOffsetsRequest]",
    topic: str,
    asked: "ListOffsetsPartition",
    times: int,
) -> dict[str, Any]:
    code = ErrorCode.NONE
    offset, timestamp, epoch = _NOT_FOUND
    try:
        require(node, call, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        if times > 1:
            raise Refused(ErrorCode.INVALID_REQUEST)
        partition = node.partitions.readable(topic, None, asked.partition_index)
        if call.body.replica_id != DEBUGGING_CONSUMER:
            partition.check_leader(optional(asked, "current_leader_epoch", -1))
        offset, timestamp, epoch = _find(call, partition, asked.timestamp)
    except Refused as refused:
        code = refused.code
    except DiskFailed as failed:
        node.directory_failed(failed)
        code = ErrorCode.KAFKA_STORAGE_ERROR
    return {
        "partition_index": asked.partition_index,
        "error_code": code,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch,
    }


def _find(
    call: "Call[ListOffsetsRequest]", partition: Partition, timestamp: int
) -> tuple[int, int, int]:
    """(offset, timestamp, leader epoch) as the client may see them."""
    log = partition.log
    if timestamp < 0 and call.version < _SINCE_VERSION.get(timestamp, 99):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    match timestamp:
        case -1:
            _check_end_is_known(call, partition)
            return _visible_end(call, partition), -1, partition.leader_epoch
        case -2 | -4:
            start = log.log_start_offset
            return start, -1, log.epochs.epoch_at(start)
        case -5 | -6:
            return _NOT_FOUND
        case -3:
            found = log.max_timestamp_offset()
        case _:
            found = log.offset_for_timestamp(timestamp)
    if found is not None and found[0] < _visible_end(call, partition):
        return found
    _check_end_is_known(call, partition)
    return _NOT_FOUND


def _check_end_is_known(call: "Call[ListOffsetsRequest]", partition: Partition) -> None:
    """A new leader does not know yet what of the old one is committed; what it finds below
    is."""
    if (
        call.body.replica_id == CONSUMER
        and partition.log.high_watermark < partition.leader_epoch_start
    ):
        raise Refused(
            ErrorCode.OFFSET_NOT_AVAILABLE if call.version >= 5 else ErrorCode.LEADER_NOT_AVAILABLE
        )


def _visible_end(call: "Call[ListOffsetsRequest]", partition: Partition) -> int:
    log = partition.log
    if call.body.replica_id != CONSUMER:
        return log.log_end_offset
    committed_only = optional(call.body, "isolation_level", 0) == 1
    return log.last_stable_offset if committed_only else log.high_watermark
