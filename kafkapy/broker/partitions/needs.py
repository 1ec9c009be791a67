"""What a partition asks of those around it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafkapy.core.errors import Refused
from kafkapy.core.seams import Clock
from kafkapy.kraft.controller.partitions.isr import PartitionAgreed
from kafkapy.kraft.image.topics import PartitionState

if TYPE_CHECKING:
    from kafkapy.broker.partitions.partition import Partition

ChangeAnswered = Callable[[PartitionState | PartitionAgreed | Refused], None]


class HasReplicas(Protocol):
    """What a leader with followers asks of its broker (replication/replication.py)."""

    @property
    def clock(self) -> Clock: ...

    @property
    def max_lag_ms(self) -> int: ...

    def is_eligible(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the metadata has that broker alive, in this life (-1: in any)."""

    def propose(
        self, partition: "Partition", isr: tuple[int, ...], then: ChangeAnswered
    ) -> None: ...

    def withdraw(self, partition: "Partition") -> None: ...

    def led_anew(self, partition: "Partition") -> None: ...

    def left(self, partition: "Partition", replicas: "list[int]") -> None:
        """They are not in sync any more. Whoever fetches on is to be told of (`follower_lives`)."""


class HasHook(Protocol):
    """What is done with what is produced, before it is appended as EXAMINED (hooks/produce.py)."""

    def submit(
        self,
        records: memoryview | bytes,
        is_wanted: Callable[[], bool],
        then: Callable[[bytes | Refused], None],
    ) -> None: ...
