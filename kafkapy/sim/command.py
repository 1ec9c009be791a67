"""`python -m kafkapy.sim --nodes 5`: runs of a cluster, as a log or as a verdict.

One seed prints what happened, a column a node, and the hash of its trace. Many print what
fails, made smaller first, and the sums.
"""

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
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
_NOT_SUMS: Final = frozenset({"seed", "digest"})


def run_one(options: argparse.Namespace) -> int:
    """As a log."""
    plan = _chosen(plan_of(options.seed, options.nodes, options.seconds), options)
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
    work = ((seed, options.nodes, options.seconds) for seed in seeds)
    if options.jobs == 1:
        yield from map(_run_and_shrink, work)
        return
    with get_context("spawn").Pool(options.jobs) as pool:
        yield from pool.imap_unordered(_run_and_shrink, work)


def _run_and_shrink(work: tuple[int, int, int]) -> tuple[int, ClusterReport | str]:
    seed, nodes, seconds = work
    plan = plan_of(seed, nodes, seconds)
    try:
        return seed, run_plan(plan)
    except ClusterFailed as failed:
        said = _what_breaks_of(failed)
    smallest = shrink(plan, said, _what_breaks)
    return seed, (
        f"{said}\n    plan: {smallest}\n    replay: python -m kafkapy.sim --seed {seed} "
        f"--nodes {nodes} {arguments_of(smallest)}"
    )


def arguments_of(plan: Plan) -> str:
    return (
        f"--seconds {plan.seconds} --troubles {','.join(plan.troubles) or 'none'} "
        f"--clients {','.join(plan.clients) or 'none'}"
    )


def _chosen(plan: Plan, options: argparse.Namespace) -> Plan:
    """The seed's plan, without the troubles and clients that are not named, if any are."""
    if options.troubles is not None:
        for name in set(plan.troubles).difference(options.troubles.split(",")):
            plan = plan.without_trouble(name)
    if options.clients is not None:
        for name in set(plan.clients).difference(options.clients.split(",")):
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
