"""An image as records again, in the order in which Kafka writes a snapshot (formats/metadata 4).

Applying them to an empty image gives an equal image (offsets aside). A generator: the
snapshot writer takes a few thousand at a time, so that a large image never holds up
the loop. The image must not change meanwhile: hand in a copy.
"""

from collections.abc import Iterator

from kafkapy.kraft.image.image import METADATA_VERSION, MetadataImage
from kafkapy.kraft.records.metadata import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    ProducerIdsRecord,
    TopicRecord,
)


def records_of(image: MetadataImage) -> Iterator[MetadataRecord]:
    # metadata.version comes first: a reader learns by it how to read the rest.
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])
    for broker in image.brokers.values():
        yield broker.to_record()
    for controller in image.controllers.values():
        yield controller.to_record()
    for topic in image.topics_by_id.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, state in topic.partitions.items():
            yield state.to_record(topic.id, index)
    for (resource_type, resource_name), values in image.all_configs.items():
        for name, value in values.items():
            yield ConfigRecord(
                resource_type=resource_type, resource_name=resource_name, name=name, value=value
            )
    for entity, quotas in image.quotas.items():
        for key, quota in quotas.items():
            yield ClientQuotaRecord(entity=entity, key=key, value=quota)
    if image.next_producer_id >= 0:
        yield ProducerIdsRecord(broker_id=-1, next_producer_id=image.next_producer_id)
    yield from image.acls.values()
    yield from image.scram.values()
    yield from image.tokens.values()
