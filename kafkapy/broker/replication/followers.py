"""What a leader knows of its followers: who is in sync, and what is committed.

    in sync, as the controller has it        agreed
    asked of the controller, not answered    agreed + who would join, or as before without
                                             who would leave: the larger of the two counts

The high watermark is the smallest log end over all that may be in sync: so a record that is
acknowledged is on every replica that the controller could make leader next, whichever of two
answers it gives. Who is caught up and about to join holds it back too, or a busy leader would
run away from it for ever. formats/replication 3; KIP-497, KIP-903, KIP-966.
"""

from collections.abc import Callable, Iterable
from typing import Final

from kafkapy.broker.replication.progress import NEVER_CAUGHT_UP, Progress
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant

# Whether a broker is alive to the metadata, in this life of it (-1: in any).
IsEligible = Callable[[int, int], bool]
_NOBODY: Final[frozenset[int]] = frozenset()


class Followers:
    """Of one partition that this node leads, in one leader epoch."""

    __slots__ = ("_is_eligible", "_max_lag_ms", "_node_id", "_proposed", "agreed", "progress")

    def __init__(
        self,
        node_id: int,
        replicas: Iterable[int],
        isr: Iterable[int],
        *,
        now: Instant,
        max_lag_ms: int,
        is_eligible: IsEligible,
    ) -> None:
        self.agreed: tuple[int, ...] = tuple(isr)
        self._node_id = node_id
        self._max_lag_ms = max_lag_ms
        self._is_eligible = is_eligible
        self._proposed: frozenset[int] | None = None
        # A new leader gives those in sync the time of a lag to show that they still are.
        self.progress = {
            replica: Progress(now if replica in self.agreed else NEVER_CAUGHT_UP)
            for replica in replicas
            if replica != node_id
        }

    # -- who is in sync

    @property
    def is_asking(self) -> bool:
        """A change was proposed, and the controller has not said what became of it."""
        return self._proposed is not None

    @property
    def counted(self) -> frozenset[int]:
        """All that may be in sync, whatever the controller says to what is proposed."""
        return (self._proposed or _NOBODY) | frozenset(self.agreed)

    def propose(self, isr: Iterable[int]) -> None:
        assert self._proposed is None, (self._proposed, isr)
        self._proposed = frozenset(isr)

    def settled(self, replicas: Iterable[int], isr: Iterable[int]) -> list[int]:
        """As the controller has it now; what was proposed came to be or did not. Gives those who
        left."""
        before, self.agreed = self.counted, tuple(isr)
        self._proposed = None
        known = self.progress
        self.progress = {
            replica: known.get(replica) or Progress(NEVER_CAUGHT_UP)
            for replica in replicas
            if replica != self._node_id
        }
        return self._left(before)

    def refused(self) -> list[int]:
        """What was proposed is not so, and will not be. Gives those who would have joined."""
        before, self._proposed = self.counted, None
        return self._left(before)

    def _left(self, before: frozenset[int]) -> list[int]:
        left = [
            replica for replica in self.progress if replica in before and replica not in self.agreed
        ]
        for replica in left:
            self.progress[replica].has_left = True
        return left

    def lives(self, replica: int, broker_epoch: int) -> None:
        """It fetched, and said nothing of this partition: it is where it was."""
        progress = self.progress.get(replica)
        if progress is not None and progress.broker_epoch == broker_epoch:
            progress.has_left = False

    # -- fetches

    def fetched(
        self,
        replica: int,
        offset: int,
        log_start: int,
        leader_end: int,
        broker_epoch: int,
        now: Instant,
    ) -> None:
        """Refused if it is no replica, or the fetch is of an earlier life of it."""
        progress = self.progress.get(replica)
        if progress is None or -1 < broker_epoch < progress.broker_epoch:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        progress.fetched(offset, log_start, leader_end, broker_epoch, now)

    def was_caught_up(self, replica: int, at: Instant) -> None:
        """It had everything when it fetched last, at `at`, and did not say so again."""
        progress = self.progress.get(replica)
        if progress is not None:
            progress.was_caught_up(at)

    def joining(self, replica: int, high_watermark: int, epoch_start: int) -> bool:
        """Whether it has what an in-sync replica must have, and is not one."""
        progress = self.progress[replica]
        end = progress.log_end_offset
        return (
            replica not in self.agreed
            and not progress.has_left
            and end >= high_watermark
            and end >= epoch_start
            and self._is_eligible(replica, progress.broker_epoch)
        )

    def lagging(self, leader_end: int, now: Instant) -> list[int]:
        """In sync by agreement, and not in fact."""
        progress, lag = self.progress, self._max_lag_ms
        return [
            replica
            for replica in self.agreed
            if replica != self._node_id
            and (
                replica not in progress or not progress[replica].is_caught_up(leader_end, now, lag)
            )
        ]

    # -- what is committed

    def committed_end(self, leader_end: int, now: Instant) -> int:
        """What all have that count; `leader_end` as far as it is durable enough here."""
        counted = self.counted
        end = leader_end
        for replica, progress in self.progress.items():
            its_end = progress.log_end_offset
            if its_end < end and (
                replica in counted or self._is_about_to_join(replica, progress, leader_end, now)
            ):
                end = its_end
        return end

    def _is_about_to_join(
        self, replica: int, progress: Progress, leader_end: int, now: Instant
    ) -> bool:
        return (
            not progress.has_left
            and progress.is_caught_up(leader_end, now, self._max_lag_ms)
            and self._is_eligible(replica, progress.broker_epoch)
        )

    def lowest_log_start(self, own: int) -> int:
        """Below it no replica that is there has anything (DeleteRecords)."""
        starts = [
            progress.log_start_offset
            for replica, progress in self.progress.items()
            if self._is_eligible(replica, -1)
        ]
        return min([own, *starts])
