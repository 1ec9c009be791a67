"""The metadata image: the fold of the metadata log.

    record 0, record 1, ... --> apply --> topics, brokers, configs, features, ...

`apply` is the only writer and goes by the records alone, so every node that has applied
the same records has the same image. Lookups are plain dicts: an image of 10,000 topics
and 100,000 partitions answers each in well under a microsecond.

Between BeginTransaction and EndTransaction records are held back; AbortTransaction drops
them (KIP-868). formats/metadata 2 and 4.

A copy shares all that it can: whoever of the two changes a topic first makes one of its own. So
a snapshot of a hundred thousand partitions, or a controller that begins, costs a few dicts.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, assert_never
from uuid import UUID

from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.image.delta import ConfigResource, Delta
from kafkapy.kraft.image.registrations import (
    BrokerRegistration,
    ControllerRegistration,
    broker_from,
    controller_from,
)
from kafkapy.kraft.image.topics import PartitionState, TopicState, changed, partition_from
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntity,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
METADATA_VERSION: Final = "metadata.version"

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class MetadataImage:
    """All of the cluster's metadata as of `offset`. Read the attributes, change nothing."""

    __slots__ = (
        "_held_back",
        "_owner",
        "acls",
        "all_configs",
        "brokers",
        "controllers",
        "epoch",
        "features",
        "next_producer_id",
        "offset",
        "partition_count",
        "quotas",
        "scram",
        "timestamp",
        "tokens",
        "topics_by_id",
        "topics_by_name",
    )

    def __init__(self) -> None:
        # The last record applied, its leader epoch, and the time of its batch.
        self.offset = -1
        self.epoch = -1
        self.timestamp = -1
        self.topics_by_name: dict[str, TopicState] = {}
        self.topics_by_id: dict[UUID, TopicState] = {}
        self.partition_count = 0
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.features: dict[str, int] = {}
        self.all_configs: dict[ConfigResource, dict[str, str]] = {}
        self.quotas: dict[tuple[QuotaEntity, ...], dict[str, float]] = {}
        self.next_producer_id = -1
        self.acls: dict[UUID, AccessControlEntryRecord] = {}
        self.scram: dict[tuple[str, int], UserScramCredentialRecord] = {}
        self.tokens: dict[str, DelegationTokenRecord] = {}
        self._held_back: list[MetadataRecord] | None = None
        # What this image's own topics have for an owner; those with another one are shared.
        self._owner = object()

    # -- lookups -----------------------------------------------------------------------

    @property
    def metadata_version(self) -> int:
        """The finalized level, 0 before the bootstrap records are applied."""
        return self.features.get(METADATA_VERSION, 0)

    @property
    def is_in_transaction(self) -> bool:
        return self._held_back is not None

    def partition(self, topic_id: UUID, index: int) -> PartitionState | None:
        topic = self.topics_by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def partition_by_name(self, name: str, index: int) -> PartitionState | None:
        topic = self.topics_by_name.get(name)
        return None if topic is None else topic.partitions.get(index)

    def partitions(self) -> Iterator[tuple[TopicPartition, PartitionState]]:
        for topic in self.topics_by_id.values():
            for index, state in topic.partitions.items():
                yield TopicPartition(topic.name, index), state

    def configs(self, resource_type: int, name: str) -> Mapping[str, str]:
        """What is set on exactly this resource; {} if nothing is."""
        return self.all_configs.get((resource_type, name), _NOTHING)

    def copy(self) -> "MetadataImage":
        """An image of its own, to be folded further apart from this one."""
        twin = MetadataImage()
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(twin, name, value.copy() if isinstance(value, (dict, list)) else value)
        self._owner, twin._owner = object(), object()
        return twin

    def become(self, other: "MetadataImage") -> None:
        """Everything of `other`, which is not used any more; whoever holds this image sees it."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    # -- the fold ----------------------------------------------------------------------

    def apply(self, record: MetadataRecord, delta: Delta | None = None) -> None:
        """Fold one more record in; what it changes is noted in `delta`."""
        if delta is None:
            delta = Delta()
        if self._held_back is None:
            self._fold(record, delta)
        elif isinstance(record, EndTransactionRecord):
            held_back, self._held_back = self._held_back, None
            for held in held_back:
                self._fold(held, delta)
        elif isinstance(record, AbortTransactionRecord):
            self._held_back = None
        else:
            assert not isinstance(record, BeginTransactionRecord), "a transaction is already open"
            self._held_back.append(record)

    def _fold(self, record: MetadataRecord, delta: Delta) -> None:
        # The order is by how often a record comes when a large log is replayed.
        match record:
            case PartitionChangeRecord():
                self._change_partition(record, delta)
            case PartitionRecord():
                self._set_partition(
                    record.topic_id, record.partition_id, partition_from(record), delta
                )
            case TopicRecord():
                self._create_topic(record, delta)
            case NoOpRecord() | ZkMigrationStateRecord():
                pass
            case ConfigRecord():
                self._set_config(record, delta)
            case RemoveTopicRecord():
                self._remove_topic(record, delta)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
                delta.has_producer_ids = True
            case BrokerRegistrationChangeRecord():
                broker = self._broker(record.broker_id, record.broker_epoch)
                self._set_broker(broker.changed(record), delta)
            case RegisterBrokerRecord():
                self._set_broker(broker_from(record), delta)
            case UnregisterBrokerRecord():
                broker = self._broker(record.broker_id, record.broker_epoch)
                delta.broker_changed(broker.id, self.brokers.pop(broker.id))
            case FenceBrokerRecord():
                broker = self._broker(record.id, record.epoch)
                self._set_broker(broker._replace(fenced=True), delta)
            case UnfenceBrokerRecord():
                broker = self._broker(record.id, record.epoch)
                self._set_broker(broker._replace(fenced=False), delta)
            case RegisterControllerRecord():
                self.controllers[record.controller_id] = controller_from(record)
                delta.controllers.add(record.controller_id)
            case UnregisterControllerRecord():
                self.controllers.pop(record.controller_id, None)
                delta.controllers.add(record.controller_id)
            case FeatureLevelRecord():
                self._set_feature(record, delta)
            case ClientQuotaRecord():
                self._set_quota(record, delta)
            case AccessControlEntryRecord():
                self.acls[record.id] = record
                delta.acls.add(record.id)
            case RemoveAccessControlEntryRecord():
                self.acls.pop(record.id, None)
                delta.acls.add(record.id)
            case UserScramCredentialRecord():
                self.scram[record.name, record.mechanism] = record
                delta.scram_users.add(record.name)
            case RemoveUserScramCredentialRecord():
                self.scram.pop((record.name, record.mechanism), None)
                delta.scram_users.add(record.name)
            case DelegationTokenRecord():
                self.tokens[record.token_id] = record
                delta.tokens.add(record.token_id)
            case RemoveDelegationTokenRecord():
                self.tokens.pop(record.token_id, None)
                delta.tokens.add(record.token_id)
            case ClearElrRecord():
                self._clear_elr(record, delta)
            case BeginTransactionRecord():
                self._held_back = []
            case EndTransactionRecord() | AbortTransactionRecord():
                raise AssertionError(f"{record} outside of a transaction")
            case _:
                assert_never(record)

    def _create_topic(self, record: TopicRecord, delta: Delta) -> None:
        topic = TopicState(record.name, record.topic_id, self._owner)
        assert record.name not in self.topics_by_name, f"{record} exists already"
        self.topics_by_id[topic.id] = topic
        self.topics_by_name[topic.name] = topic
        delta.topic_created(topic)

    def _remove_topic(self, record: RemoveTopicRecord, delta: Delta) -> None:
        topic = self.topics_by_id.pop(record.topic_id)
        del self.topics_by_name[topic.name]
        self.partition_count -= len(topic.partitions)
        if self.all_configs.pop((TOPIC_RESOURCE, topic.name), None) is not None:
            delta.configs.add((TOPIC_RESOURCE, topic.name))
        delta.topic_deleted(topic)

    def _set_partition(
        self, topic_id: UUID, index: int, state: PartitionState, delta: Delta
    ) -> None:
        topic = self.topics_by_id[topic_id]
        if topic.owner is not self._owner:
            topic = self._own(topic, delta)
        partitions = topic.partitions
        before = partitions.get(index)
        if before is None:
            self.partition_count += 1
        partitions[index] = state
        delta.partition_changed(topic_id, index, before)

    def _own(self, shared: TopicState, delta: Delta) -> TopicState:
        topic = shared.copy(self._owner)
        self.topics_by_id[topic.id] = self.topics_by_name[topic.name] = topic
        if topic.id in delta.topics_created:
            delta.topics_created[topic.id] = topic
        return topic

    def _change_partition(self, record: PartitionChangeRecord, delta: Delta) -> None:
        before = self.topics_by_id[record.topic_id].partitions[record.partition_id]
        self._set_partition(record.topic_id, record.partition_id, changed(before, record), delta)

    def _set_config(self, record: ConfigRecord, delta: Delta) -> None:
        resource = (record.resource_type, record.resource_name)
        values = {**self.all_configs.get(resource, {})}  # a copy may have the one before
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if values:
            self.all_configs[resource] = values
        else:
            self.all_configs.pop(resource, None)
        delta.configs.add(resource)

    def _set_broker(self, broker: BrokerRegistration, delta: Delta) -> None:
        before = self.brokers.get(broker.id)
        if broker != before:
            self.brokers[broker.id] = broker
            delta.broker_changed(broker.id, before)

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers[broker_id]
        assert broker.epoch == epoch, f"broker {broker_id} has epoch {broker.epoch}, not {epoch}"
        return broker

    def _set_feature(self, record: FeatureLevelRecord, delta: Delta) -> None:
        if record.feature_level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = record.feature_level
        delta.features.add(record.name)

    def _set_quota(self, record: ClientQuotaRecord, delta: Delta) -> None:
        # An entity is one whatever the order of its parts; Kafka's is that of a hash table.
        entity = tuple(sorted(record.entity, key=lambda part: part.entity_type))
        values = {**self.quotas.get(entity, {})}
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if values:
            self.quotas[entity] = values
        else:
            self.quotas.pop(entity, None)
        delta.quotas.add(entity)

    def _clear_elr(self, record: ClearElrRecord, delta: Delta) -> None:
        """Epochs stay: Kafka does not count this as a change of the partition."""
        if record.topic_name:
            topics = [self.topics_by_name[record.topic_name]]
        else:
            topics = list(self.topics_by_id.values())
        for topic in topics:
            for index, state in topic.partitions.items():
                if state.elr or state.last_known_elr:
                    cleared = state._replace(elr=(), last_known_elr=())
                    self._set_partition(topic.id, index, cleared, delta)
