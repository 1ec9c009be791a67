"""A shard's partition as the runtime wants it: records in, records out (runtime/record_log.py).

records of a step --> one batch --> ShardLog.append          Refused --> append_error
replay            <-- records   <-- ShardLog.read
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from kafkapy.coordinator import batches
from kafkapy.coordinator.append_errors import append_error
from kafkapy.coordinator.loader import LoadProgress, replay
from kafkapy.coordinator.shard_log import RecordCodec, ShardLog
from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.jobs import Steps
from kafkapy.core.seams import Clock
from kafkapy.core.step import Transactional, TransactionEnded
from kafkapy.protocol.batches.batch import Codec
from kafkapy.runtime.record_log import Committed

Rec = TypeVar("Rec")


@dataclass(frozen=True, slots=True)
class ShardSettings:
    """commit_timeout_ms  how long a reply waits for its records (offsets.commit.timeout.ms)
    base_sequence      what stands in the headers of batches: nobody reads it, Kafka's group
                       coordinator writes 0 and its transaction coordinator -1"""

    commit_timeout_ms: int = 5000
    compression: Codec = Codec.NONE
    base_sequence: int = -1


class ShardRecords(Generic[Rec]):
    def __init__(
        self, log: ShardLog, codec: RecordCodec[Rec], clock: Clock, settings: ShardSettings
    ) -> None:
        self.progress = LoadProgress()
        self._log = log
        self._codec = codec
        self._clock = clock
        self._settings = settings

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    def replay(self, apply: Callable[[Any], None]) -> Steps:
        try:
            yield from replay(self._log, self._codec, apply, self.progress)
        except Refused as refused:
            raise append_error(refused) from None

    def append(self, records: Sequence[Rec]) -> int:
        settings = self._settings
        batch = batches.build(
            records, self._codec, self._clock.wall(), settings.compression, settings.base_sequence
        )
        first: Any = records[0]
        version = first.transaction_version if isinstance(first, TransactionEnded) else 0
        guard = first.guard if isinstance(first, Transactional) else None
        try:
            return self._log.append(batch, transaction_version=version, guard=guard)
        except Refused as refused:
            raise append_error(refused) from None

    def when_committed(self, end_offset: int, then: Committed) -> None:
        def told(error: ErrorCode | None) -> None:
            then(None if error is None else append_error(Refused(error)).code)

        self._log.when_committed(end_offset, told)
