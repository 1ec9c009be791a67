"""The fold: what records make of an image, checked against Kafka's own snapshots."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
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
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    ZkMigrationStateRecord,
)
from kafkapy.kraft.uuids import MIGRATING
from tests.kraft import fixtures

A, B = UUID(int=1 << 80), UUID(int=2 << 80)
DIR = UUID(int=3 << 80)
LOG = "every-record/00000000000000000000.log"


def folded(*records: MetadataRecord) -> tuple[MetadataImage, Delta]:
    image, delta = MetadataImage(), Delta()
    for record in records:
        image.apply(record, delta)
    return image, delta


def partition(index: int = 0, topic: UUID = A, **rest: Any) -> PartitionRecord:
    record = PartitionRecord(
        partition_id=index,
        topic_id=topic,
        directories=(DIR, DIR),
        replicas=(1, 2),
        isr=(1,),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )
    return replace(record, **rest)


def broker(epoch: int = 10, **rest: Any) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=1, incarnation_id=A, broker_epoch=epoch, end_points=(), features=(), **rest
    )


TOPIC = TopicRecord(name="a", topic_id=A)


def contents(image: MetadataImage) -> dict[str, object]:
    skipped = ("offset", "epoch", "timestamp", "_owner")
    return {name: getattr(image, name) for name in image.__slots__ if name not in skipped}


@pytest.mark.parametrize(
    ("snapshot", "end"), [(fixtures.SNAPSHOTS[0], 25), (fixtures.SNAPSHOTS[1], 49)]
)
def test_the_log_folds_to_what_kafka_wrote_into_its_snapshot(snapshot: str, end: int) -> None:
    ours, theirs = fixtures.image_of(LOG, end), fixtures.image_of(snapshot)
    for image in (ours, theirs):  # Kafka keeps a broker's features in a hash map
        image.brokers = {
            key: one._replace(features=tuple(sorted(one.features, key=lambda range: range.name)))
            for key, one in image.brokers.items()
        }
    assert contents(ours) == contents(theirs)


def test_every_partition_change_bumps_the_partition_epoch_and_a_leader_its_epoch() -> None:
    image, _ = folded(TOPIC, partition())
    image.apply(PartitionChangeRecord(partition_id=0, topic_id=A, isr=(1, 2)))
    state = image.partition(A, 0)
    assert state is not None
    assert (state.isr, state.leader_epoch, state.partition_epoch) == ((1, 2), 0, 1)
    image.apply(PartitionChangeRecord(partition_id=0, topic_id=A, leader=1))
    state = image.partition_by_name("a", 0)
    assert state is not None
    assert (state.leader, state.leader_epoch, state.partition_epoch) == (1, 1, 2)


def test_a_partition_change_leaves_what_it_does_not_name() -> None:
    full = partition(
        removing_replicas=(2,),
        adding_replicas=(1,),
        eligible_leader_replicas=(2,),
        last_known_elr=(1,),
        leader_recovery_state=1,
    )
    image, _ = folded(TOPIC, full)
    before = image.partition(A, 0)
    image.apply(PartitionChangeRecord(partition_id=0, topic_id=A))
    after = image.partition(A, 0)
    assert before is not None
    assert after == before._replace(partition_epoch=1)
    image.apply(
        PartitionChangeRecord(
            partition_id=0,
            topic_id=A,
            leader=-1,
            isr=(),
            replicas=(2,),
            removing_replicas=(),
            adding_replicas=(),
            leader_recovery_state=0,
            directories=(B,),
            eligible_leader_replicas=(),
            last_known_elr=(2,),
        )
    )
    last = image.partition(A, 0)
    assert last is not None
    assert not last.has_leader
    assert not last.is_reassigning
    assert (last.replicas, last.directory(2), last.directory(1)) == ((2,), B, None)
    assert (last.elr, last.last_known_elr, last.leader_recovery_state) == ((), (2,), 0)


def test_replicas_without_directories_are_migrating() -> None:
    image, _ = folded(TOPIC, PartitionRecord(partition_id=0, topic_id=A, replicas=(1, 2)))
    state = image.partition(A, 0)
    assert state is not None
    assert state.directories == (MIGRATING, MIGRATING)
    image.apply(PartitionChangeRecord(partition_id=0, topic_id=A, replicas=(1, 2, 3)))
    state = image.partition(A, 0)
    assert state is not None
    assert state.directories == (MIGRATING,) * 3


def test_a_removed_topic_takes_partitions_and_configs_along() -> None:
    config = ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="a", name="k", value="v")
    image, _ = folded(TOPIC, config, partition(0), partition(1))
    assert image.partition_count == 2
    delta = Delta()
    image.apply(RemoveTopicRecord(topic_id=A), delta)
    assert (image.partition_count, image.topics_by_name, image.topics_by_id) == (0, {}, {})
    assert image.configs(TOPIC_RESOURCE, "a") == {}
    assert list(delta.topics_deleted[A].partitions) == [0, 1]
    assert delta.configs == {(TOPIC_RESOURCE, "a")}


def test_configs_are_set_and_deleted_one_by_one() -> None:
    def config(name: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=name, value=value)

    image, _ = folded(config("a", "1"), config("b", "2"), config("a", None), config("c", None))
    assert image.configs(BROKER_RESOURCE, "") == {"b": "2"}
    image.apply(config("b", None))
    assert image.all_configs == {}


def test_a_broker_is_fenced_unfenced_and_unregistered() -> None:
    image, _ = folded(broker())
    assert not image.brokers[1].is_active
    image.apply(UnfenceBrokerRecord(id=1, epoch=10))
    assert image.brokers[1].is_active
    image.apply(FenceBrokerRecord(id=1, epoch=10))
    assert image.brokers[1].fenced
    image.apply(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, fenced=-1))
    assert image.brokers[1].is_active
    image.apply(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, in_controlled_shutdown=1)
    )
    assert not image.brokers[1].is_active
    image.apply(
        BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=10, log_dirs=(A,), cordoned_log_dirs=(A,)
        )
    )
    assert (image.brokers[1].log_dirs, image.brokers[1].cordoned_log_dirs) == ((A,), (A,))
    image.apply(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, fenced=1))
    assert image.brokers[1].log_dirs == (A,)
    image.apply(UnregisterBrokerRecord(broker_id=1, broker_epoch=10))
    assert image.brokers == {}


def test_a_record_about_an_older_registration_is_a_bug() -> None:
    image, _ = folded(broker(epoch=11))
    with pytest.raises(AssertionError, match="epoch 11"):
        image.apply(FenceBrokerRecord(id=1, epoch=10))


def test_a_registration_goes_back_into_the_record_it_came_from() -> None:
    record = broker(rack="r", fenced=False, log_dirs=(A, B), cordoned_log_dirs=(B,))
    image, _ = folded(record)
    assert image.brokers[1].to_record() == record


def test_a_feature_of_level_zero_is_gone() -> None:
    image, _ = folded(
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="share.version", feature_level=1),
        FeatureLevelRecord(name="share.version", feature_level=0),
    )
    assert image.features == {"metadata.version": 30}
    assert image.metadata_version == 30


def test_quotas_tokens_producer_ids_and_controllers() -> None:
    entity = (QuotaEntity(entity_type="user", entity_name=None),)
    quota = ClientQuotaRecord(entity=entity, key="k", value=1.5)
    token = DelegationTokenRecord(
        owner="o",
        requester="r",
        renewers=(),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id="t",
    )
    image, delta = folded(
        quota, token, ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2000)
    )
    assert image.quotas == {entity: {"k": 1.5}}
    assert image.tokens == {"t": token}
    assert image.next_producer_id == 2000
    assert (delta.quotas, delta.tokens, delta.has_producer_ids) == ({entity}, {"t"}, True)
    image.apply(ClientQuotaRecord(entity=entity, key="k", value=0.0, remove=True))
    image.apply(RemoveDelegationTokenRecord(token_id="t"))
    image.apply(UnregisterControllerRecord(controller_id=5))
    assert (image.quotas, image.tokens, image.controllers) == ({}, {}, {})


def test_clearing_eligible_leaders_is_no_change_of_epochs() -> None:
    other = TopicRecord(name="b", topic_id=B)
    image, _ = folded(
        TOPIC, other, partition(last_known_elr=(1,)), partition(topic=B, last_known_elr=(2,))
    )
    image.apply(ClearElrRecord(topic_name="a"))
    states = [image.partition(A, 0), image.partition(B, 0)]
    assert [state and (state.last_known_elr, state.partition_epoch) for state in states] == [
        ((), 0),
        ((2,), 0),
    ]
    image.apply(ClearElrRecord(topic_name=""))
    state = image.partition(B, 0)
    assert state is not None
    assert state.last_known_elr == ()


def test_a_transaction_shows_nothing_until_it_ends() -> None:
    image, delta = folded(BeginTransactionRecord(name="big"), TOPIC, partition())
    assert image.is_in_transaction
    assert image.topics_by_name == {}
    assert delta.is_empty
    image.apply(EndTransactionRecord(), delta)
    assert not image.is_in_transaction
    assert list(delta.topics_created) == [A]
    assert image.partition_count == 1


def test_an_aborted_transaction_never_was() -> None:
    image, delta = folded(BeginTransactionRecord(), TOPIC, AbortTransactionRecord(reason="r"))
    assert not image.is_in_transaction
    assert image.topics_by_name == {}
    assert delta.is_empty
    image.apply(TOPIC)
    assert list(image.topics_by_name) == ["a"]


def test_records_that_mean_nothing_change_nothing() -> None:
    image, delta = folded(NoOpRecord(), ZkMigrationStateRecord(zk_migration_state=3))
    assert contents(image) == contents(MetadataImage())
    assert delta.is_empty


def test_a_copy_goes_its_own_way() -> None:
    image = fixtures.image_of(LOG)
    before = fixtures.image_of(LOG)
    twin = image.copy()
    assert contents(twin) == contents(image)
    orders = twin.topics_by_name["orders"]
    for record in (
        TOPIC,
        PartitionChangeRecord(partition_id=0, topic_id=orders.id, leader=1),
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="orders", name="x", value="y"),
        BeginTransactionRecord(),
    ):
        twin.apply(record)
    assert contents(image) == contents(before)


def test_partitions_are_walked_by_name() -> None:
    image, _ = folded(TOPIC, partition(0), partition(1))
    assert [str(name) for name, _ in image.partitions()] == ["a-0", "a-1"]
    assert image.partition(B, 0) is None
    assert image.partition_by_name("b", 0) is None


def test_copies_share_topics_until_one_of_them_changes_one() -> None:
    image = MetadataImage()
    for record in (TOPIC, partition(0), replace(TOPIC, name="b", topic_id=B)):
        image.apply(record)
    twin = image.copy()
    assert twin.topics_by_id[A] is image.topics_by_id[A]
    before = contents(image.copy())
    twin.apply(PartitionChangeRecord(partition_id=0, topic_id=A, leader=2))
    twin.apply(RemoveTopicRecord(topic_id=B))
    assert contents(image) == before
    assert twin.topics_by_id[A] is twin.topics_by_name["a"]
    assert twin.topics_by_id[A].partitions[0].leader == 2
    image.apply(PartitionChangeRecord(partition_id=0, topic_id=A, leader=1))
    assert twin.topics_by_id[A].partitions[0].leader == 2


def test_what_a_topic_was_is_told_without_touching_a_copy() -> None:
    image = MetadataImage()
    for record in (TOPIC, partition(0)):
        image.apply(record)
    twin, delta = image.copy(), Delta()
    was = contents(twin)
    image.apply(partition(1), delta)
    changed = image.copy()
    image.apply(RemoveTopicRecord(topic_id=A), delta)
    assert list(delta.topics_deleted[A].partitions) == [0]
    assert list(changed.topics_by_id[A].partitions) == [0, 1]
    assert contents(twin) == was
