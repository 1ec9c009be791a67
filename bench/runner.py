"""Runs rows: targets take turns round by round, so that a slow minute of the machine hurts all.

    for each round:  for each session (rows of a family with the same properties):
        for each target, another one first each round:
            a new server  ->  the session's rows, one after the other  ->  stopped

A row that fails says why, with the end of its server's log, and the others go on.
"""

import itertools
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.row import Figures, Row
from bench.run import Run
from bench.servers import Server, Target, log_tail


@dataclass(slots=True)
class Measured:
    """What was found: rounds by row and target, and what failed. `keeps` is called whenever
    there is more, so that a run that is cut off leaves what it had."""

    keeps: "Callable[[Measured], None]"
    rounds: dict[str, dict[str, list[Figures]]] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)

    def note(self, row: str, target: str, figures: Figures) -> None:
        self.rounds.setdefault(row, {}).setdefault(target, []).append(figures)
        print(f"{target:8} {row:16} {_short(figures)}", flush=True)
        self.keeps(self)

    def failed(self, row: str, target: str, why: str, tail: str) -> None:
        self.failures.setdefault(row, {})[target] = why
        print(f"{target:8} {row:16} FAILED: {why}\n--- its server's log ends:\n{tail}\n---")
        self.keeps(self)


@dataclass(frozen=True, slots=True)
class Plan:
    sessions: Sequence[Sequence[Row]]
    targets: Sequence[Target]
    rounds: int
    length: float
    data: Path | None


def sessions(families: dict[str, list[Row]]) -> list[list[Row]]:
    """Rows that share a server: those of one family with the same nodes and properties."""
    found: list[list[Row]] = []
    for rows in families.values():
        ordered = sorted(rows, key=_session_key)
        found += [list(group) for _, group in itertools.groupby(ordered, _session_key)]
    return found


def measure(plan: Plan, measured: Measured) -> None:
    for number in range(plan.rounds):
        turn = number % len(plan.targets)
        order = [*plan.targets[turn:], *plan.targets[:turn]]
        for rows, target in itertools.product(plan.sessions, order):
            wanted = [row for row in rows if target.name in row.targets]
            if wanted:
                with tempfile.TemporaryDirectory(dir=plan.data, prefix="kafkapy-bench-") as scratch:
                    _session(wanted, target, Path(scratch), measured, length=plan.length)


def _session(
    rows: Sequence[Row], target: Target, scratch: Path, measured: Measured, *, length: float
) -> None:
    for number, row in enumerate(each for each in rows if each.starts_own):
        run = Run(target, scratch / str(number), length=length)
        _one(row, run, measured)
    sharing = [row for row in rows if not row.starts_own]
    if not sharing:
        return
    server = target.make(scratch / "shared", sharing[0].properties, sharing[0].nodes)
    try:
        try:
            server.start()
        except (RuntimeError, AssertionError) as failed:
            for row in sharing:
                measured.failed(row.id, target.name, f"no server: {failed}", log_tail(server))
            return
        for number, row in enumerate(sharing):
            run = Run(target, scratch / f"shared-{number}", length=length)
            run.started.append(server)
            _one(row, run, measured)
    finally:
        server.stop()


def _one(row: Row, run: Run, measured: Measured) -> None:
    try:
        figures = row.measure(run)
        missing = [figure.name for figure in row.figures if figure.name not in figures]
        assert not missing, f"{row.id} did not measure {missing}"
        run.close()
    except (RuntimeError, OSError, AssertionError, subprocess.TimeoutExpired) as failed:
        traceback.print_exc()
        tail = "\n".join(_tails(run.started))
        measured.failed(row.id, run.target.name, str(failed)[-500:] or repr(failed), tail)
    else:
        measured.note(row.id, run.target.name, figures)


def _tails(servers: Sequence[Server]) -> Iterator[str]:
    for server in servers:
        yield log_tail(server)


def _session_key(row: Row) -> tuple[int, tuple[tuple[str, str], ...]]:
    return row.nodes, tuple(sorted(row.properties.items()))


def _short(figures: Figures) -> str:
    shown = ("rate", "seconds", "p50", "p99", "p99.9", "cores", "load_cores", "other_cores")
    names = [name for name in shown if name in figures] or list(figures)
    return "  ".join(f"{name}={figures[name]:,.2f}" for name in names)
