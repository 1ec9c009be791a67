"""The difference between two images, where no records say it.

A replica that is far behind gets a snapshot instead of the records in between; what
changed for its subscribers is then found by comparing.
"""

from typing import TypeVar

from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage

K = TypeVar("K")
V = TypeVar("V")


def difference(old: MetadataImage, new: MetadataImage) -> Delta:
    delta = Delta()
    for topic_id, topic in old.topics_by_id.items():
        if topic_id not in new.topics_by_id:
            delta.topics_deleted[topic_id] = topic
    for topic_id, topic in new.topics_by_id.items():
        before = old.topics_by_id.get(topic_id)
        if before is None:
            delta.topics_created[topic_id] = topic
        was = {} if before is None else before.partitions
        touched = {
            index: was.get(index)
            for index, state in topic.partitions.items()
            if was.get(index) != state
        }
        if touched:
            delta.partitions[topic_id] = touched
    delta.brokers.update(
        {broker_id: old.brokers.get(broker_id) for broker_id in _changed(old.brokers, new.brokers)}
    )
    delta.controllers.update(_changed(old.controllers, new.controllers))
    delta.configs.update(_changed(old.all_configs, new.all_configs))
    delta.features.update(_changed(old.features, new.features))
    delta.quotas.update(_changed(old.quotas, new.quotas))
    delta.acls.update(_changed(old.acls, new.acls))
    delta.scram_users.update(name for name, _ in _changed(old.scram, new.scram))
    delta.tokens.update(_changed(old.tokens, new.tokens))
    delta.has_producer_ids = old.next_producer_id != new.next_producer_id
    return delta


def _changed(old: dict[K, V], new: dict[K, V]) -> set[K]:
    return {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
