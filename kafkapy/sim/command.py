"""`python -m kafkapy.sim --nodes 5`: runs of a cluster, as a log or as a verdict.

One seed prints what happened, a column a node, and the hash of its trace. Many print what
fails, made smaller first, and the sums.
"""

import argparse
import gc
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from multiprocessing import get_context
from typing import Final

from kafkapy.sim.cluster.column_log import ColumnLog
from kafkapy.sim.cluster.plan import Plan
from kafkapy.sim.cluster.shrinking import shrink
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.runs.cluster import ClusterFailed, ClusterReport, plan_of, run_plan

_WIDTH: Final = 200
_TELLS_EVERY: Final = 25
# A world is many objects that live as long as it: looked through for garbage at every 700th new
# one, as is Python's habit, a run takes an eighth longer.
_NEW_OBJECTS: Final = 20_000
_NOT_SUMS: Final = frozenset({"seed", "digest"})


def run_one(options: argparse.Namespace) -> int:
    """As a log."""
    plan = _plan_of(options.seed, options)
    print(plan)
    try:
        report = run_plan(plan, None if options.quiet else _print_log)
    except ClusterFailed as failed:
        print(f"seed {options.seed}: {type(failed.cause).__name__}: {failed.cause}")
        return 1
    print(report)
    return 0


def run_many(seeds: range, options: argparse.Namespace) -> int:
    """In `options.jobs` processes; whatever fails is shrunk."""
    began = time.monotonic()
    totals: Counter[str] = Counter()
    failures = 0
    for done, (seed, outcome) in enumerate(_outcomes(seeds, options), 1):
        if isinstance(outcome, ClusterReport):
            totals.update(
                {
                    one.name: getattr(outcome, one.name)
                    for one in fields(outcome)
                    if one.name not in _NOT_SUMS
                }
            )
        else:
            failures += 1
            print(f"seed {seed}: {outcome}", flush=True)
        if done % _TELLS_EVERY == 0:
            print(f"{done} runs, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    seconds = time.monotonic() - began
    told = ", ".join(f"{count} {what}" for what, count in totals.items())
    print(f"{len(seeds) - failures} runs kept every promise, {failures} did not: {told}")
    print(f"{seconds:.1f} s, {seconds / len(seeds):.2f} s a run")
    return 1 if failures else 0


def _outcomes(
    seeds: range, options: argparse.Namespace
) -> Iterator[tuple[int, ClusterReport | str]]:
    work = (_plan_of(seed, options) for seed in seeds)
    if options.jobs == 1:
        _look_for_garbage_seldom()
        yield from map(_run_and_shrink, work)
        return
    with get_context("spawn").Pool(options.jobs, _look_for_garbage_seldom) as pool:
        yield from pool.imap_unordered(_run_and_shrink, work)


def _look_for_garbage_seldom() -> None:
    gc.set_threshold(_NEW_OBJECTS)


def _run_and_shrink(plan: Plan) -> tuple[int, ClusterReport | str]:
    try:
        return plan.seed, run_plan(plan)
    except ClusterFailed as failed:
        said = _what_breaks_of(failed)
    smallest = shrink(plan, said, _what_breaks)
    return plan.seed, (
        f"{said}\n    plan: {smallest}\n    replay: python -m kafkapy.sim --seed {plan.seed} "
        f"--nodes {len(plan.roles)} {arguments_of(smallest)}"
    )


def arguments_of(plan: Plan) -> str:
    return (
        f"--seconds {plan.seconds} --troubles {','.join(plan.troubles) or 'none'} "
        f"--clients {','.join(plan.clients) or 'none'}"
    )


def names_of(table: Iterable[str]) -> Callable[[str], frozenset[str]]:
    """Reads `--troubles A,B`: of these, or "none"."""

    def read(text: str) -> frozenset[str]:
        names = frozenset(text.split(",")) - {"none"}
        if unknown := names.difference(table):
            raise argparse.ArgumentTypeError(
                f"there is no {', '.join(sorted(unknown))}; there are {', '.join(table)}"
            )
        return names

    return read


def _plan_of(seed: int, options: argparse.Namespace) -> Plan:
    """The seed's plan, without the troubles and clients that are not named, if any are."""
    plan = plan_of(seed, options.nodes, options.seconds)
    if options.troubles is not None:
        for name in set(plan.troubles) - options.troubles:
            plan = plan.without_trouble(name)
    if options.clients is not None:
        for name in set(plan.clients) - options.clients:
            plan = plan.without_clients(name)
    return plan


def _what_breaks(plan: Plan) -> str:
    try:
        run_plan(plan)
    except ClusterFailed as failed:
        return _what_breaks_of(failed)
    return ""


def _what_breaks_of(failed: ClusterFailed) -> str:
    return f"{type(failed.cause).__name__}: {failed.cause}"


def _print_log(world: ClusterWorld) -> None:
    width = shutil.get_terminal_size((_WIDTH, 0)).columns
    names = [host.name for host in world.hosts.values()]
    world.trace.on_line = ColumnLog(world.clock, names, width, print)
