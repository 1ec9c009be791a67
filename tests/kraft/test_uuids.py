from uuid import UUID

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.uuids import (
    LOST,
    METADATA_TOPIC_ID,
    MIGRATING,
    UNASSIGNED,
    is_reserved_directory,
    new_uuid,
    uuid_from_text,
    uuid_to_text,
)


def test_ids_have_kafkas_text_form() -> None:
    assert uuid_to_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuid_to_text(LOST) == "AAAAAAAAAAAAAAAAAAAAAg"
    assert uuid_from_text("c1RmZ6O3Q4qHjuPB43lnSA") == UUID("73546667-a3b7-438a-878e-e3c1e3796748")


@pytest.mark.parametrize("text", ["", "abc", "*" * 22, "A" * 21, "A" * 23, "A" * 24, "ü" * 22])
def test_other_text_is_corrupt(text: str) -> None:
    with pytest.raises(Corrupt):
        uuid_from_text(text)


def test_small_and_half_negative_ids_are_reserved() -> None:
    assert all(map(is_reserved_directory, (MIGRATING, UNASSIGNED, LOST, UUID(int=99))))
    assert is_reserved_directory(UUID(int=1 << 63))
    assert not is_reserved_directory(UUID(int=100))
    assert not is_reserved_directory(UUID(int=1 << 64))


class Drawn:
    def __init__(self, *values: UUID) -> None:
        self._values = iter(values)

    def below(self, limit: int) -> int:
        return 0

    def uuid(self) -> UUID:
        return next(self._values)


def test_new_ids_are_drawn_until_they_may_be_used() -> None:
    dash = uuid_from_text("-" + "A" * 21)
    good = uuid_from_text("B" * 21 + "A")
    assert new_uuid(Drawn(MIGRATING, dash, UNASSIGNED, good)) == good
