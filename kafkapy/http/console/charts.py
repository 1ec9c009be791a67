"""A line over the last hour, as an SVG that needs neither script nor style in the page."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafkapy.http.console.rendering import grouped, moment, size
from kafkapy.http.watching.history import EVERY_SECONDS

WIDTH: Final = 720
HEIGHT: Final = 90
_LEAST: Final = 60


class Chart(NamedTuple):
    """`line` and `area` are points of WIDTH x HEIGHT; `said` is what the line says, in words."""

    title: str
    line: str
    area: str
    now: str
    most: str
    begins: str
    ends: str
    said: str


def count(value: float) -> str:
    return grouped(round(value)) if value >= 10 else f"{value:.1f}".removesuffix(".0")


def rate(value: float) -> str:
    return f"{count(value)}/s"


def byte_rate(value: float) -> str:
    return f"{size(round(value))}/s"


def chart(
    title: str, values: Sequence[float], wall_ms: int, shown: Callable[[float], str]
) -> Chart:
    """The newest value is at the right end, which is now. A line younger than the hour has the
    whole width once it has ten minutes; before that it begins where it began."""
    top = max(values, default=0) or 1
    looks = max(_LEAST, len(values))
    first = looks - len(values)
    points = [
        f"{(first + at) * WIDTH / (looks - 1):.1f},{HEIGHT - value / top * (HEIGHT - 4):.1f}"
        for at, value in enumerate(values)
    ]
    left = f"{first * WIDTH / (looks - 1):.1f},{HEIGHT}"
    now, most = shown(values[-1] if values else 0), shown(max(values, default=0))
    begins = _minute(wall_ms - (looks - 1) * EVERY_SECONDS * 1000)
    ends = _minute(wall_ms)
    return Chart(
        title,
        " ".join(points),
        " ".join((left, *points, f"{WIDTH},{HEIGHT}")) if points else "",
        now,
        most,
        begins,
        ends,
        f"{title} from {begins} to {ends}: now {now}, {most} at the most",
    )


def _minute(wall_ms: int) -> str:
    return moment(wall_ms)[11:16]
