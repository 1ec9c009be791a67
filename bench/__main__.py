"""`python -m bench`: measure rows side by side, print a table, keep it in .bench/.

What was measured replaces the same rows in the results; the others stay, so that a whole
run can be made in pieces (`--only`). `--add` adds rounds to those already there. With
`--target` figures are only printed. `--publish` makes a whole run the committed one.
"""

import argparse
import signal
import sys
from pathlib import Path

from bench.installed import described
from bench.publish import Refused, publish
from bench.report import KEPT, PUBLISHED, Results
from bench.row import Row
from bench.rows import FAMILIES
from bench.runner import Measured, Plan, measure, sessions
from bench.servers import targets

_QUICK = 0.4


def main() -> int:
    # `timeout` and `kill` end it as Ctrl-C does: servers are stopped, their data removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _parser().parse_args()
    if options.list:
        for family, rows in FAMILIES.items():
            for row in rows:
                print(f"{family:14} {row.id:18} {row.title}")
        return 0
    if options.publish:
        return _publish()
    results = Results("quick" if options.quick else "bench", options.results)
    if options.render:
        results.render(is_release=options.results.resolve() == PUBLISHED)
        return 0
    chosen = _chosen(options)
    if not chosen:
        print("bench: no such row; --list names them", file=sys.stderr)
        return 1
    there = []
    for name, target in targets(options.revision).items():
        if options.target and name not in options.target:
            continue
        if (reason := target.why_not()) is not None:
            print(f"bench: without {target.title}: {reason}")
        else:
            there.append(target)
    rounds = options.rounds or (1 if options.quick else 3)
    length = options.length or (_QUICK if options.quick else 1)
    revision = described(options.revision)

    def keeps(measured: Measured) -> None:
        # Figures of one target alone have nothing beside them: they are only printed.
        if not options.target:
            results.keep(measured, revision=revision, adds=options.add, length=length)

    measured = Measured(keeps)
    measure(Plan(sessions(chosen), there, rounds, length, options.data), measured)
    if not options.target:
        results.render()
    return 1 if measured.failures else 0


def _publish() -> int:
    try:
        publish()
    except Refused as why:
        print(f"bench: not published: {why}", file=sys.stderr)
        return 1
    return 0


def _chosen(options: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows by family: those asked for, or all (the quick ones)."""
    wanted = set(options.only or ())
    found: dict[str, list[Row]] = {}
    for family, rows in FAMILIES.items():
        for row in rows:
            is_wanted = row.id in wanted or family in wanted
            if is_wanted or (not wanted and (row.is_quick or not options.quick)):
                found.setdefault(family, []).append(row)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the main rows, two minutes")
    parser.add_argument("--only", action="append", metavar="ROW", help="rows or families")
    parser.add_argument("--rounds", type=int, help="how often each is measured (3; quick: 1)")
    parser.add_argument("--length", type=float, help="share of each load (1; quick: 0.4)")
    parser.add_argument(
        "--target", action="append", help="only this one (kafkapy, apache, kfake, limit)"
    )
    parser.add_argument("--revision", help="measure kafkapy as of this commit")
    parser.add_argument("--add", action="store_true", help="add rounds, replace none")
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary place)")
    parser.add_argument("--list", action="store_true", help="name all rows and end")
    parser.add_argument("--render", action="store_true", help="make table and plots again")
    parser.add_argument("--results", type=Path, default=KEPT, help="kept there (.bench)")
    parser.add_argument("--publish", action="store_true", help="a whole run to bench/results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
