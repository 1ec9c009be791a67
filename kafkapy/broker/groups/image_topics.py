"""The image's topics, as groups see them (group/topics.py)."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from kafkapy.group.topics import Topic
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.views import partitions_of


class ImageTopics:
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

    def _seen(self, topic: TopicState | None) -> Topic | None:
        if topic is None:
            return None
        partitions = partitions_of(self._image, topic)
        return Topic(topic.name, topic.id, len(partitions), self._racks(partitions))

    def _racks(self, partitions: Mapping[int, PartitionState]) -> tuple[frozenset[str], ...]:
        brokers = self._image.brokers
        if all(broker.rack is None for broker in brokers.values()):
            return ()
        return tuple(
            frozenset(
                rack
                for replica in partitions[index].replicas
                if replica in brokers and (rack := brokers[replica].rack) is not None
            )
            for index in sorted(partitions)
        )
