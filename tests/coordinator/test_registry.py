"""Which failures of an encoder are a client's doing, and which are ours."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from kafkapy.coordinator.registry import LONGEST_TEXT, Registry
from kafkapy.core.errors import CannotEncode, ErrorCode, Refused
from kafkapy.protocol.schemas.schema import int16, string

LONG = "x" * (LONGEST_TEXT + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    __flexible__: ClassVar[bool] = False
    number: int = int16()
    note: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    __flexible__: ClassVar[bool] = False
    __record_type__: ClassVar[int] = 5
    __value_type__: ClassVar[type] = Value
    __value_versions__: ClassVar[range] = range(1)
    name: str = string()


def registry() -> Registry:
    return Registry([Key], lambda record: 0)


def test_a_name_of_the_greatest_length_is_written_and_a_longer_one_refused() -> None:
    longest = (Key(name=LONG[:-1]), Value(number=1, note=LONG[:-1]))
    assert registry().decode(*registry().encode(longest)) == longest
    for key, value in ((LONG, "n"), ("k", LONG)):
        with pytest.raises(Refused) as refused:
            registry().encode((Key(name=key), Value(number=1, note=value)))
        assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_number_out_of_range_is_nothing_that_a_client_is_told() -> None:
    with pytest.raises(CannotEncode, match="Value 0 cannot be written"):
        registry().encode((Key(name="a"), Value(number=70_000, note="n")))


def test_an_assertion_that_fails_is_not_taken_for_a_name_that_is_too_long() -> None:
    def broken(record: Any) -> int:
        assert not record, "a bug of ours"
        return 0

    with pytest.raises(AssertionError, match="a bug of ours"):
        Registry([Key], broken).encode((Key(name="k"), Value(number=1, note=LONG)))
