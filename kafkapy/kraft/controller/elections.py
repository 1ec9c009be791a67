"""Elections that somebody asks for, and those that are due by themselves.

ElectLeaders               a client wants the preferred replica, or any, to lead
BalanceLeaders             periodic: hand leadership back to preferred replicas
ElectUncleanly             periodic: leaders for topics that would rather lose records
"""

from collections.abc import Iterator
from typing import Any, Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.leadership import change, without_leader
from kafkapy.kraft.controller.partition_change import Election
from kafkapy.kraft.controller.state import ControllerState, Located
from kafkapy.kraft.records.metadata import MetadataRecord

# Elections in one go; the rest follows at once, as a step of its own.
MAX_ELECTIONS_PER_STEP: Final = 1000


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """`partitions` None: all of them; then those that need no election are not named."""

    partitions: tuple[TopicPartition, ...] | None
    is_unclean: bool = False


@dataclass(frozen=True, slots=True)
class BalanceLeaders:
    """Answered with True if there may be more to do."""


@dataclass(frozen=True, slots=True)
class ElectUncleanly:
    """Answered with True if there may be more to do."""


ElectionEvent = ElectLeaders | BalanceLeaders | ElectUncleanly
ElectReply = dict[TopicPartition, Refused | None]


class ElectionMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: ElectionEvent, now: Instant) -> Step[Fact, Any]:
        match event:
            case ElectLeaders():
                return self._elect_all(event)
            case BalanceLeaders():
                return self._up_to_limit(self._imbalanced(), Election.PREFERRED)
            case ElectUncleanly():
                return self._up_to_limit(self._recoverable(), Election.UNCLEAN)

    def _elect_all(self, event: ElectLeaders) -> Step[Fact, ElectReply]:
        election = Election.UNCLEAN if event.is_unclean else Election.PREFERRED
        wanted = event.partitions
        if wanted is None:
            wanted = tuple(where for where, _ in self._state.image.partitions())
        records: list[Fact] = []
        reply: ElectReply = {}
        for where in wanted:
            try:
                records.append(self._elect(where, election))
                reply[where] = None
            except Refused as refused:
                if event.partitions is None and refused.code is ErrorCode.ELECTION_NOT_NEEDED:
                    continue
                reply[where] = refused
        return Step(records=tuple(records), reply=reply)

    def _elect(self, where: TopicPartition, election: Election) -> MetadataRecord:
        topic = self._state.image.topics_by_name.get(where.topic)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {where.topic}")
        state = topic.partitions.get(where.partition)
        if state is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {where}")
        is_preferred = election is Election.PREFERRED
        if state.leader == state.preferred_leader if is_preferred else state.has_leader:
            raise Refused(ErrorCode.ELECTION_NOT_NEEDED)
        record = change(self._state, Located(topic, where.partition, state), election=election)
        if record is None:
            raise Refused(
                ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
                if is_preferred
                else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
            )
        return record

    def _up_to_limit(self, partitions: Iterator[Located], election: Election) -> Step[Fact, bool]:
        records: list[Fact] = []
        for at in partitions:
            record = change(self._state, at, election=election)
            if record is not None:
                records.append(record)
                if len(records) == MAX_ELECTIONS_PER_STEP:
                    break
        return Step(records=tuple(records), reply=len(records) == MAX_ELECTIONS_PER_STEP)

    def _imbalanced(self) -> Iterator[Located]:
        for at in self._state.partitions():
            if at.state.leader != at.state.preferred_leader:
                yield at

    def _recoverable(self) -> Iterator[Located]:
        for at in without_leader(self._state):
            if self._state.allows_unclean_election(at.topic.name):
                yield at
