"""Comparing two images tells what the records between them would have told."""

from typing import Any

from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.difference import difference
from kafkapy.kraft.image.image import MetadataImage
from tests.kraft import fixtures

LOG = fixtures.LOGS[1]


def told(delta: Delta) -> dict[str, Any]:
    return {name: getattr(delta, name) for name in delta.__slots__}


def test_the_same_image_differs_in_nothing() -> None:
    image = fixtures.image_of(LOG)
    assert difference(image, image.copy()).is_empty


def test_all_is_new_to_an_empty_image() -> None:
    image, delta = MetadataImage(), Delta()
    for _, record in fixtures.records_of(fixtures.SNAPSHOTS[1]):
        image.apply(record, delta)
    assert told(difference(MetadataImage(), image)) == told(delta)


def test_a_difference_is_the_delta_of_the_records_between() -> None:
    old = fixtures.image_of(LOG, 25)
    new, delta = fixtures.image_of(LOG, 25), Delta()
    for offset, record in fixtures.records_of(LOG):
        if offset >= 25:
            new.apply(record, delta)
    found = told(difference(old, new))
    # Records also tell of what was set and unset again, or set to what it was.
    assert found.pop("acls") < delta.acls
    assert found.pop("scram_users") < delta.scram_users
    assert found.pop("partitions") == delta.partitions
    assert found == {name: value for name, value in told(delta).items() if name in found}
