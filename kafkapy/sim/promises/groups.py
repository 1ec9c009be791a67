"""What members of groups were told and promised, and the judge of it.

    hears     a member is told that it owns a partition, in an epoch (or generation)
    commits   a commit was acknowledged            fetched   this is what is committed

- In one epoch a partition is told to one member only.
- A commit that was acknowledged is never taken back: what is fetched, and what is committed by
  whoever asks afterwards, is at least that. An answer may have been long under way.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkapy.core.ids import TopicPartition
from kafkapy.sim.promises.partitions import BrokenPromise


@dataclass(slots=True)
class GroupFacts:
    group: str
    # What each living member believes to own now.
    held: dict[str, frozenset[int]] = field(default_factory=dict)
    commits: int = 0
    _told: dict[tuple[int, int], str] = field(default_factory=dict)
    _committed: dict[TopicPartition, int] = field(default_factory=dict)

    def hears(self, member: str, epoch: int, partitions: Iterable[int]) -> None:
        self.held[member] = frozenset(partitions)
        for partition in self.held[member]:
            owner = self._told.setdefault((epoch, partition), member)
            if owner != member:
                raise BrokenPromise(
                    f"{self.group}: in epoch {epoch} partition {partition} was {owner}'s, "
                    f"and now it is {member}'s"
                )

    def gives_up(self, member: str) -> None:
        """It was fenced, left or is no more."""
        self.held.pop(member, None)

    def acknowledged(self, partition: TopicPartition) -> int:
        """What whoever asks now has to be told at least."""
        return self._committed.get(partition, 0)

    def committed(self, partition: TopicPartition, offset: int, least: int) -> None:
        """The commit of `offset` was acknowledged; `least` was when it was asked for."""
        self._at_least(partition, offset, least, "a commit was acknowledged of")
        self._committed[partition] = max(offset, self.acknowledged(partition))
        self.commits += 1

    def fetched(self, partition: TopicPartition, offset: int, least: int) -> None:
        self._at_least(partition, offset, least, "the committed offset is said to be")

    def is_shared(self, partitions: int) -> bool:
        """Everything is owned, and nothing twice."""
        owned = sorted(number for numbers in self.held.values() for number in numbers)
        return owned == list(range(partitions))

    def _at_least(self, partition: TopicPartition, offset: int, least: int, what: str) -> None:
        if offset < least:
            raise BrokenPromise(
                f"{self.group}: {what} {offset} in {partition}, and {least} was acknowledged"
            )
