"""In which of its directories a broker keeps its replicas, on the way to the controller (KIP-858).

    tell --> [together with what else waits] --> AssignReplicasToDirs --> the metadata says so
                                                     \\-> nobody there: again, soon

The controller needs it to know what goes with a directory that fails. One request is under way
at a time, so that what comes meanwhile goes together.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Callback, Clock
from kafkapy.core.time import later
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, ReplicaDirectory

if TYPE_CHECKING:
    from kafkapy.kraft.controller.partitions.directories import AssignReply

# As many as Kafka's own brokers put into one request.
MOST_AT_ONCE: Final = 2000
RETRY_MS: Final = 100

_Replica = tuple[UUID, int]  # topic, partition


class DirectoryAssignments:
    """`event(replicas)` makes the question, with this broker's name and epoch on it."""

    def __init__(
        self,
        link: ControllerLink,
        clock: Clock,
        event: Callable[[Iterable[ReplicaDirectory]], AssignReplicas],
    ) -> None:
        self._link = link
        self._clock = clock
        self._event = event
        self._waiting: dict[_Replica, UUID] = {}
        self._then: list[tuple[dict[_Replica, UUID], Callback]] = []
        self._is_asking = False
        self._is_closed = False

    def tell(self, topic_id: UUID, index: int, directory: UUID) -> None:
        """The newest one counts, until it was told."""
        self._waiting[topic_id, index] = directory
        if not self._is_asking:
            self._clock.call_soon(self._ask)

    def known(self, topic_id: UUID, index: int) -> None:
        """The metadata has it, or the replica is gone."""
        if self._waiting.pop((topic_id, index), None) is not None:
            self._look_who_waits()

    def when_told(self, then: Callback) -> None:
        """`then` once the controller has heard of all that waits now."""
        self._then.append((dict(self._waiting), then))
        self._look_who_waits()

    def close(self) -> None:
        self._is_closed = True
        self._waiting.clear()
        self._then.clear()

    def _look_who_waits(self) -> None:
        waiting = self._waiting.items()
        ready = [one for one in self._then if one[0].items().isdisjoint(waiting)]
        self._then = [one for one in self._then if one not in ready]
        for _, then in ready:
            then()

    def _ask(self) -> None:
        if self._is_asking or not self._waiting or self._is_closed:
            return
        self._is_asking = True
        told = tuple(
            ReplicaDirectory(directory, topic_id, index)
            for (topic_id, index), directory in islice(self._waiting.items(), MOST_AT_ONCE)
        )
        self._link.assign_directories(self._event(told), lambda reply: self._answered(told, reply))

    def _answered(self, told: tuple[ReplicaDirectory, ...], reply: "AssignReply | Refused") -> None:
        self._is_asking = False
        if isinstance(reply, Refused) and reply.code is not ErrorCode.UNSUPPORTED_VERSION:
            self._clock.call_at(later(self._clock.now(), RETRY_MS), self._ask)
            return
        # What is refused by itself was deleted or reassigned meanwhile.
        for one in told:
            if self._waiting.get((one.topic_id, one.index)) == one.directory:
                del self._waiting[one.topic_id, one.index]
        self._look_who_waits()
        self._ask()
