"""Changes of in-sync replicas, on their way to the controller: one request at a time.

    propose --> [together with what else waits] --> AlterPartition --> answer to each
                                                        \\-> nobody there: again, soon

What is not answered is asked again, as long as this node leads: the partition's epochs keep
an old question from doing harm. formats/controller 2.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock
from kafkapy.core.time import later
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr, PartitionAgreed
from kafkapy.kraft.image.topics import PartitionState

if TYPE_CHECKING:
    from kafkapy.kraft.controller.partitions.isr import AlterPartitionReply

Answered = Callable[["PartitionState | PartitionAgreed | Refused"], None]
_RETRY_MS: Final = 50
# What says nothing of the proposal itself: it is made again.
_ASK_AGAIN: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)


class IsrChanges:
    """`event(partitions)` makes the question, with this broker's name and epoch on it."""

    def __init__(
        self,
        link: ControllerLink,
        clock: Clock,
        event: Callable[[tuple[NewIsr, ...]], AlterPartition],
    ) -> None:
        self._link = link
        self._clock = clock
        self._event = event
        self._waiting: dict[tuple[UUID, int], tuple[NewIsr, Answered]] = {}
        self._is_asking = False
        self._is_closed = False

    def propose(self, change: NewIsr, then: Answered) -> None:
        """`then` once; never if it is withdrawn."""
        self._waiting[change.topic_id, change.index] = (change, then)
        self._clock.call_soon(self._ask)

    def withdraw(self, topic_id: UUID, index: int) -> None:
        """Nobody wants to know any more: the metadata has said so itself."""
        self._waiting.pop((topic_id, index), None)

    def close(self) -> None:
        self._is_closed = True
        self._waiting.clear()

    def _ask(self) -> None:
        if self._is_asking or not self._waiting or self._is_closed:
            return
        self._is_asking = True
        asked = dict(self._waiting)
        event = self._event(tuple(change for change, _ in asked.values()))
        self._link.alter_partition(event, lambda reply: self._answered(asked, reply))

    def _answered(
        self,
        asked: dict[tuple[UUID, int], tuple[NewIsr, Answered]],
        reply: "AlterPartitionReply | Refused",
    ) -> None:
        self._is_asking = False
        if self._is_closed:
            return
        if isinstance(reply, Refused):
            self._again()
            return
        for (key, proposal), verdict in zip(asked.items(), reply, strict=True):
            if self._waiting.get(key) is not proposal:
                continue  # withdrawn, or replaced, while it was under way
            if isinstance(verdict, Refused) and verdict.code in _ASK_AGAIN:
                continue
            del self._waiting[key]
            proposal[1](verdict)
        if self._waiting:
            self._again()

    def _again(self) -> None:
        self._clock.call_at(later(self._clock.now(), _RETRY_MS), self._ask)
