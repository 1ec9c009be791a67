"""Topics: create and delete them, add partitions.

One request names many topics, and each gets its own verdict; the records of those that
may be travel in one batch. TopicRecord, ConfigRecords, PartitionRecords: in that order.
Where they are many they come here some at a time (parts.py), a topic never in two pieces.
KIP-464 (defaults), KIP-525 (settings in the answer), KIP-516 (topic ids).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.rules import TopicSetting
from kafkapy.kraft.controller.state import MAX_RECORDS_PER_OPERATION, ControllerState
from kafkapy.kraft.controller.topics.assignments import chosen, placed, records_of
from kafkapy.kraft.controller.topics.names import by_metric_name, check_collision, check_name
from kafkapy.kraft.controller.topics.views import check_deletable, source_of_new, views_by_source
from kafkapy.kraft.image.image import TOPIC_RESOURCE
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.records.metadata import (
    ConfigRecord,
    MetadataRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafkapy.kraft.uuids import new_uuid

# "As many as the cluster's default says."
DEFAULT: Final = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """`assignments` are (partition, replicas); with them the two counts must be DEFAULT."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: tuple[tuple[int, tuple[int, ...]], ...] = ()
    configs: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTopics:
    """`describable`: names whose settings the client may see. `names_are_fine`: it is a part of
    a request whose names were held against each other and against those there are."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False
    describable: frozenset[str] = frozenset()
    names_are_fine: bool = False


@dataclass(frozen=True, slots=True)
class TopicCreated:
    topic_id: UUID
    partitions: int
    replication_factor: int
    settings: tuple[TopicSetting, ...] | None


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """By id: whoever asks has looked the names up."""

    topic_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class MorePartitions:
    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    topics: tuple[MorePartitions, ...]
    validate_only: bool = False


TopicEvent = CreateTopics | DeleteTopics | CreatePartitions
# The verdict on each name or id that was asked for.
CreateReply = Mapping[str, TopicCreated | Refused]
DeleteReply = Mapping[UUID, Refused | None]
PartitionsReply = Mapping[str, Refused | None]


class TopicMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: TopicEvent, now: Instant) -> Step[Fact, Any]:
        match event:
            case CreateTopics():
                return self._create_all(event)
            case DeleteTopics():
                return self._delete_all(event)
            case CreatePartitions():
                return self._add_all(event)

    # -- create ------------------------------------------------------------------------

    def _create_all(self, event: CreateTopics) -> Step[Fact, CreateReply]:
        default = self._state.rules.default_partitions
        if sum(size_of(topic, default) for topic in event.topics) > MAX_RECORDS_PER_OPERATION:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                "Excessively large number of partitions per request.",
            )
        standing = self._state.image.topics_by_name
        refused = {} if event.names_are_fine else refused_names(event.topics, standing)
        records: list[Fact] = []
        reply: dict[str, TopicCreated | Refused] = dict(refused)
        for topic in event.topics:
            if topic.name in refused:
                continue
            try:
                if topic.name in standing:  # by now
                    raise _exists(topic.name)
                made, created = self._create(topic, topic.name in event.describable)
            except Refused as why:
                reply[topic.name] = why
            else:
                records += made
                reply[topic.name] = created
        return Step(records=() if event.validate_only else tuple(records), reply=reply)

    def _create(self, topic: NewTopic, is_describable: bool) -> tuple[list[Fact], TopicCreated]:
        state = self._state
        values = self._values(topic)
        source = source_of_new(state.image, topic, values)
        partitions = [] if source is not None else self._partitions(topic)
        topic_id = new_uuid(state.rng)
        records: list[Fact] = [TopicRecord(name=topic.name, topic_id=topic_id)]
        records += [
            ConfigRecord(
                resource_type=TOPIC_RESOURCE, resource_name=topic.name, name=name, value=value
            )
            for name, value in values.items()
        ]
        records += records_of(topic_id, partitions)
        settings = None
        if is_describable:
            settings = state.rules.topic_settings(values, state.node_values, state.cluster_values)
        shown = partitions if source is None else source.partitions
        created = TopicCreated(topic_id, len(shown), len(shown[0].replicas), settings)
        return records, created

    def _values(self, topic: NewTopic) -> dict[str, str]:
        nulls = [name for name, value in topic.configs if value is None]
        if nulls:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Null value not supported for topic configs: {','.join(nulls)}",
            )
        values = {name: value for name, value in topic.configs if value is not None}
        if values:
            self._state.rules.check(TOPIC_RESOURCE, topic.name, values, {})
        return values

    def _partitions(self, topic: NewTopic) -> list[PartitionState]:
        if topic.assignments:
            return self._assigned(topic)
        factor, count = topic.replication_factor, topic.partitions
        if factor < DEFAULT or factor == 0:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if count < DEFAULT or count == 0:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            )
        rules = self._state.rules
        return placed(
            self._state,
            rules.default_partitions if count == DEFAULT else count,
            rules.default_replication_factor if factor == DEFAULT else factor,
        )

    def _assigned(self, topic: NewTopic) -> list[PartitionState]:
        given = "A manual partition assignment was specified, but"
        if topic.replication_factor != DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"{given} replication factor was not set to -1."
            )
        if topic.partitions != DEFAULT:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{given} numPartitions was not set to -1.")
        partitions: dict[int, PartitionState] = {}
        factor: int | None = None
        for index, replicas in topic.assignments:
            if index in partitions:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            partitions[index] = chosen(self._state, index, replicas, factor)
            factor = len(replicas)
        if sorted(partitions) != list(range(len(partitions))):
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
        return [partitions[index] for index in sorted(partitions)]

    # -- delete ------------------------------------------------------------------------

    def _delete_all(self, event: DeleteTopics) -> Step[Fact, DeleteReply]:
        reply: dict[UUID, Refused | None] = {}
        records: list[Fact] = []
        topics = self._state.image.topics_by_id
        views = views_by_source(self._state.image)
        deleted = frozenset(topics[one].name for one in event.topic_ids if one in topics)
        for topic_id in dict.fromkeys(event.topic_ids):
            try:
                if topic_id not in topics:
                    raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
                check_deletable(topics[topic_id], views, deleted)
            except Refused as refused:
                reply[topic_id] = refused
            else:
                records.append(RemoveTopicRecord(topic_id=topic_id))
                reply[topic_id] = None
        return Step(records=tuple(records), reply=reply)

    # -- more partitions ---------------------------------------------------------------

    def _add_all(self, event: CreatePartitions) -> Step[Fact, PartitionsReply]:
        reply: dict[str, Refused | None] = {}
        records: list[Fact] = []
        count = sum(map(self._count_added, event.topics))
        if count > MAX_RECORDS_PER_OPERATION:
            # Before any place is looked for: somebody may ask for two thousand million.
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"Unable to perform excessively large batch operation: {count} partitions "
                f"are more than {MAX_RECORDS_PER_OPERATION}.",
            )
        for wanted in event.topics:
            try:
                records += self._add(wanted)
                reply[wanted.name] = None
            except Refused as refused:
                reply[wanted.name] = refused
        return Step(records=() if event.validate_only else tuple(records), reply=reply)

    def _count_added(self, wanted: MorePartitions) -> int:
        known = self._state.image.topics_by_name.get(wanted.name)
        return 0 if known is None else max(0, wanted.count - len(known.partitions))

    def _add(self, wanted: MorePartitions) -> Sequence[MetadataRecord]:
        topic = self._state.topic(wanted.name)
        standing = len(topic.partitions)
        if not standing:
            raise Refused(ErrorCode.INVALID_PARTITIONS, "A view has the partitions of its source.")
        if wanted.count == standing:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS, f"Topic already has {standing} partition(s)."
            )
        if wanted.count < standing:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {topic.name} currently has {standing} partition(s); "
                f"{wanted.count} would not be an increase.",
            )
        return records_of(topic.id, self._added(topic, wanted), standing)

    def _added(self, topic: TopicState, wanted: MorePartitions) -> list[PartitionState]:
        standing = len(topic.partitions)
        more = wanted.count - standing
        factor = len(topic.partitions[0].replicas)
        if wanted.assignments is None:
            return placed(self._state, more, factor)
        if len(wanted.assignments) != more:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {more} additional partition(s), but only "
                f"{len(wanted.assignments)} assignment(s) were specified.",
            )
        return [
            chosen(self._state, standing + position, replicas, factor)
            for position, replicas in enumerate(wanted.assignments)
        ]


def size_of(topic: NewTopic, default_partitions: int) -> int:
    """How many partitions are asked for, whether they may be or not."""
    if topic.assignments:
        return len(topic.assignments)
    return default_partitions if topic.partitions == DEFAULT else max(topic.partitions, 0)


def refused_names(topics: Sequence[NewTopic], standing: Collection[str]) -> dict[str, Refused]:
    """Names that are asked for twice, cannot be, are there, or look like one that is there."""
    counts = Counter(topic.name for topic in topics)
    taken = by_metric_name(standing)
    refused = {}
    for name, count in counts.items():
        try:
            if count > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            check_name(name)
            if name in standing:
                raise _exists(name)
            check_collision(name, taken)
        except Refused as why:
            refused[name] = why
    return refused


def _exists(name: str) -> Refused:
    return Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
