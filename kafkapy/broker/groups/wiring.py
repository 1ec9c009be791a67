"""The group coordinator of one node: what it is made of, and how it follows the metadata.

    handlers --event--> shards --> GroupMachine (group/) --> reply
                          ^             ^
             leadership --+             +-- settings, topics, as the image has them now

The shards follow the leadership of `__consumer_offsets`; every change of topics is told to
all of them.
"""

from collections.abc import Iterator
from typing import Any

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.groups.image_topics import ImageTopics
from kafkapy.broker.groups.settings import group_settings
from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.shard_log import follow_leadership
from kafkapy.coordinator.registry import Registry
from kafkapy.coordinator.shard_records import ShardSettings
from kafkapy.coordinator.shards import Shards
from kafkapy.core.seams import Clock
from kafkapy.group.events import TopicsChanged
from kafkapy.group.lag import EndOffset, LagFigure, lag_figures
from kafkapy.group.machine import GroupMachine
from kafkapy.group.offsets.events import DeletedTopic, TopicsDeleted
from kafkapy.group.records import KEY_CLASSES, written_version
from kafkapy.group.settings import GroupSettings
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.views import views_by_source
from kafkapy.protocol.batches.batch import Codec


class GroupWiring:
    """`shards` is what handlers submit to."""

    def __init__(self, *, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._image = MetadataImage()
        self._settings = group_settings(self._config, self._image)
        self.shards: Shards[Any, Any] = Shards(
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

    @property
    def settings(self) -> GroupSettings:
        return self._settings

    def close(self) -> None:
        self.shards.close()

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        """The image has changed: settings, topics, the number of partitions."""
        if image is not self._image:
            self._image, self._topics = image, ImageTopics(image)
        offsets_topic = image.topics_by_name.get(CONSUMER_OFFSETS)
        if offsets_topic is not None:
            self.shards.partition_count = len(offsets_topic.partitions)
        if delta.configs or delta.features or delta.is_empty:
            self._settings = group_settings(self._config, self._image)
        deleted = tuple(DeletedTopic(one.name, one.id) for one in delta.topics_deleted.values())
        if deleted:
            self.shards.tell(TopicsDeleted(deleted))
        if delta.topics_created or delta.topics_deleted:
            self._topics.version = image.offset
        changed = {topic.name for topic in delta.topics_deleted.values()}
        grown = {image.topics_by_id[topic_id].name for topic_id in delta.partitions}
        changed |= grown
        for source, views in views_by_source(image).items() if grown else ():
            if source in grown:
                changed.update(views)
        if changed:
            self.shards.tell(TopicsChanged(frozenset(changed)))

    def lag_figures(self, end_offset: EndOffset) -> Iterator[LagFigure]:
        """Of every group that this node coordinates, as of now. `end_offset` tells where a
        partition ends for consumers, None where this node does not know."""
        for shard in self.shards.active_shards():
            machine = shard.machine
            assert isinstance(machine, GroupMachine), machine
            yield from lag_figures(machine.state, self._topics, end_offset)

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        follow_leadership(self.shards, partition, is_leader)
