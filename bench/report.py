"""Results as a Markdown table and as JSON in bench/results/."""

import json
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path

from bench.rows import Row

RESULTS = Path(__file__).parent / "results"
Measured = dict[str, dict[str, list[dict[str, float]]]]


def write_results(
    rows: Sequence[Row], measured: Measured, targets: Sequence[str], *, is_quick: bool
) -> None:
    name = "quick" if is_quick else "bench"
    RESULTS.mkdir(exist_ok=True)
    table = "\n".join(_table(rows, measured, targets)) + "\n"
    (RESULTS / f"{name}.md").write_text(table)
    (RESULTS / f"{name}.json").write_text(json.dumps(measured, indent=1) + "\n")
    print(table)


def _table(rows: Sequence[Row], measured: Measured, targets: Sequence[str]) -> list[str]:
    lines = [
        f"kafkapy beside Apache Kafka 4.3.1 (1 GiB heap), {os.cpu_count()} cores, "
        f"Linux {platform.release()}, Python {platform.python_version()}. "
        "Medians; the ratio is kafkapy to Apache Kafka, with its spread over the rounds.",
        "",
        "| | figure | kafkapy | Apache Kafka | ratio | broker cores | CPU us/record |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for figure in row.figures:
            lines.append(_line(row.title, figure, measured[row.id], targets))
    lines.append(
        _line("from the command to the first answer", "seconds", measured["start"], targets)
    )
    lines.append(_line("memory when idle", "resident_mb", measured["idle"], targets))
    return lines


def _line(
    title: str, figure: str, by_target: dict[str, list[dict[str, float]]], targets: Sequence[str]
) -> str:
    ours = [one[figure] for one in by_target.get("kafkapy", [])]
    theirs = [one[figure] for one in by_target.get("apache", [])]
    ratio = "-"
    if ours and theirs:
        each = [mine / other for mine, other in zip(ours, theirs, strict=False)]
        middle = statistics.median(ours) / statistics.median(theirs)
        ratio = f"**{middle:.2f}** ({min(each):.2f}-{max(each):.2f})"
    return (
        f"| {title} | {figure} | {_middle(ours)} | {_middle(theirs)} | {ratio} "
        f"| {_both(by_target, 'cores')} | {_both(by_target, 'cpu_us_a_record')} |"
    )


def _both(by_target: dict[str, list[dict[str, float]]], figure: str) -> str:
    shown = []
    for target in ("kafkapy", "apache"):
        values = [one[figure] for one in by_target.get(target, []) if figure in one]
        shown.append(_middle(values))
    return "" if shown == ["-", "-"] else " / ".join(shown)


def _middle(values: list[float]) -> str:
    if not values:
        return "-"
    value = statistics.median(values)
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
