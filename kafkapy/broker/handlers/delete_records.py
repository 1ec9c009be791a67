"""DeleteRecords, v0-2: move the log start offset forward; -1 means the high watermark.

    leader's log starts there --> followers hear of it as they fetch --> all that are alive
    start there: answered     \\-> the request's timeout: REQUEST_TIMED_OUT

Whoever asked wants to know that the records are gone, wherever they were.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.requests.translations import millis
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.delete_records.v2.request import DeleteRecordsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasClock, HasPartitions, HearsOfDisks

    class Needs(HasAuthorizer, HasClock, HasPartitions, HearsOfDisks, Protocol): ...


HIGH_WATERMARK = -1


def handle(node: "Needs", call: "Call[DeleteRecordsRequest]") -> Answer:
    deleting = _Deleting(node, call)
    if deleting.is_done:
        return deleting.answer()
    return deleting.park(millis(call.body.timeout))


class _Row:
    """What is to be told of one partition; `partition` while its followers are behind."""

    __slots__ = ("code", "index", "low_watermark", "partition", "wanted")

    def __init__(self, index: int) -> None:
        self.index = index
        self.code = ErrorCode.NONE
        self.low_watermark = -1
        self.wanted = -1
        self.partition: Partition | None = None

    def look(self) -> None:
        """Whether all that are alive begin where they should by now."""
        partition = self.partition
        if partition is None:
            return
        try:
            partition.check_leader()
        except Refused as refused:
            self.code, self.low_watermark, self.partition = refused.code, -1, None
        else:
            self.low_watermark = partition.low_watermark
            if self.low_watermark >= self.wanted:
                self.partition = None


class _Deleting:
    """One request, carried out here, perhaps waiting for followers."""

    def __init__(self, node: "Needs", call: "Call[DeleteRecordsRequest]") -> None:
        self._node = node
        self._call = call
        self._later = Later()
        self._topics = [
            (topic.name, [_begin(node, call, topic.name, one) for one in topic.partitions])
            for topic in call.body.topics
        ]
        self._watched: list[Partition] = []

    @property
    def _rows(self) -> list[_Row]:
        return [row for _, rows in self._topics for row in rows]

    @property
    def is_done(self) -> bool:
        return all(row.partition is None for row in self._rows)

    def park(self, timeout_ms: int) -> Later:
        clock = self._node.clock
        self._timer = clock.call_at(later(clock.now(), max(0, timeout_ms)), self._time_is_up)
        self._watched = [row.partition for row in self._rows if row.partition is not None]
        for partition in self._watched:
            partition.start_watchers.append(self._look)
        self._call.peer.on_close.append(self._leave)
        return self._later

    def _look(self) -> None:
        if not self._watched:
            return  # it has left, and was told all the same: with the others, before
        for row in self._rows:
            row.look()
        if self.is_done:
            self._resolve()

    def _time_is_up(self) -> None:
        for row in self._rows:
            row.look()
            if row.partition is not None:
                row.code = ErrorCode.REQUEST_TIMED_OUT
        self._resolve()

    def _resolve(self) -> None:
        self._call.peer.on_close.remove(self._leave)
        self._leave()
        self._later.resolve(self.answer())

    def _leave(self) -> None:
        """Nothing is waited for any more; the client may have gone."""
        self._timer.cancel()
        watched, self._watched = self._watched, []
        for partition in watched:
            partition.start_watchers.remove(self._look)

    def answer(self) -> Fields:
        return {
            "throttle_time": 0,
            "topics": [
                {
                    "name": name,
                    "partitions": [
                        {
                            "partition_index": row.index,
                            "low_watermark": row.low_watermark,
                            "error_code": row.code,
                        }
                        for row in rows
                    ],
                }
                for name, rows in self._topics
            ],
        }


def _begin(node: "Needs", call: "Call[DeleteRecordsRequest]", topic: str, asked: Any) -> _Row:
    row = _Row(asked.partition_index)
    try:
        require(node, call, Operation.DELETE, ResourceType.TOPIC, topic)
        partition = node.partitions.hosted(topic, None, asked.partition_index)
        if partition.is_internal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition.check_leader()
        row.wanted = _delete(partition, asked.offset)
    except Refused as refused:
        row.code = refused.code
    except DiskFailed as failed:
        node.directory_failed(failed)
        row.code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        row.partition = partition
        row.look()
    return row


def _delete(partition: Partition, offset: int) -> int:
    """From where on it is to begin everywhere."""
    log = partition.log
    if log.config.is_compacted and not log.config.deletes_old:
        raise Refused(ErrorCode.POLICY_VIOLATION)
    if offset == HIGH_WATERMARK:
        offset = log.high_watermark
    if not 0 <= offset <= log.high_watermark:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    partition.begin_later(offset)
    return offset
