"""`python -m bench [--quick] [--only ROW] [--rounds N]`: run, print, write bench/results/.

Targets alternate, round by round, so that a slow minute of the machine hurts both. Each
figure is the median; ratios are kafkapy to Apache Kafka, best and worst round beside it.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.report import write_results
from bench.rows import ROWS, Row
from bench.servers import TARGETS, drive, running, seconds_to_first_answer, usage
from compat_tests.oracle import run_tool


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the main rows, two minutes")
    parser.add_argument("--only", action="append", help="rows by id")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary one)")
    options = parser.parse_args()
    rows = [row for row in ROWS if row.quick or not options.quick]
    if options.only:
        rows = [row for row in ROWS if row.id in options.only or row.id in _read_by(options.only)]
    rounds = 1 if options.quick else options.rounds
    targets = tuple(options.target or TARGETS)
    measured: dict[str, dict[str, list[dict[str, float]]]] = {}
    for number in range(rounds):
        for target in targets if number % 2 == 0 else targets[::-1]:
            with tempfile.TemporaryDirectory(dir=options.data, prefix="kafkapy-bench-") as scratch:
                _measure(target, rows, Path(scratch), measured)
    write_results(rows, measured, targets, is_quick=options.quick)


def _read_by(ids: list[str]) -> set[str | None]:
    return {row.reads for row in ROWS if row.id in ids}


def _measure(
    target: str,
    rows: list[Row],
    scratch: Path,
    measured: dict[str, dict[str, list[dict[str, float]]]],
) -> None:
    start = {"seconds": seconds_to_first_answer(target, scratch / "start")}
    _note(measured, "start", target, start)
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.properties.items()), []).append(row)
    for number, (properties, members) in enumerate(groups.items()):
        with running(target, scratch / str(number), dict(properties)) as server:
            if number == 0:
                _note(measured, "idle", target, {"resident_mb": usage(server.pid).resident_mb})
            for row in members:
                figures = _run(row, server)
                _note(measured, row.id, target, figures)
                print(f"{target:8} {row.id:10} {_short(figures)}", flush=True)


def _run(row: Row, server: Any) -> dict[str, float]:
    topic = f"bench-{row.reads or row.id}"
    if row.reads is None:
        made = run_tool(
            "kafka-topics", "--bootstrap-server", server.bootstrap, "--create", "--topic", topic,
            "--partitions", "1", "--replication-factor", "1",
        )  # fmt: skip
        if made.returncode != 0:
            raise RuntimeError(f"topic {topic}: {made.stdout}{made.stderr}")
    before = usage(server.pid)
    answer = drive(
        row.driver, json.dumps({"bootstrap": server.bootstrap, "topic": topic, **row.given})
    )
    after = usage(server.pid)
    figures: dict[str, float] = json.loads(answer)
    cpu = after.cpu_seconds - before.cpu_seconds
    figures["rate"] = figures["records"] / figures["seconds"]
    figures["cores"] = cpu / figures["seconds"]
    figures["cpu_us_a_record"] = cpu / figures["records"] * 1e6
    figures["resident_mb"] = after.resident_mb
    return figures


def _note(
    measured: dict[str, dict[str, list[dict[str, float]]]],
    row: str,
    target: str,
    figures: dict[str, float],
) -> None:
    measured.setdefault(row, {}).setdefault(target, []).append(figures)


def _short(figures: dict[str, float]) -> str:
    return "  ".join(f"{name}={value:,.2f}" for name, value in figures.items())


def median(rounds: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds)


if __name__ == "__main__":
    main()
