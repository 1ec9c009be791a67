from uuid import UUID

import pytest

from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.records.metadata import FeatureLevelRecord, TopicRecord
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.quorum import QuorumPromises


def image_at(offset: int, level: int, epoch: int = 5) -> MetadataImage:
    image = MetadataImage()
    image.apply(FeatureLevelRecord(name="metadata.version", feature_level=level), Delta())
    image.offset, image.epoch = offset, epoch
    return image


def test_an_epoch_has_one_leader() -> None:
    quorum = QuorumPromises()
    quorum.leads(1, 5, 0)
    quorum.leads(2, 6, 0)
    with pytest.raises(BrokenPromise, match="both 1 and 3 lead epoch 5"):
        quorum.leads(3, 5, 0)


def test_a_leader_has_what_was_committed() -> None:
    quorum = QuorumPromises()
    quorum.applied(1, image_at(40, 25), Delta())
    quorum.leads(3, 7, 41)
    with pytest.raises(BrokenPromise, match="2 leads epoch 6 from 40 on, and 40 was committed in"):
        quorum.leads(2, 6, 40)


def test_nothing_of_an_epoch_is_committed_where_the_next_one_has_begun() -> None:
    quorum = QuorumPromises()
    quorum.leads(2, 6, 40)
    quorum.applied(1, image_at(39, 25), Delta())
    with pytest.raises(BrokenPromise, match="2 leads epoch 6 from 40 on, and 40 was committed in"):
        quorum.applied(1, image_at(40, 25), Delta())


def test_who_was_paused_may_say_late_that_it_leads() -> None:
    """Seed 621: the next epoch has begun behind its first record, and is committed far beyond."""
    quorum = QuorumPromises()
    quorum.applied(1, image_at(1034, 25, epoch=9), Delta())
    quorum.leads(2, 11, 1036)
    quorum.applied(1, image_at(1068, 25, epoch=11), Delta())
    quorum.leads(3, 10, 1035)


def test_two_images_of_one_offset_are_equal() -> None:
    quorum = QuorumPromises()
    quorum.applied(1, image_at(40, 25), Delta())
    quorum.applied(2, image_at(40, 25), Delta())
    with pytest.raises(BrokenPromise, match="the image of 3 at 40"):
        quorum.applied(3, image_at(40, 24), Delta())


def test_an_epoch_of_a_partition_has_one_leader() -> None:
    """Followed from image to image: each says who leads now."""
    quorum = QuorumPromises()
    topic_id, nowhere = UUID(int=1), UUID(int=0)

    def led(offset: int, by: int, epoch: int) -> None:
        image, delta = MetadataImage(), Delta()
        image.apply(TopicRecord(name="t", topic_id=topic_id), delta)
        state = PartitionState((1, 2, 3), (1, 2, 3), by, epoch, epoch, (nowhere,) * 3)
        image.apply(state.to_record(topic_id, 0), delta)
        image.offset = offset
        quorum.applied(1, image, delta)

    led(10, by=1, epoch=5)
    led(11, by=-1, epoch=6)
    led(12, by=2, epoch=6)
    led(13, by=3, epoch=7)
    with pytest.raises(BrokenPromise, match="both 1 and 2 lead epoch 5 of partition 0"):
        led(14, by=2, epoch=5)
