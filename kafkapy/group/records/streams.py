"""Record types 17 and 19 to 23: streams groups (KIP-1071)."""

from typing import ClassVar

from kafkapy.core.data import dataclass
from kafkapy.protocol.schemas.schema import (
    array,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
)

_V0 = range(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentConfig:
    key: str = string()
    value: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataValue:
    epoch: int = int32()
    metadata_hash: int = int64()
    validated_topology_epoch: int = int32(tag=0, default=-1)
    last_assignment_configs: tuple[AssignmentConfig, ...] | None = array(
        AssignmentConfig, tag=1, default=None
    )
    stored_description_topology_epoch: int = int32(tag=2, default=-1)
    failed_description_topology_epoch: int = int32(tag=3, default=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 17
    __value_type__: ClassVar[type] = StreamsGroupMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    host: str = string()
    port: int = uint16()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTag:
    key: str = string()
    value: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataValue:
    instance_id: str | None = string()
    rack_id: str | None = string()
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = int32(default=-1)
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: Endpoint | None = struct()
    client_tags: tuple[ClientTag, ...] = array(ClientTag)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 19
    __value_type__: ClassVar[type] = StreamsGroupMemberMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 20
    __value_type__: ClassVar[type] = StreamsGroupTargetAssignmentMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIds:
    subtopology_id: str = string()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedTaskIds:
    subtopology_id: str = string()
    partitions: tuple[int, ...] = array("int32")
    assignment_epochs: tuple[int, ...] | None = array("int32", tag=0, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberValue:
    active_tasks: tuple[TaskIds, ...] = array(TaskIds)
    standby_tasks: tuple[TaskIds, ...] = array(TaskIds)
    warmup_tasks: tuple[TaskIds, ...] = array(TaskIds)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 21
    __value_type__: ClassVar[type] = StreamsGroupTargetAssignmentMemberValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue:
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    active_tasks: tuple[OwnedTaskIds, ...] = array(OwnedTaskIds)
    standby_tasks: tuple[OwnedTaskIds, ...] = array(OwnedTaskIds)
    warmup_tasks: tuple[OwnedTaskIds, ...] = array(OwnedTaskIds)
    active_tasks_pending_revocation: tuple[OwnedTaskIds, ...] = array(OwnedTaskIds)
    standby_tasks_pending_revocation: tuple[OwnedTaskIds, ...] = array(OwnedTaskIds)
    warmup_tasks_pending_revocation: tuple[OwnedTaskIds, ...] = array(OwnedTaskIds)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 22
    __value_type__: ClassVar[type] = StreamsGroupCurrentMemberAssignmentValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    key: str = string()
    value: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: tuple[TopicConfig, ...] = array(TopicConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopartitionGroup:
    source_topics: tuple[int, ...] = array("int16")
    source_topic_regex: tuple[int, ...] = array("int16")
    repartition_source_topics: tuple[int, ...] = array("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    subtopology_id: str = string()
    source_topics: tuple[str, ...] = array("string")
    source_topic_regex: tuple[str, ...] = array("string")
    state_changelog_topics: tuple[TopicInfo, ...] = array(TopicInfo)
    repartition_sink_topics: tuple[str, ...] = array("string")
    repartition_source_topics: tuple[TopicInfo, ...] = array(TopicInfo)
    copartition_groups: tuple[CopartitionGroup, ...] = array(CopartitionGroup)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyValue:
    epoch: int = int32()
    subtopologies: tuple[Subtopology, ...] = array(Subtopology)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 23
    __value_type__: ClassVar[type] = StreamsGroupTopologyValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
