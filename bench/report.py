"""Results: kept as JSON, shown as a Markdown table and plots, in .bench/, which git ignores.

Those of a release are in bench/results/, and only bench/publish.py writes there.

Every ratio says how far ahead kafkapy is, whichever way is better: 2.00 is twice the rate
or half the latency. It is that of the medians; beside it the worst and the best round.
"""

import json
import os
import platform
import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import plots
from bench.row import APACHE, BROKERS, KAFKAPY, KFAKE, LIMIT, Figure, Figures, Row
from bench.rows import FAMILIES
from bench.runner import Measured

KEPT = Path(__file__).resolve().parents[1] / ".bench"
PUBLISHED = Path(__file__).resolve().parent / "results"
# Cores that other work may use before the table says so.
_QUIET = 0.2
_COSTS = ("cores", "cpu_s_per_million", "resident_mb")


class Results:
    """What was measured, row by row; a row also says when and of which commit."""

    def __init__(self, name: str, folder: Path = KEPT) -> None:
        self._name = name
        self._folder = folder
        self._path = folder / f"{name}.json"
        self.rows: dict[str, dict[str, Any]] = {}
        self.machine = machine()
        if self._path.exists():
            kept = json.loads(self._path.read_text())
            self.rows, self.machine = kept["rows"], kept["machine"]
        self._before = dict(self.rows)

    def keep(self, measured: Measured, *, revision: str, adds: bool, length: float = 1) -> None:
        """All that this run has measured so far beside what was there before it."""
        for row in {**measured.rounds, **measured.failures}:
            found = dict(measured.rounds.get(row, {}))
            if adds and row in self._before:
                for target, rounds in self._before[row]["rounds"].items():
                    found[target] = rounds + found.get(target, [])
            self.rows[row] = {
                "when": time.strftime("%Y-%m-%d", time.gmtime()),
                "revision": revision,
                "nice": os.nice(0),
                "length": length,
                "rounds": found,
                "failures": measured.failures.get(row, {}),
            }
        self.machine = machine()
        self.save()

    def save(self) -> None:
        """A line for the figures of each round, so that a new set changes few lines."""
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": self.machine, "rows": self.rows}, indent=1)
        text = re.sub(r"\{[^{}\[\]]*\}", lambda found: " ".join(found[0].split()), text)
        self._path.write_text(text + "\n")

    def render(self, *, is_release: bool = False) -> None:
        """Table and plots; of a release what pages show, without a word."""
        revisions = ", ".join(sorted({row["revision"] for row in self.rows.values()}))
        lines = [
            f"On {self.machine}. kafkapy {revisions}, its request paths compiled. Medians. "
            "**Ahead** is how far kafkapy is ahead, more being better "
            "in every row (twice the rate, or half the latency, is 2.00), with the worst and the "
            "best round. **Of the limit** is kafkapy beside a C program that takes the same bytes, "
            "writes them and answers, without any checks. CPU and memory are the broker's, kafkapy "
            "/ Apache Kafka / kfake; of several nodes the CPU of all and the most memory of one.",
        ]
        for family, rows in FAMILIES.items():
            shown = [row for row in rows if row.id in self.rows]
            if shown:
                lines += ["", f"### {family}", "", *self._table(shown)]
        text = "\n".join(lines) + "\n"
        (self._folder / f"{self._name}.md").write_text(text)
        if is_release:
            plots.plot_published(self._folder, self._name, self.rows)
        else:
            print(text)
            plots.plot(self._folder, self._name, self.rows)

    def _table(self, rows: Sequence[Row]) -> list[str]:
        lines = [
            "| | | kafkapy | Apache Kafka | kfake | ahead of Apache Kafka | ahead of kfake "
            "| of the limit | cores | CPU s per million | MB |",
            "|---|---|--:|--:|--:|--:|--:|--:|---|---|---|",
        ]
        for row in rows:
            rounds = self.rows[row.id]["rounds"]
            for number, figure in enumerate(row.figures):
                is_first = number == 0
                cells = [row.title if is_first else "", figure.unit]
                cells += [_middle(rounds, target, figure.name) for target in BROKERS]
                cells += [_ahead(rounds, other, figure) for other in (APACHE, KFAKE, LIMIT)]
                cells += [_costs(rounds, cost) if is_first else "" for cost in _COSTS]
                lines.append("| " + " | ".join(cells) + " |")
        for row in rows:
            if (busy := self._others(row)) > _QUIET:
                nice = self.rows[row.id]["nice"]
                first = f", the bench before it (nice {nice})" if nice < 0 else ""
                line = f"other work used up to {busy:.1f} of the cores meanwhile{first}."
                lines += ["", f"*{row.title}:* {line}"]
            if row.note:
                lines += ["", f"*{row.title}:* {row.note}"]
            for target, why in self.rows[row.id]["failures"].items():
                lines += ["", f"*{row.title}:* {target} failed: {why.splitlines()[-1]}"]
        return lines

    def _others(self, row: Row) -> float:
        """Cores that had nothing to do with the bench, in the busiest of the row's rounds."""
        rounds = self.rows[row.id]["rounds"].values()
        return max((one.get("other_cores", 0.0) for each in rounds for one in each), default=0.0)


def machine() -> str:
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
            break
    return (
        f"{os.cpu_count()} cores ({model}), shared by broker and load, "
        f"Linux {platform.release().split('-')[0]}"
    )


def _ahead(rounds: dict[str, list[Figures]], other: str, figure: Figure) -> str:
    ours, theirs = rounds.get(KAFKAPY, []), rounds.get(other, [])
    if not ours or not theirs:
        return "-"
    each = [
        figure.ahead(one[figure.name], two[figure.name])
        for one, two in zip(ours, theirs, strict=False)
    ]
    middle = figure.ahead(_median(ours, figure.name), _median(theirs, figure.name))
    shown = f"**{middle:.2f}**" if middle >= 1 else f"{middle:.2f}"
    return shown if len(each) == 1 else f"{shown} ({min(each):.2f}-{max(each):.2f})"


def _costs(rounds: dict[str, list[Figures]], name: str) -> str:
    values = [_middle(rounds, target, name) for target in BROKERS]
    return "" if set(values) == {"-"} else " / ".join(values)


def _middle(rounds: dict[str, list[Figures]], target: str, name: str) -> str:
    found = [one for one in rounds.get(target, []) if name in one]
    if not found:
        return "-"
    value = _median(found, name)
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _median(rounds: list[Figures], name: str) -> float:
    return statistics.median(one[name] for one in rounds)
