"""One shard of a coordinator: a machine on one partition of an internal topic.

What it does with events, records and answers is the runtime's (runtime/runtime.py); what
stands in the log is shard_records.py's. Here they are put together, in a coordinator's words.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from kafkapy.coordinator.loader import LoadProgress
from kafkapy.coordinator.shard_log import RecordCodec, ShardLog
from kafkapy.coordinator.shard_records import ShardRecords, ShardSettings
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.core.step import Machine, TransactionEnded
from kafkapy.runtime.runtime import Runtime, RuntimeSettings, State, Then

Rec = TypeVar("Rec")
Reply = TypeVar("Reply")


class Shard(Generic[Rec, Reply]):
    """The callbacks are the runtime's."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        leader_epoch: int,
        log: ShardLog,
        machine: Machine[Any, Rec, Reply],
        codec: RecordCodec[Rec],
        clock: Clock,
        settings: ShardSettings,
        *,
        on_loaded: Callable[[], None] | None = None,
        on_committed: Callable[[Sequence[Rec]], None] | None = None,
        on_closed: Callable[[ErrorCode, str | None], None] | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.leader_epoch = leader_epoch
        self.machine = machine
        records = ShardRecords(log, codec, clock, settings)
        self.progress: LoadProgress = records.progress
        self.runtime: Runtime[Rec, Reply] = Runtime(
            machine,
            records,
            clock,
            RuntimeSettings(
                loading=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                closed=ErrorCode.NOT_COORDINATOR,
                too_late=ErrorCode.COORDINATOR_NOT_AVAILABLE,
                commit_timeout_ms=settings.commit_timeout_ms,
            ),
            on_loaded=on_loaded,
            on_committed=on_committed,
            on_closed=on_closed,
        )

    @property
    def state(self) -> State:
        return self.runtime.state

    @property
    def is_active(self) -> bool:
        return self.runtime.state is State.ACTIVE

    def load(self) -> None:
        """Replay the partition in slices of the loop, then serve."""
        self.runtime.load()

    def submit(self, event: Any, then: Then[Reply] | None = None) -> None:
        """Decide on `event` now; `then` gets the reply, or the Refused, once it may leave."""
        self.runtime.submit(event, then)

    def complete_transaction(
        self, ended: TransactionEnded, then: Callable[[Refused | None], None]
    ) -> None:
        """Append the marker that a transaction coordinator decided on (WriteTxnMarkers)."""
        self.runtime.write(ended, then)

    def close(self) -> None:
        """This node does not lead the partition any more."""
        self.runtime.close()
