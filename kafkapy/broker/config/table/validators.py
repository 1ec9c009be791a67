"""What a key allows beyond its type.

A validator says two things: `check` raises `Invalid` with the rule that was broken (Kafka's
admin clients see that text), and `allowed` is the rule as docs/CONFIG.md prints it.
"""

import math
import re
from collections.abc import Iterable
from typing import Any, Protocol


class Invalid(Exception):
    """The value breaks the rule `allowed`; `item` is what of a list does, if one item does."""

    def __init__(self, allowed: str, item: str | None = None) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.item = item


class Validator(Protocol):
    @property
    def allowed(self) -> str: ...

    def check(self, value: Any) -> None: ...


class _Anything:
    allowed = ""

    def check(self, value: Any) -> None:
        """Every value of the right type will do."""


ANYTHING = _Anything()


class Between:
    """A number in [least, most], either end open if None."""

    def __init__(self, least: float | None, most: float | None) -> None:
        self.least = least
        self.most = most
        self.allowed = f"[{_end(least)},...{'' if most is None else ',' + _end(most)}]"

    def check(self, value: Any) -> None:
        if value is None:
            raise Invalid("Value must be non-null")
        if self.least is not None and (value < self.least or math.isnan(value)):
            raise Invalid(f"Value must be at least {_end(self.least)}")
        if self.most is not None and value > self.most:
            raise Invalid(f"Value must be no more than {_end(self.most)}")


def _end(number: float | None) -> str:
    return "" if number is None else f"{number:d}" if isinstance(number, int) else f"{number:g}"


def at_least(least: float) -> Between:
    return Between(least, None)


def between(least: float, most: float) -> Between:
    return Between(least, most)


class OneOf:
    """A text out of a few."""

    def __init__(self, *choices: str, any_case: bool = False) -> None:
        self.choices = choices
        self.any_case = any_case
        self.allowed = ("(case insensitive) " if any_case else "") + f"[{', '.join(choices)}]"

    def check(self, value: Any) -> None:
        if self.any_case:
            if value is None or value.upper() not in {choice.upper() for choice in self.choices}:
                raise Invalid(
                    f"String must be one of (case insensitive): {', '.join(self.choices)}"
                )
        elif value not in self.choices:
            raise Invalid(f"String must be one of: {', '.join(self.choices)}")


class ListOf:
    """A list; `choices` bound what may be in it, `may_be_empty` and `may_be_null` its size.

    Kafka ignores duplicates with a warning (KIP-1161), so they are no error here.
    """

    def __init__(
        self, choices: Iterable[str] = (), *, may_be_empty: bool = False, may_be_null: bool = False
    ) -> None:
        self.choices = tuple(choices)
        self.may_be_empty = may_be_empty
        self.may_be_null = may_be_null
        rule = f"[{', '.join(self.choices)}]" if self.choices else ""
        self.allowed = rule if may_be_empty else (rule or "non-empty list")

    def check(self, value: Any) -> None:
        if value is None:
            if self.may_be_null:
                return
            raise Invalid("values must not be null.")
        if not value and not self.may_be_empty:
            raise Invalid(
                f"Configuration must not be empty. Valid values include: "
                f"[{', '.join(self.choices)}]"
                if self.choices
                else "values must not be empty."
            )
        for item in value:
            if not item:
                raise Invalid("values must not be empty.")
            if self.choices and item not in self.choices:
                raise Invalid(f"String must be one of: {', '.join(self.choices)}", item)


class NonEmptyText:
    allowed = "non-empty string"

    def check(self, value: Any) -> None:
        if value is not None and not value:
            raise Invalid("String must be non-empty")


class GzipLevel:
    allowed = "[1,...,9] or -1"

    def check(self, value: Any) -> None:
        if value != -1 and not 1 <= value <= 9:
            raise Invalid("Value must be between 1 and 9 or equal to -1")


class OffsetReset:
    """latest, earliest, or by_duration:<ISO 8601 duration>."""

    allowed = "[latest, earliest, by_duration:PnDTnHnMn.nS]"
    _duration = re.compile(
        r"P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?", re.ASCII | re.IGNORECASE
    )

    def check(self, value: Any) -> None:
        strategy, colon, duration = str(value).partition(":")
        if strategy in ("latest", "earliest") and not colon:
            return
        if strategy == "by_duration" and self._duration.fullmatch(duration):
            return
        raise Invalid(
            f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must "
            "be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )


class ThrottledReplicas:
    """`*`, or a list of <partition>:<broker>."""

    allowed = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

    def __init__(self, key: str) -> None:
        self.key = key

    def check(self, value: Any) -> None:
        items = tuple(item.strip() for item in value)
        if items in ((), ("*",)):
            return
        for item in items:
            partition, colon, broker = item.partition(":")
            if not (colon and partition.isdecimal() and broker.isdecimal()):
                raise Invalid(
                    f"{self.key} must be the literal '*' or a list of replicas in the following "
                    "format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
                )
