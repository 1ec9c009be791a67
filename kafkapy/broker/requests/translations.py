"""Small translations that several handlers share."""

from datetime import timedelta
from typing import Any, Final

_MILLISECOND: Final = timedelta(milliseconds=1)


def millis(duration: timedelta) -> int:
    """kio reads timeouts as timedelta; machines count milliseconds."""
    return duration // _MILLISECOND


def optional(body: Any, name: str, absent: Any) -> Any:
    """A field that only later versions of the request have."""
    return getattr(body, name, absent)
