"""Plots of the results as PNG, where matplotlib is there (the `bench` extra brings it).

NAME-ahead.png     how far ahead of Apache Kafka and kfake, row by row
NAME-latency.png   latency by percentile, to p99.99, at fixed rates
NAME-cost.png      the broker's processor time for a million records
NAME-memory.png    memory against partitions and connections
"""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.row import APACHE, KAFKAPY, KFAKE, Figure, Row
from bench.rows import FAMILIES

Rows = dict[str, dict[str, Any]]

COLOURS = {KAFKAPY: "#1a6fb0", APACHE: "#d1495b", KFAKE: "#8d96a3"}
NAMES = {KAFKAPY: "kafkapy", APACHE: "Apache Kafka 4.3.1", KFAKE: "kfake (in memory)"}
_PERCENTILES = (50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_CURVES = ("ack-1k", "ack-10k", "ack-67k", "e2e-1k", "e2e-67k")


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


def _ahead(path: Path, rows: Rows) -> None:
    """Bars of ratios by the first figure of each row; lines from the worst to the best round."""
    import matplotlib.pyplot as plt

    shown = [row for row in _all(rows) if _ratios(rows, row, APACHE) or _ratios(rows, row, KFAKE)]
    if not shown:
        return
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.34 * len(shown)), layout="constrained")
    for other, shift in ((APACHE, -0.19), (KFAKE, 0.19)):
        for place, row in enumerate(shown):
            each = _ratios(rows, row, other)
            if each:
                middle = statistics.median(each)
                axes.barh(place + shift, middle, 0.36, color=COLOURS[other])
                axes.plot([min(each), max(each)], [place + shift] * 2, color="black", lw=1)
    axes.axvline(1, color="black", lw=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [_label(row) for row in shown], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("times ahead (right of 1: kafkapy is ahead)")
    for other in (APACHE, KFAKE):
        axes.bar(0, 0, color=COLOURS[other], label=f"kafkapy to {NAMES[other]}")
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


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
    for number, target in enumerate((KAFKAPY, APACHE, KFAKE)):
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
        for target in (KAFKAPY, APACHE, KFAKE):
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


def _ratios(rows: Rows, row: Row, other: str) -> list[float]:
    """Times ahead, round by round."""
    figure = _main_figure(row)
    rounds = rows[row.id]["rounds"]
    pairs = zip(rounds.get(KAFKAPY, []), rounds.get(other, []), strict=False)
    return [figure.ahead(ours[figure.name], theirs[figure.name]) for ours, theirs in pairs]


def _label(row: Row) -> str:
    return f"{row.title} [{_main_figure(row).unit}]"


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
