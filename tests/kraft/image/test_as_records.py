"""An image as the records of a snapshot, and back."""

import pytest

from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import FeatureLevelRecord
from tests.kraft import fixtures
from tests.kraft.image.test_image import contents


@pytest.mark.parametrize("name", [*fixtures.LOGS, *fixtures.SNAPSHOTS])
def test_the_records_of_an_image_make_an_equal_image(name: str) -> None:
    image, again = fixtures.image_of(name), MetadataImage()
    for record in records_of(image):
        again.apply(record)
    assert contents(again) == contents(image)


@pytest.mark.parametrize("name", fixtures.SNAPSHOTS)
def test_they_are_the_records_that_kafka_writes_in_the_order_of_their_kinds(name: str) -> None:
    theirs = [record for _, record in fixtures.records_of(name)]
    ours = list(records_of(fixtures.image_of(name)))
    # Within a kind Kafka's order is that of its hash maps.
    assert [type(record) for record in ours] == [type(record) for record in theirs]
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


def test_the_metadata_version_comes_first() -> None:
    first = next(records_of(fixtures.image_of(fixtures.LOGS[0])))
    assert first == FeatureLevelRecord(name="metadata.version", feature_level=30)


def test_an_empty_image_has_no_records() -> None:
    assert list(records_of(MetadataImage())) == []
