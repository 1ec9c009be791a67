from uuid import UUID

from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import (
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

A = UUID(int=1 << 80)
TOPIC = TopicRecord(name="a", topic_id=A)
PARTITION = PartitionRecord(partition_id=0, topic_id=A, replicas=(1,), isr=(1,), leader=1)
CHANGE = PartitionChangeRecord(partition_id=0, topic_id=A, leader=1)
REMOVE = RemoveTopicRecord(topic_id=A)
BROKER = RegisterBrokerRecord(
    broker_id=1, incarnation_id=A, broker_epoch=7, end_points=(), features=()
)


def image() -> MetadataImage:
    made = MetadataImage()
    for record in (TOPIC, PARTITION, BROKER):
        made.apply(record)
    return made


def test_a_delta_keeps_how_it_was_before_all_of_its_records() -> None:
    one, delta = image(), Delta()
    before = one.partition(A, 0)
    one.apply(CHANGE, delta)
    one.apply(CHANGE, delta)
    assert delta.partitions == {A: {0: before}}
    assert one.partition(A, 0) != before


def test_a_new_partition_was_nothing_before() -> None:
    one, delta = MetadataImage(), Delta()
    for record in (TOPIC, PARTITION, CHANGE):
        one.apply(record, delta)
    assert delta.partitions == {A: {0: None}}
    assert list(delta.topics_created) == [A]


def test_what_came_and_went_is_not_told() -> None:
    one, delta = MetadataImage(), Delta()
    for record in (TOPIC, PARTITION, CHANGE, REMOVE):
        one.apply(record, delta)
    assert delta.is_empty


def test_a_deleted_topic_is_told_as_it_was() -> None:
    one, delta = image(), Delta()
    before = one.partition(A, 0)
    one.apply(CHANGE, delta)
    one.apply(PartitionRecord(partition_id=1, topic_id=A), delta)
    one.apply(REMOVE, delta)
    assert delta.topics_deleted[A].partitions == {0: before}
    assert delta.partitions == {}


def test_a_topic_deleted_and_made_again_is_both() -> None:
    one, delta = image(), Delta()
    again = TopicRecord(name="a", topic_id=UUID(int=2 << 80))
    one.apply(REMOVE, delta)
    one.apply(again, delta)
    assert list(delta.topics_deleted) == [A]
    assert list(delta.topics_created) == [again.topic_id]


def test_a_broker_that_did_not_change_is_not_told() -> None:
    one, delta = image(), Delta()
    one.apply(BROKER, delta)
    assert delta.is_empty
    before = one.brokers[1]
    one.apply(UnfenceBrokerRecord(id=1, epoch=7), delta)
    assert delta.brokers == {1: before}


def test_nothing_is_empty() -> None:
    one, delta = image(), Delta()
    one.apply(NoOpRecord(), delta)
    assert delta.is_empty
