"""Plots of the results as PNG, where matplotlib is there (the `bench` extra brings it).

NAME-ahead.png     how far ahead of Apache Kafka and kfake, row by row; of a release the
                   dozen rows in _RELEASE, for the README
NAME-latency.png   latency by percentile, to p99.99, at fixed rates
NAME-cost.png      the broker's processor time for a million records
NAME-memory.png    memory against partitions and connections
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.row import APACHE, BROKERS, KAFKAPY, KFAKE, LIMIT, Figure, Row
from bench.rows import FAMILIES

Rows = dict[str, dict[str, Any]]

COLOURS = {KAFKAPY: "#1a6fb0", APACHE: "#d1495b", KFAKE: "#8d96a3", LIMIT: "#444444"}
NAMES = {
    KAFKAPY: "kafkapy",
    APACHE: "Apache Kafka 4.3.1",
    KFAKE: "kfake (in memory)",
    LIMIT: "the limit (in C, no checks)",
}
# In a ratio the colour is that of whom kafkapy is compared with.
OTHER_COLOURS = {APACHE: "#1a6fb0", KFAKE: "#e08214"}
# Where the axis of ratios ends.
_LEAST, _MOST = 0.04, 60.0
# Row, figure and label of what a reader asks first; what kafkapy is behind in is not left out.
_RELEASE = (
    ("ack-1k", "p99", "acknowledged, 1,000 records/s, p99"),
    ("e2e-67k", "p99", "end to end, 67,000 records/s, p99"),
    ("1k-1m", "rate", "produce 1 KiB records, 1 MB batches"),
    ("1k-16k-all", "rate", "the same, 16 KiB batches, acks=all"),
    ("consume-1k", "rate", "consume 1 KiB records"),
    ("java-1k", "rate", "Java's producer, its defaults"),
    ("one-32", "rate", "one record a request, 32 connections"),
    ("one-500", "rate", "one record a request, 500 connections"),
    ("heartbeats-500", "rate", "heartbeats of a group of 500"),
    ("commits-16", "rate", "transactions of one record, 16 producers"),
    ("start", "seconds", "from the command to the first answer"),
    ("idle", "resident_mb", "memory when idle"),
)
_PERCENTILES = (50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_CURVES = ("ack-1k", "ack-10k", "ack-67k", "e2e-1k", "e2e-67k")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of one row: how far ahead kafkapy is."""

    label: str
    figure: Figure
    rounds: dict[str, list[dict[str, float]]]

    def ratios(self, other: str) -> list[float]:
        """Round by round; none where one of both was not measured."""
        pairs = zip(self.rounds.get(KAFKAPY, []), self.rounds.get(other, []), strict=False)
        name = self.figure.name
        return [self.figure.ahead(ours[name], theirs[name]) for ours, theirs in pairs]

    def middle(self, other: str) -> float:
        """That of the medians, as in the table."""
        name = self.figure.name
        ours, theirs = (_median(self.rounds[one], name) for one in (KAFKAPY, other))
        return self.figure.ahead(ours, theirs)


def why_not() -> str | None:
    try:
        import matplotlib
    except ImportError:
        return "no matplotlib (pip install '.[bench]')"
    matplotlib.use("Agg")
    return None


def plot(folder: Path, name: str, rows: Rows) -> None:
    if (reason := why_not()) is not None:
        print(f"bench: without plots: {reason}")
        return
    _ahead(folder / f"{name}-ahead.png", rows)
    _latency(folder / f"{name}-latency.png", rows)
    _cost(folder / f"{name}-cost.png", rows)
    _memory(folder / f"{name}-memory.png", rows)


def plot_published(folder: Path, name: str, rows: Rows) -> None:
    """What a page of the repository shows."""
    if (reason := why_not()) is not None:
        print(f"bench: without plots: {reason}")
        return
    shown = [
        Line(label, figure, rows[row.id]["rounds"])
        for row, figure, label in _released()
        if row.id in rows
    ]
    _dots(folder / f"{name}-ahead.png", shown, width=9.2)


def _released() -> Iterator[tuple[Row, Figure, str]]:
    by_id = {row.id: row for members in FAMILIES.values() for row in members}
    for row_id, name, label in _RELEASE:
        row = by_id[row_id]
        yield row, next(each for each in row.figures if each.name == name), label


def _ahead(path: Path, rows: Rows) -> None:
    """Every row by its main figure."""
    lines = [
        Line(f"{row.title} [{_main_figure(row).unit}]", _main_figure(row), rows[row.id]["rounds"])
        for row in _all(rows)
    ]
    _dots(path, [line for line in lines if line.ratios(APACHE) or line.ratios(KFAKE)], width=13)


def _dots(path: Path, lines: Sequence[Line], width: float) -> None:
    """A dot for each ratio, with a line from the worst to the best round, around 1."""
    import matplotlib.pyplot as plt

    if not lines:
        return
    figure, axes = plt.subplots(figsize=(width, 1.3 + 0.36 * len(lines)), layout="constrained")
    axes.axvspan(1, _MOST, color="#f2f7f2", zorder=0)
    axes.axvline(1, color="black", lw=1.2, zorder=1)
    for place, line in enumerate(lines):
        axes.axhline(place, color="#dddddd", lw=0.6, zorder=0.5)
        for other, shift, points in ((APACHE, -0.13, 8), (KFAKE, 0.13, 46)):
            each = line.ratios(other)
            if each:
                _dot(axes, place + shift, line.middle(other), each, OTHER_COLOURS[other])
            axes.annotate(
                _times(line.middle(other)) if each else "-", (1, place), (points, 0),
                xycoords=axes.get_yaxis_transform(), textcoords="offset points", fontsize=9,
                va="center", color=OTHER_COLOURS[other], annotation_clip=False,
            )  # fmt: skip
    _dress(axes, [line.label for line in lines])
    figure.savefig(path, dpi=130, metadata={"Software": None}, pil_kwargs={"optimize": True})
    plt.close(figure)


