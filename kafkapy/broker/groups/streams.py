"""Internal topics of Kafka Streams applications: made through the controller, with the settings
that the topology asks for (KIP-1071), in the name of the member whose heartbeat asks for them: they
count against its quota of controller mutations.

A member that hears that topics are missing beats on. Until a topic that could not be made is
tried again, twice the group's heartbeat interval later, members are told why.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.controller.for_clients import create_topics
from kafkapy.broker.groups.wiring import GroupWiring
from kafkapy.broker.requests.request import Call
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock, Journal
from kafkapy.core.time import Instant, later
from kafkapy.group.streams.topology import InternalTopic
from kafkapy.kraft.controller.topics.changes import DEFAULT, CreateTopics, NewTopic
from kafkapy.protocol.error_messages import message_of

# As Apache Kafka's cache of such errors: the names are members' own.
_MOST_FAILURES: Final = 1_000
# How long a failure is told: so many heartbeats.
_INTERVALS: Final = 2


class StreamsWiring:
    """What the node does for streams groups besides their machine."""

    def __init__(
        self, groups: GroupWiring, link: ControllerLink, clock: Clock, journal: Journal
    ) -> None:
        self._groups = groups
        self._link = link
        self._clock = clock
        self._journal = journal
        self._under_way: set[str] = set()
        # Why a topic could not be made, and how long that is told.
        self._failures: dict[str, tuple[str, Instant]] = {}

    @property
    def is_enabled(self) -> bool:
        return self._groups.settings.is_streams_protocol_enabled

    def create_topics(
        self, topics: Iterable[InternalTopic], group_id: str, member: Call[Any]
    ) -> None:
        now = self._clock.now()
        retry_after_ms = _INTERVALS * self._groups.settings.streams_heartbeat_ms(group_id)
        for name in [one for one, (_, until) in self._failures.items() if until <= now]:
            del self._failures[name]
        wanted = tuple(
            NewTopic(
                topic.name,
                topic.partitions,
                topic.replication_factor or DEFAULT,
                configs=topic.configs,
            )
            for topic in topics
            if topic.name not in self._under_way and topic.name not in self._failures
        )
        if wanted:
            self._under_way.update(topic.name for topic in wanted)
            create_topics(
                self._link,
                CreateTopics(wanted),
                member,
                lambda answer: self._made(wanted, answer, retry_after_ms),
            )

    def failures(self, topics: Iterable[InternalTopic]) -> dict[str, str]:
        now = self._clock.now()
        found = ((topic.name, self._failures.get(topic.name)) for topic in topics)
        return {name: why[0] for name, why in found if why is not None and now < why[1]}

    def _made(
        self,
        topics: tuple[NewTopic, ...],
        answer: Mapping[str, Any] | Refused,
        retry_after_ms: int,
    ) -> None:
        for topic in topics:
            self._under_way.discard(topic.name)
            verdict = answer if isinstance(answer, Refused) else answer[topic.name]
            if not isinstance(verdict, Refused):
                self._journal.info("topic created", topic=topic.name, reason="of a streams group")
            elif verdict.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                self._journal.warning("topic not created", topic=topic.name, reason=verdict)
                if len(self._failures) < _MOST_FAILURES:
                    until = later(self._clock.now(), retry_after_ms)
                    self._failures[topic.name] = (message_of(verdict) or "", until)
