"""Topics that are views of others: a name, settings, and no partitions of their own.

    orders      TopicRecord, PartitionRecords
    orders.eu   TopicRecord, ConfigRecords (kafkapy.view.of = orders, kafkapy.view.where = ...)

Whoever shows topics to clients shows a view with the partitions of its source; whoever keeps,
places or moves partitions finds none, which is what there is. A view whose source is gone (another
server's controller does not refuse to delete it) has none for clients either.
"""

from collections.abc import Mapping
from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.image.topics import PartitionState, TopicState

VIEW_OF: Final = "kafkapy.view.of"
VIEW_WHERE: Final = "kafkapy.view.where"
VIEW_HOOK: Final = "kafkapy.hook.view"


class IsView(Refused):
    """What is asked for is no partition but a view's . Who reads goes on with
    `source`; everybody else is refused with what is said of topics that nobody writes to."""

    def __init__(self, topic: TopicState, source: TopicState) -> None:
        super().__init__(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"'{topic.name}' is a view of '{source.name}'"
        )
        self.topic = topic
        self.source = source


def source_of(image: MetadataImage, topic: TopicState) -> TopicState | None:
    """What it is a view of; None: it is a topic, or its source is gone."""
    if topic.partitions:
        return None
    name = image.configs(TOPIC_RESOURCE, topic.name).get(VIEW_OF)
    source = None if name is None else image.topics_by_name.get(name)
    return source if source is not None and source.partitions else None


def partitions_of(image: MetadataImage, topic: TopicState) -> Mapping[int, PartitionState]:
    """As clients see the topic."""
    if topic.partitions:
        return topic.partitions
    source = source_of(image, topic)
    return topic.partitions if source is None else source.partitions


def partition_of(image: MetadataImage, name: str, index: int) -> PartitionState | None:
    """As clients see it."""
    topic = image.topics_by_name.get(name)
    return None if topic is None else partitions_of(image, topic).get(index)


def views_by_source(image: MetadataImage) -> dict[str, list[str]]:
    """All of them: for who has time to look at all settings."""
    found: dict[str, list[str]] = {}
    for (kind, name), values in image.all_configs.items():
        source = values.get(VIEW_OF)
        if source is not None and kind == TOPIC_RESOURCE:
            found.setdefault(source, []).append(name)
    return found
