import pytest

from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import FeatureLevelRecord
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.quorum import QuorumPromises


def image_at(offset: int, level: int) -> MetadataImage:
    image = MetadataImage()
    image.apply(FeatureLevelRecord(name="metadata.version", feature_level=level), Delta())
    image.offset = offset
    return image


def test_an_epoch_has_one_leader() -> None:
    quorum = QuorumPromises()
    quorum.leads(1, 5, 0)
    quorum.leads(2, 6, 0)
    with pytest.raises(BrokenPromise, match="both 1 and 3 lead epoch 5"):
        quorum.leads(3, 5, 0)


def test_a_leader_has_what_was_committed() -> None:
    quorum = QuorumPromises()
    quorum.applied(1, image_at(40, 25))
    with pytest.raises(BrokenPromise, match="from 39 on, and 40 was committed"):
        quorum.leads(2, 6, 39)


def test_two_images_of_one_offset_are_equal() -> None:
    quorum = QuorumPromises()
    quorum.applied(1, image_at(40, 25))
    quorum.applied(2, image_at(40, 25))
    with pytest.raises(BrokenPromise, match="the image of 3 at 40"):
        quorum.applied(3, image_at(40, 24))
