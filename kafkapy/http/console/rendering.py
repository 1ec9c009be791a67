"""Templates: the package's own, everything escaped, and words for sizes and times."""

from datetime import UTC, datetime
from functools import cache
from shlex import quote
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def rendered(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("kafkapy.http.console"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(size=size, number=grouped, moment=moment, span=span, quoted=quote)
    return made


def size(count: int | None) -> str:
    if count is None:
        return "–"  # noqa: RUF001 - a dash for what is not known
    value = float(count)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def grouped(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"  # noqa: RUF001 - as above


def moment(milliseconds: int | None) -> str:
    """UTC: who reads it may be elsewhere than the node."""
    if milliseconds is None or milliseconds < 0:
        return "–"  # noqa: RUF001 - as above
    try:
        found = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)
    return found.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03}"


def span(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "–"  # noqa: RUF001 - as above
    seconds = max(0, milliseconds) / 1000
    for step, name in _STEPS:
        if seconds >= step:
            return f"{seconds / step:.1f} {name}"
    return f"{seconds:.1f} s"
