"""Elections that somebody asks for, and those that are due by themselves.

ElectLeaders               a client wants the preferred replica, or any, to lead
BalanceLeaders             periodic: hand leadership back to preferred replicas
ElectUncleanly             periodic: leaders for topics that would rather lose records
"""

from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.partitions.index import LEADERLESS, UNPREFERRED
from kafkapy.kraft.controller.partitions.leadership import change
from kafkapy.kraft.controller.partitions.partition_change import Election
from kafkapy.kraft.controller.partitions.sweeps import election_step
from kafkapy.kraft.controller.state import ControllerState, Located
from kafkapy.kraft.records.metadata import MetadataRecord


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """`partitions` None: all of them; then those that need no election are not named."""

    partitions: tuple[TopicPartition, ...] | None
    is_unclean: bool = False


@dataclass(frozen=True, slots=True)
class BalanceLeaders:
    """A slice at a time (sweeps.py); answered with True if there is more to do."""


@dataclass(frozen=True, slots=True)
class ElectUncleanly:
    """A slice at a time (sweeps.py); answered with True if there is more to do."""


ElectionEvent = ElectLeaders | BalanceLeaders | ElectUncleanly
ElectReply = dict[TopicPartition, Refused | None]


def unpreferred(state: ControllerState) -> tuple[TopicPartition, ...]:
    """Led by another replica than the first one, or by none."""
    found = state.located(state.index.places(UNPREFERRED))
    return tuple(TopicPartition(at.topic.name, at.index) for at in found)


class ElectionMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: ElectionEvent, now: Instant) -> Step[Fact, Any]:
        match event:
            case ElectLeaders():
                return self._elect_all(event)
            case BalanceLeaders():
                due, election = self._state.index.places(UNPREFERRED), Election.PREFERRED
                return election_step(self._state, "preferred leaders", due, election, now)
            case ElectUncleanly():
                due, election = self._state.index.places(LEADERLESS), Election.UNCLEAN
                return election_step(self._state, "unclean leaders", due, election, now)

    def _elect_all(self, event: ElectLeaders) -> Step[Fact, ElectReply]:
        election = Election.UNCLEAN if event.is_unclean else Election.PREFERRED
        wanted = event.partitions
        if wanted is None:
            # The others have their leader, and would not be named.
            wanted = unpreferred(self._state)
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