def _dress(axes: Any, labels: Sequence[str]) -> None:
    """Scale, ticks and words around the dots."""
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, _MOST)
    ticks = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=9)
    axes.minorticks_off()
    axes.set_yticks(range(len(labels)), labels, fontsize=9.5)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("times as good as the other: right of 1 kafkapy is ahead", fontsize=9.5)
    for other in (APACHE, KFAKE):
        axes.plot([], [], "o", color=OTHER_COLOURS[other], label=f"kafkapy to {NAMES[other]}")
    axes.plot([], [], "-", color="#666666", lw=2, label="worst to best round")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=9, frameon=False,
        borderaxespad=0,
    )  # fmt: skip


def _dot(axes: Any, place: float, middle: float, each: Sequence[float], colour: str) -> None:
    """What lies beyond the edge is an arrow at it; the number beside the plot says how far."""
    low, high = (min(max(at, _LEAST), _MOST) for at in (min(each), max(each)))
    axes.plot([low, high], [place, place], color=colour, lw=2.2, alpha=0.55, zorder=2)
    at = min(max(middle, _LEAST), _MOST)
    marker = ">" if middle > _MOST else "<" if middle < _LEAST else "o"
    axes.plot(at, place, marker, color=colour, ms=6.5, zorder=3, clip_on=False)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def _latency(path: Path, rows: Rows) -> None:
    import matplotlib.pyplot as plt

    shown = [row for row in _all(rows) if row.id in _CURVES]
    if not shown:
        return
    figure, panels = plt.subplots(
        1, len(shown), figsize=(3.4 * len(shown), 3.6), layout="constrained", squeeze=False
    )
    places = range(len(_PERCENTILES))
    for axes, row in zip(panels[0], shown, strict=True):
        for target, rounds in rows[row.id]["rounds"].items():
            curve = [_median(rounds, f"p{at:g}") for at in _PERCENTILES]
            axes.plot(places, curve, color=COLOURS[target], label=NAMES[target], marker=".")
        axes.set_yscale("log")
        axes.set_xticks(places, [f"{at:g}" for at in _PERCENTILES], rotation=60, fontsize=7)
        axes.set_title(row.title, fontsize=8)
        axes.grid(alpha=0.3, which="both")
    panels[0][0].set_ylabel("ms, from the intended time")
    panels[0][0].legend(fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _cost(path: Path, rows: Rows) -> None:
    import matplotlib.pyplot as plt

    families = ("throughput", "requests")
    shown = [row for row in _all(rows, families) if _has(rows, row, "cpu_s_per_million")]
    if not shown:
        return
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.34 * len(shown)), layout="constrained")
    for number, target in enumerate(BROKERS):
        for place, row in enumerate(shown):
            rounds = rows[row.id]["rounds"].get(target)
            if rounds:
                spent = _median(rounds, "cpu_s_per_million")
                axes.barh(place + 0.26 * (number - 1), spent, 0.25, color=COLOURS[target])
        axes.bar(0, 0, color=COLOURS[target], label=NAMES[target])
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [row.title for row in shown], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("CPU seconds of the broker for a million records (or requests)")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _memory(path: Path, rows: Rows) -> None:
    import matplotlib.pyplot as plt

    kinds = {"partitions": (100, 1_000, 10_000), "connections": (100, 1_000, 5_000)}
    if not any(f"{kind}-{count}" in rows for kind, counts in kinds.items() for count in counts):
        return
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axes, (kind, counts) in zip(panels, kinds.items(), strict=True):
        for target in BROKERS:
            found = {
                count: _median(rows[f"{kind}-{count}"]["rounds"][target], "resident_mb")
                for count in counts
                if target in rows.get(f"{kind}-{count}", {}).get("rounds", {})
            }
            axes.plot(
                list(found), list(found.values()), color=COLOURS[target], marker="o",
                label=NAMES[target],
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(kind)
        axes.set_ylabel("MB resident")
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _all(rows: Rows, families: Sequence[str] = ()) -> list[Row]:
    return [
        row
        for family, members in FAMILIES.items()
        if not families or family in families
        for row in members
        if row.id in rows
    ]


def _main_figure(row: Row) -> Figure:
    """The one that a plot shows: p99 where latency is what the row is about, else the first."""
    if row.figures[0].unit.startswith("ms"):
        return next((each for each in row.figures if each.name == "p99"), row.figures[0])
    return row.figures[0]


def _has(rows: Rows, row: Row, name: str) -> bool:
    return any(name in one for rounds in rows[row.id]["rounds"].values() for one in rounds)


def _median(rounds: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds)


def plot_soak(path: Path, minutes: Sequence[float], resident_mb: Sequence[float]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 3), layout="constrained")
    axes.plot(minutes, resident_mb, color=COLOURS[KAFKAPY])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes")
    axes.set_ylabel("MB resident")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
