"""A consumer at read_committed that leaves aborted records out as the real ones do.

The broker sends everything below the last stable offset, and beside it which producers'
transactions were aborted from which offset on; the consumer drops those until their markers.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import batches, records
from kafkapy.protocol.batches.control_records import ControlRecordType, control_type
from kafkapy.sim.checkers import History, Outcome, Poll, Read
from kafkapy.sim.clients.actors import LOST, Ask, Sleep
from kafkapy.sim.promises.partitions import BrokenPromise

FETCH_VERSION: Final = 12
READ_COMMITTED: Final = 1
MAX_BYTES: Final = 700  # small: polls end in the middle of transactions

Talk = Generator[Ask | Sleep, Any, Any]


@dataclass(slots=True)
class CommittedReader:
    history: History
    process: int
    positions: dict[TopicPartition, int] = field(default_factory=dict)

    def poll(self, partition: TopicPartition, max_bytes: int = MAX_BYTES) -> Talk:
        """One poll, written into the history; the records' values."""
        operation = self.history.invoke(self.process)
        position = self.positions.get(partition, 0)
        while True:
            answer = yield Ask(ApiKey.FETCH, FETCH_VERSION, _fetch(partition, position, max_bytes))
            if answer is LOST:
                continue
            row = answer.responses[0].partitions[0] if answer.responses else None
            if row is not None and row.error_code == ErrorCode.NONE:
                break
            assert row is None or row.error_code != ErrorCode.OFFSET_OUT_OF_RANGE, (row, position)
            yield Sleep(20)
        reads, next_position = visible(partition, row, position)
        self.positions[partition] = next_position
        poll = Poll(partition, position, next_position, reads)
        self.history.complete(operation, Outcome.OK, poll)
        return [str(read.value) for read in reads]


def visible(partition: TopicPartition, row: Any, position: int) -> tuple[tuple[Read, ...], int]:
    """What a consumer sees of one partition's answer, and where it goes on. Nothing that these
    clients read is compacted: whatever comes begins where the last batch ended."""
    aborted = sorted(
        ((one.first_offset, one.producer_id) for one in row.aborted_transactions or ()),
        reverse=True,
    )
    dropping: set[int] = set()
    reads: list[Read] = []
    data = memoryview(bytes(row.records or b""))
    for at, header in batches(data):
        while aborted and aborted[-1][0] <= header.last_offset:
            dropping.add(aborted.pop()[1])
        found = list(records(data[at : at + header.size]))
        if header.base_offset > position or len(found) != header.next_offset - header.base_offset:
            raise BrokenPromise(
                f"a gap of {partition} behind {position}: {len(found)} records are "
                f"{header.base_offset} to {header.last_offset}"
            )
        if header.is_control:
            if found and control_type(found[0].key) is ControlRecordType.ABORT:
                dropping.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dropping):
            reads += [
                Read(one.offset, (one.value or b"").decode())
                for one in found
                if one.offset >= position
            ]
        position = max(position, header.next_offset)
    return tuple(reads), position


def _fetch(partition: TopicPartition, position: int, max_bytes: int) -> dict[str, Any]:
    wanted = {
        "partition": partition.partition,
        "fetch_offset": position,
        "partition_max_bytes": max_bytes,
    }
    return {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": max_bytes,
        "isolation_level": READ_COMMITTED,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": partition.topic, "partitions": [wanted]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
