"""What a metric is: a family declared once, with Kafka's own metric beside it, and its samples as
Prometheus' text format has them (version 0.0.4).

The format is written by hand: a page of ten thousand partitions has a hundred thousand lines, and
prometheus_client takes ten times as long over each. Its parser reads the page in the tests.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkapy.core.histogram import Histogram

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
NOTHING_LIKE_IT: Final = "-"


class Family(NamedTuple):
    """`kafkas` is the MBean that says the same of Apache Kafka, or who else calls it so."""

    name: str
    kind: str
    told: str
    labels: tuple[str, ...] = ()
    kafkas: str = NOTHING_LIKE_IT


class Page:
    """Samples, by family, in the order in which families first came."""

    def __init__(self) -> None:
        self._lines: dict[Family, list[str]] = {}

    def add(self, family: Family, value: float, *labels: object) -> None:
        lines = self._lines.get(family)
        if lines is None:
            lines = self._lines[family] = []
        lines.append(f"{family.name}{_labels(family.labels, labels)} {_number(value)}\n")

    def observe(self, family: Family, histogram: Histogram, *labels: object) -> None:
        lines = self._lines.setdefault(family, [])
        names, shown = (*family.labels, "le"), _labels(family.labels, labels)
        count = 0
        for bound, count in histogram.cumulative():
            limit = "+Inf" if bound == float("inf") else repr(bound)
            lines.append(f"{family.name}_bucket{_labels(names, (*labels, limit))} {count}\n")
        lines.append(f"{family.name}_sum{shown} {_number(histogram.total)}\n")
        lines.append(f"{family.name}_count{shown} {count}\n")

    def add_text(self, family: Family, lines: Sequence[str]) -> None:
        """Samples that somebody else has written down."""
        self._lines.setdefault(family, []).extend(lines)

    def chunks(self) -> Iterator[bytes]:
        """A piece for each family, and more for a large one: no piece takes long to make."""
        for family, lines in self._lines.items():
            name = family.name
            yield f"# HELP {name} {family.told}\n# TYPE {name} {family.kind}\n".encode()
            for at in range(0, len(lines), _AT_ONCE):
                yield "".join(lines[at : at + _AT_ONCE]).encode()


_AT_ONCE: Final = 1000
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def _labels(names: Sequence[str], values: Sequence[object]) -> str:
    if not names:
        return ""
    pairs = [f'{name}="{escaped(value)}"' for name, value in zip(names, values, strict=True)]
    return "{" + ",".join(pairs) + "}"


def escaped(value: object) -> str:
    text = str(value)
    return text.translate(_ESCAPED) if "\\" in text or '"' in text or "\n" in text else text


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
