"""What a topic may be called: its name becomes a directory and part of a metric.

In metric names `.` and `_` look the same, so `a.b` and `a_b` must not both exist.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.limits import MAX_TOPIC_NAME_LENGTH

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Refused(INVALID_TOPIC_EXCEPTION) with what is wrong."""
    why = None
    if not name:
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > MAX_TOPIC_NAME_LENGTH:
        why = (
            f"the length of '{name}' is longer than the max allowed length {MAX_TOPIC_NAME_LENGTH}"
        )
    elif _LEGAL.fullmatch(name) is None:
        why = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    if why is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")


def by_metric_name(names: Iterable[str]) -> dict[str, str]:
    """Names that could collide, by what they look like in a metric."""
    return {_metric_name(name): name for name in names if "." in name or "_" in name}


def check_collision(name: str, taken: Mapping[str, str]) -> None:
    """Refused(INVALID_TOPIC_EXCEPTION) if a name out of `by_metric_name` looks the same."""
    if "." in name or "_" in name:
        other = taken.get(_metric_name(name))
        if other is not None:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {other}",
            )


def _metric_name(name: str) -> str:
    return name.replace(".", "_")
