"""`python -m kafkapy.sim --seed N`: one run, or many, of the simulated node; with `--nodes 5`, of
a simulated cluster (`command.py`).

Of a run that fails it prints the seed, what was broken and how it came; at the end what
all runs together did. docs/SIMULATION.md says what is checked.
"""

import argparse
import sys
import time
from collections import Counter

from kafkapy.sim.cluster.clients.every import KINDS
from kafkapy.sim.cluster.plan import LEAST_NODES, SECONDS
from kafkapy.sim.cluster.troubles.every import TROUBLES
from kafkapy.sim.command import names_of, run_many, run_one
from kafkapy.sim.runs.single_node import LIVES, Failed, Report, run_seed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m kafkapy.sim",
        description="Lives and deaths of a node on a simulated disk, from a seed.",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, default=1, metavar="N", help="run this one")
    which.add_argument("--seeds", type=_seeds, metavar="A-B", help="run all of these")
    parser.add_argument("--lives", type=int, default=LIVES, help="starts of the node in a run")
    cluster = parser.add_argument_group("a cluster instead of one node")
    cluster.add_argument("--nodes", type=_nodes, metavar="N", help="three or more")
    cluster.add_argument("--seconds", type=int, default=SECONDS, help="of trouble, in a run")
    cluster.add_argument("--jobs", type=int, default=1, help="processes, for many seeds")
    for name, table in (("troubles", TROUBLES), ("clients", KINDS)):
        cluster.add_argument(
            f"--{name}", type=names_of(table), metavar="A,B", help="only these of the seed's"
        )
    cluster.add_argument("--quiet", action="store_true", help="no log of a single run")
    options = parser.parse_args(arguments)
    if options.nodes is not None:
        return run_many(options.seeds, options) if options.seeds else run_one(options)
    return _run_single_node(options)


def _run_single_node(options: argparse.Namespace) -> int:
    seeds = options.seeds or range(options.seed, options.seed + 1)
    began = time.monotonic()
    totals: Counter[str] = Counter()
    failures = 0
    for done, seed in enumerate(seeds):
        if sys.stderr.isatty() and len(seeds) > 1:
            print(f"\r{done} of {len(seeds)} runs, {failures} failed ", end="", file=sys.stderr)
        try:
            report = run_seed(seed, options.lives)
        except Failed as failed:
            failures += 1
            print(failed, flush=True)
        else:
            _count(totals, report)
            if len(seeds) == 1:
                print(_line(report))
    seconds = time.monotonic() - began
    told = ", ".join(f"{count} {what}" for what, count in totals.items())
    print(f"{len(seeds) - failures} runs kept every promise, {failures} did not: {told}")
    print(f"{seconds:.1f} s, {seconds / len(seeds):.2f} s a run")
    return 1 if failures else 0


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _nodes(text: str) -> int:
    if int(text) < LEAST_NODES:
        raise argparse.ArgumentTypeError(f"a cluster has {LEAST_NODES} nodes or more")
    return int(text)


def _count(totals: Counter[str], report: Report) -> None:
    totals["lives"] += report.lives
    totals["actions"] += report.actions
    totals["records sent"] += report.records_sent
    totals["disk changes"] += report.disk_changes
    for death, count in report.deaths.items():
        totals[death.value] += count


def _line(report: Report) -> str:
    return (
        f"seed {report.seed}: {report.lives} lives, {report.actions} actions, "
        f"{report.records_sent} records, trace {report.digest}"
    )


if __name__ == "__main__":
    sys.exit(main())
