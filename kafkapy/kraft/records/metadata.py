"""The records of the metadata log: what `__cluster_metadata` remembers.

One class per record for all its versions; a field says since which version it is written
(`since`) and under which tag. A record travels framed as

    uvarint 1 | uvarint api_key | uvarint version | body (always flexible)

`kafkapy.kraft.records.codec` frames them and knows which version a metadata.version writes.
formats/metadata 1 and 2; Kafka's metadata/src/main/resources/common/metadata.
"""

from typing import ClassVar, Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.protocol.schemas import schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a broker or controller listens; the protocol is Kafka's SecurityProtocol id."""

    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    host: str = schema.string()
    port: int = schema.uint16()
    security_protocol: int = schema.int16()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRange:
    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    min_supported_version: int = schema.int16()
    max_supported_version: int = schema.int16()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecord:
    __api_key__: ClassVar[int] = 0
    __flexible_since__: ClassVar[int] = 0
    broker_id: int = schema.int32()
    is_migrating_zk_broker: bool = schema.boolean(since=2, default=False)
    incarnation_id: UUID = schema.uuid()
    broker_epoch: int = schema.int64()
    end_points: tuple[Endpoint, ...] = schema.array(Endpoint)
    features: tuple[FeatureRange, ...] = schema.array(FeatureRange)
    rack: str | None = schema.string(default=None)
    fenced: bool = schema.boolean(default=True)
    in_controlled_shutdown: bool = schema.boolean(since=1, default=False)
    log_dirs: tuple[UUID, ...] = schema.array("uuid", since=3, tag=0, default=())
    cordoned_log_dirs: tuple[UUID, ...] | None = schema.array("uuid", since=4, tag=1, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecord:
    __api_key__: ClassVar[int] = 1
    __flexible_since__: ClassVar[int] = 0
    broker_id: int = schema.int32()
    broker_epoch: int = schema.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    __api_key__: ClassVar[int] = 2
    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    topic_id: UUID = schema.uuid()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """The whole of a partition; `directories` run parallel to `replicas`."""

    __api_key__: ClassVar[int] = 3
    __flexible_since__: ClassVar[int] = 0
    partition_id: int = schema.int32(default=-1)
    topic_id: UUID = schema.uuid()
    replicas: tuple[int, ...] = schema.array("int32", default=())
    isr: tuple[int, ...] = schema.array("int32", default=())
    removing_replicas: tuple[int, ...] = schema.array("int32", default=())
    adding_replicas: tuple[int, ...] = schema.array("int32", default=())
    leader: int = schema.int32(default=-1)
    leader_recovery_state: int = schema.int8(tag=0, default=0)
    leader_epoch: int = schema.int32(default=-1)
    partition_epoch: int = schema.int32(default=-1)
    directories: tuple[UUID | None, ...] = schema.array("uuid", since=1, default=())
    eligible_leader_replicas: tuple[int, ...] | None = schema.array(
        "int32", since=2, tag=1, default=None
    )
    last_known_elr: tuple[int, ...] | None = schema.array("int32", since=2, tag=2, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord:
    """Sets `name` of a resource; a value of None deletes it."""

    __api_key__: ClassVar[int] = 4
    __flexible_since__: ClassVar[int] = 0
    resource_type: int = schema.int8()
    resource_name: str = schema.string()
    name: str = schema.string()
    value: str | None = schema.string()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecord:
    """What changes of a partition; None (and leader -2, recovery -1) means unchanged.

    Epochs are not written: every change adds one to the partition epoch, and every change
    that names a leader (even the same one) adds one to the leader epoch.
    """

    __api_key__: ClassVar[int] = 5
    __flexible_since__: ClassVar[int] = 0
    partition_id: int = schema.int32(default=-1)
    topic_id: UUID = schema.uuid()
    isr: tuple[int, ...] | None = schema.array("int32", tag=0, default=None)
    leader: int = schema.int32(tag=1, default=-2)
    replicas: tuple[int, ...] | None = schema.array("int32", tag=2, default=None)
    removing_replicas: tuple[int, ...] | None = schema.array("int32", tag=3, default=None)
    adding_replicas: tuple[int, ...] | None = schema.array("int32", tag=4, default=None)
    leader_recovery_state: int = schema.int8(tag=5, default=-1)
    directories: tuple[UUID | None, ...] | None = schema.array("uuid", since=1, tag=8, default=None)
    eligible_leader_replicas: tuple[int, ...] | None = schema.array(
        "int32", since=2, tag=6, default=None
    )
    last_known_elr: tuple[int, ...] | None = schema.array("int32", since=2, tag=7, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecord:
    __api_key__: ClassVar[int] = 7
    __flexible_since__: ClassVar[int] = 0
    id: int = schema.int32()
    epoch: int = schema.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecord:
    __api_key__: ClassVar[int] = 8
    __flexible_since__: ClassVar[int] = 0
    id: int = schema.int32()
    epoch: int = schema.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecord:
    """Removes the topic, its partitions and its configs."""

    __api_key__: ClassVar[int] = 9
    __flexible_since__: ClassVar[int] = 0
    topic_id: UUID = schema.uuid()


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecord:
    __api_key__: ClassVar[int] = 10
    __flexible_since__: ClassVar[int] = 0
    owner: str = schema.string()
    requester: str = schema.string()
    renewers: tuple[str, ...] = schema.array("string")
    issue_timestamp: int = schema.int64()
    max_timestamp: int = schema.int64()
    expiration_timestamp: int = schema.int64()
    token_id: str = schema.string()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialRecord:
    __api_key__: ClassVar[int] = 11
    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    mechanism: int = schema.int8()
    salt: bytes = schema.byte_string()
    stored_key: bytes = schema.byte_string()
    server_key: bytes = schema.byte_string()
    iterations: int = schema.int32()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecord:
    __api_key__: ClassVar[int] = 12
    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    feature_level: int = schema.int16()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntity:
    """One part of a quota's entity; a name of None is the default entity of that type."""

    __flexible_since__: ClassVar[int] = 0
    entity_type: str = schema.string()
    entity_name: str | None = schema.string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaRecord:
    __api_key__: ClassVar[int] = 14
    __flexible_since__: ClassVar[int] = 0
    entity: tuple[QuotaEntity, ...] = schema.array(QuotaEntity)
    key: str = schema.string()
    value: float = schema.float64()
    remove: bool = schema.boolean(default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecord:
    """`next_producer_id` is the first id after the block that the broker was given."""

    __api_key__: ClassVar[int] = 15
    __flexible_since__: ClassVar[int] = 0
    broker_id: int = schema.int32()
    broker_epoch: int = schema.int64(default=-1)
    next_producer_id: int = schema.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecord:
    """fenced: 1 fences, -1 unfences, 0 leaves; in_controlled_shutdown: 1 sets it."""

    __api_key__: ClassVar[int] = 17
    __flexible_since__: ClassVar[int] = 0
    broker_id: int = schema.int32()
    broker_epoch: int = schema.int64()
    fenced: int = schema.int8(tag=0, default=0)
    in_controlled_shutdown: int = schema.int8(since=1, tag=1, default=0)
    log_dirs: tuple[UUID, ...] = schema.array("uuid", since=2, tag=2, default=())
    cordoned_log_dirs: tuple[UUID, ...] | None = schema.array("uuid", since=3, tag=3, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecord:
    __api_key__: ClassVar[int] = 18
    __flexible_since__: ClassVar[int] = 0
    id: UUID = schema.uuid()
    resource_type: int = schema.int8()
    resource_name: str = schema.string()
    pattern_type: int = schema.int8()
    principal: str = schema.string()
    host: str = schema.string()
    operation: int = schema.int8()
    permission_type: int = schema.int8()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecord:
    __api_key__: ClassVar[int] = 19
    __flexible_since__: ClassVar[int] = 0
    id: UUID = schema.uuid()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord:
    __api_key__: ClassVar[int] = 20
    __flexible_since__: ClassVar[int] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecord:
    """Only in logs of clusters that once ran on ZooKeeper; it changes nothing."""

    __api_key__: ClassVar[int] = 21
    __flexible_since__: ClassVar[int] = 0
    zk_migration_state: int = schema.int8()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecord:
    __api_key__: ClassVar[int] = 22
    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    mechanism: int = schema.int8()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecord:
    __api_key__: ClassVar[int] = 23
    __flexible_since__: ClassVar[int] = 0
    name: str | None = schema.string(tag=0, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecord:
    __api_key__: ClassVar[int] = 24
    __flexible_since__: ClassVar[int] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord:
    __api_key__: ClassVar[int] = 25
    __flexible_since__: ClassVar[int] = 0
    reason: str | None = schema.string(tag=0, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDelegationTokenRecord:
    __api_key__: ClassVar[int] = 26
    __flexible_since__: ClassVar[int] = 0
    token_id: str = schema.string()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecord:
    __api_key__: ClassVar[int] = 27
    __flexible_since__: ClassVar[int] = 0
    controller_id: int = schema.int32()
    incarnation_id: UUID = schema.uuid()
    zk_migration_ready: bool = schema.boolean(default=False)
    end_points: tuple[Endpoint, ...] = schema.array(Endpoint)
    features: tuple[FeatureRange, ...] = schema.array(FeatureRange)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearElrRecord:
    """Empties the eligible leader replicas of a topic; "" means of every topic."""

    __api_key__: ClassVar[int] = 28
    __flexible_since__: ClassVar[int] = 0
    topic_name: str = schema.string()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerRecord:
    __api_key__: ClassVar[int] = 29
    __flexible_since__: ClassVar[int] = 0
    controller_id: int = schema.int32()


MetadataRecord = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RemoveTopicRecord
    | DelegationTokenRecord
    | UserScramCredentialRecord
    | FeatureLevelRecord
    | ClientQuotaRecord
    | ProducerIdsRecord
    | BrokerRegistrationChangeRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | NoOpRecord
    | ZkMigrationStateRecord
    | RemoveUserScramCredentialRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
    | RemoveDelegationTokenRecord
    | RegisterControllerRecord
    | ClearElrRecord
    | UnregisterControllerRecord
)

RECORDS: Final[tuple[type[MetadataRecord], ...]] = MetadataRecord.__args__
