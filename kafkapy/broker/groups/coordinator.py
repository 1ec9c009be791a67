"""The group coordinator of one node, and what it sees of the node's metadata and settings.

Its shards follow the leadership of `__consumer_offsets`; every change of topics is told to
all of them.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.coordinator.coordinator import Coordinator
from kafkapy.coordinator.registry import Registry
from kafkapy.coordinator.shard_records import ShardSettings
from kafkapy.core.seams import Clock
from kafkapy.group.events import TopicsChanged
from kafkapy.group.lag import EndOffset, LagFigure, lag_figures
from kafkapy.group.machine import GroupMachine
from kafkapy.group.offsets.events import TopicDeleted
from kafkapy.group.records import KEY_CLASSES, written_version
from kafkapy.group.settings import MINUTE_MS, Bounded, GroupSettings, MigrationPolicy
from kafkapy.group.topics import Topic
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import Topic as ImageTopic
from kafkapy.protocol.batch import Codec

_GROUP_VERSION = "group.version"


class Groups:
    """`coordinator` is what handlers submit to."""

    def __init__(self, *, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._image = MetadataImage()
        self._settings = self._read_settings()
        self.coordinator: Coordinator[Any, Any] = Coordinator(
            CONSUMER_OFFSETS,
            new_machine=lambda _: GroupMachine(lambda: self._settings, lambda: self._topics),
            codec=Registry(KEY_CLASSES, written_version),
            clock=clock,
            settings=ShardSettings(
                commit_timeout_ms=config.offsets_commit_timeout_ms,
                compression=Codec(config.offsets_topic_compression_codec),
                base_sequence=0,
            ),
        )
        self._topics = ImageTopics(self._image)

    def close(self) -> None:
        self.coordinator.close()

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        """The image has changed: settings, topics, the number of partitions."""
        if image is not self._image:
            self._image, self._topics = image, ImageTopics(image)
        offsets_topic = image.topics_by_name.get(CONSUMER_OFFSETS)
        if offsets_topic is not None:
            self.coordinator.partition_count = len(offsets_topic.partitions)
        if delta.configs or delta.features or delta.is_empty:
            self._settings = self._read_settings()
        for topic in delta.topics_deleted.values():
            self.coordinator.tell(TopicDeleted(topic.name, topic.id))
        if delta.topics_created or delta.topics_deleted:
            self._topics.version = image.offset
        changed = {topic.name for topic in delta.topics_deleted.values()}
        for topic_id in delta.partitions:
            changed.add(image.topics_by_id[topic_id].name)
        if changed:
            self.coordinator.tell(TopicsChanged(frozenset(changed)))

    def lag_figures(self, end_offset: EndOffset) -> Iterator[LagFigure]:
        """Of every group that this node coordinates, as of now. `end_offset` tells where a
        partition ends for consumers, None where this node does not know."""
        for shard in self.coordinator.active_shards():
            machine = shard.machine
            assert isinstance(machine, GroupMachine), machine
            yield from lag_figures(machine.state, self._topics, end_offset)

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        topic, index = partition.topic_partition
        if topic != CONSUMER_OFFSETS:
            return
        if is_leader:
            log = PartitionShardLog(partition)
            self.coordinator.lead(index, partition.leader_epoch, log)
        else:
            self.coordinator.resign(index)

    def _read_settings(self) -> GroupSettings:
        config = self._config
        return GroupSettings(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            max_size=config.group_max_size,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
            is_consumer_protocol_enabled=(
                self._image.features.get(_GROUP_VERSION, 0) > 0
                and "consumer" in config.group_coordinator_rebalance_protocols
            ),
            consumer_max_size=config.group_consumer_max_size,
            consumer_assignors=config.group_consumer_assignors,
            consumer_migration_policy=MigrationPolicy(
                config.group_consumer_migration_policy.lower()
            ),
            consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
            consumer_session_timeout_ms=Bounded(
                config.group_consumer_session_timeout_ms,
                config.group_consumer_min_session_timeout_ms,
                config.group_consumer_max_session_timeout_ms,
            ),
            consumer_heartbeat_interval_ms=Bounded(
                config.group_consumer_heartbeat_interval_ms,
                config.group_consumer_min_heartbeat_interval_ms,
                config.group_consumer_max_heartbeat_interval_ms,
            ),
            consumer_assignment_interval_ms=Bounded(
                config.group_consumer_assignment_interval_ms,
                config.group_consumer_min_assignment_interval_ms,
                config.group_consumer_max_assignment_interval_ms,
            ),
            offset_metadata_max_bytes=config.offset_metadata_max_bytes,
            offsets_retention_ms=config.offsets_retention_minutes * MINUTE_MS,
            offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
            groups={
                name: values
                for (kind, name), values in self._image.all_configs.items()
                if kind == Resource.GROUP
            },
        )


class ImageTopics:
    """The image's topics, as groups see them (group/topics.py)."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        # The offset at which a topic last came or went: other metadata is not looked at.
        self.version = image.offset

    def named(self, name: str) -> Topic | None:
        return self._seen(self._image.topics_by_name.get(name))

    def with_id(self, topic_id: UUID) -> Topic | None:
        return self._seen(self._image.topics_by_id.get(topic_id))

    def names(self) -> Iterable[str]:
        return self._image.topics_by_name

    def _seen(self, topic: ImageTopic | None) -> Topic | None:
        if topic is None:
            return None
        return Topic(topic.name, topic.id, len(topic.partitions), self._racks(topic))

    def _racks(self, topic: ImageTopic) -> tuple[frozenset[str], ...]:
        brokers = self._image.brokers
        if all(broker.rack is None for broker in brokers.values()):
            return ()
        return tuple(
            frozenset(
                rack
                for replica in topic.partitions[index].replicas
                if replica in brokers and (rack := brokers[replica].rack) is not None
            )
            for index in sorted(topic.partitions)
        )
