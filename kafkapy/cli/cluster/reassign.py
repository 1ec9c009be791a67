"""`kafkapy reassign`: replicas move to where they should be.

    kafkapy reassign plan                          what would be moved so that all is even
    kafkapy reassign plan --away-from 3 --to FILE  the same as JSON, which Kafka's tool takes too
    kafkapy reassign run FILE --throttle 50MB      carry it out, and tell how far it is
    kafkapy reassign show                          what moves right now, whoever asked for it
    kafkapy reassign verify FILE                   is all where it should be? lifts throttles
    kafkapy reassign cancel                        leave what has not arrived where it was

`run` without a file plans by itself. The plan moves as few replicas as it can, keeps partitions
spread over racks and leaders as even as replicas (plan.py); it counts replicas, not bytes.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from kafkapy.cli.arguments import INT32, asking, file_name, number, size_argument
from kafkapy.cli.client import Client
from kafkapy.cli.cluster.layout import Layout, read_layout, read_moving
from kafkapy.cli.cluster.moving import (
    Change,
    behind,
    cancel,
    carry_out,
    changes,
    finish,
    size,
)
from kafkapy.cli.cluster.plan import Impossible, Placement, planned
from kafkapy.cli.cluster.plan_file import as_text, read_plan
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show

_MOST_REPLICAS: Final = 2**15 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    common, choice = asking(), _choice()
    plan = actions.add_parser("plan", help="show what would be moved", parents=[common, choice])
    plan.add_argument(
        "--to", type=file_name, metavar="FILE", help="write the plan there, for run and verify"
    )
    plan.set_defaults(run=_plan)
    run = actions.add_parser("run", help="move it, and show the progress", parents=[common, choice])
    run.add_argument(
        "file", nargs="?", type=file_name, metavar="FILE", help="a plan (default: one is made now)"
    )
    run.add_argument("--dry-run", action="store_true", help="show the plan, and move nothing")
    run.add_argument(
        "--throttle", metavar="BYTES", type=size_argument,
        help="a second, of each broker in both directions: 10485760, 10MB",
    )  # fmt: skip
    run.add_argument("--no-wait", action="store_true", help="only start it; `verify` finishes it")
    run.set_defaults(run=_run)
    listed = actions.add_parser("show", help="show what is being moved now", parents=[common])
    listed.set_defaults(run=_show)
    verify = actions.add_parser(
        "verify", help="check whether it is done; removes throttles if so", parents=[common]
    )
    verify.add_argument(
        "file",
        nargs="?",
        type=file_name,
        metavar="FILE",
        help="a plan (default: look at all that is being moved)",
    )
    verify.set_defaults(run=_verify)
    stop = actions.add_parser("cancel", help="stop moves and remove throttles", parents=[common])
    stop.add_argument(
        "file", nargs="?", type=file_name, metavar="FILE", help="only the moves it names"
    )
    stop.set_defaults(run=_cancel)


def _choice() -> argparse.ArgumentParser:
    """What a plan is to be about: a parent."""
    choice = argparse.ArgumentParser(add_help=False)
    choice.add_argument(
        "--topic", action="append", metavar="NAME",
        help="only this one; may be repeated (default: all topics)",
    )  # fmt: skip
    choice.add_argument(
        "--away-from", action="append", type=INT32, metavar="BROKER",
        help="move all it holds, and nothing else; may be repeated",
    )  # fmt: skip
    choice.add_argument(
        "--replication-factor", type=number(1, _MOST_REPLICAS), metavar="COUNT",
        help="replicas of each partition of the topics, and nothing else",
    )  # fmt: skip
    return choice


def _plan(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        layout = read_layout(client, options.topic)
    after = _planned(layout, options)
    wanted = changes(layout.placement, after)
    tell_plan(layout, wanted, options)
    if options.to is not None:
        Path(options.to).write_text(as_text({one.where: one.after for one in wanted}))
    return 0


def _planned(layout: Layout, options: argparse.Namespace) -> Placement:
    away, factor = set(options.away_from or ()), options.replication_factor
    layout.site(away)  # Failed if one of them is not there
    if factor is not None and options.topic is None:
        raise Failed("--replication-factor wants a --topic: that of internal topics is their own")
    try:
        return planned(
            layout.placement,
            layout.site(set(layout.brokers) - away),
            factors={} if factor is None else dict.fromkeys(options.topic, factor),
            sizes={where: layout.size(where) for where in layout.placement},
            evens_out=not away and factor is None,
        )
    except Impossible as impossible:
        raise Failed(str(impossible)) from None


def tell_plan(layout: Layout, wanted: list[Change], options: argparse.Namespace) -> None:
    show(
        [_row(layout, one) for one in wanted],
        as_json=options.json,
        empty="nothing to move: every replica is where it should be",
    )
    if wanted and not options.json:
        moves = sum(len(one.adds) for one in wanted)
        total = sum(layout.size(one.where) * len(one.adds) for one in wanted)
        print(f"{moves} replicas move, about {size(total)}; {len(wanted)} partitions change")


def _row(layout: Layout, one: Change) -> dict[str, Any]:
    topic, index = one.where
    return {
        "topic": topic,
        "partition": index,
        "replicas": list(one.before),
        "becomes": list(one.after),
        "gets": one.adds,
        "loses": one.removes,
        "bytes": layout.size(one.where),
    }


def _run(options: argparse.Namespace) -> int:
    if options.file is not None and (
        options.topic or options.away_from or options.replication_factor
    ):
        raise Failed("a plan says all: leave --topic, --away-from and --replication-factor out")
    with Client(options.server) as client:
        if options.file is not None:
            after = read_plan(Path(options.file))
            layout = read_layout(client, {topic for topic, _ in after})
            _check_brokers(layout, after)
        else:
            layout = read_layout(client, options.topic)
            after = _planned(layout, options)
        wanted = changes(layout.placement, after)
        if options.dry_run or not wanted:
            tell_plan(layout, wanted, options)
            return 0
        try:
            carry_out(
                client, layout, wanted,
                rate=options.throttle, tell=told, waits=not options.no_wait,
            )  # fmt: skip
        except KeyboardInterrupt:
            told("what was asked for goes on; `reassign verify` lifts throttles, `cancel` stops it")
            raise
    if options.no_wait:
        print(f"{len(wanted)} partitions are being moved; see: kafkapy reassign show")
        return 0
    tell_plan(layout, wanted, options)
    return 0


def told(line: str) -> None:
    """Of how far it is: not among the rows."""
    print(line, file=sys.stderr, flush=True)


def _check_brokers(layout: Layout, after: Placement) -> None:
    for (topic, index), replicas in after.items():
        for one in replicas:
            if one not in layout.brokers:
                raise Failed(f"the plan gives {topic}-{index} to broker {one}, which is not there")


def _show(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        moving = read_moving(client)
        layout = read_layout(client, {topic for topic, _ in moving}) if moving else None
    rows = []
    for (topic, index), one in sorted(moving.items()):
        assert layout is not None
        where = (topic, index)
        have = {broker: layout.sizes.get((where, broker), 0) for broker in one.replicas}
        most = max((have[broker] for broker in one.replicas if broker not in one.adding), default=0)
        rows.append(
            {
                "topic": topic,
                "partition": index,
                "replicas": list(one.replicas),
                "gets": list(one.adding),
                "loses": list(one.removing),
                "fetched": [have[broker] for broker in one.adding],
                "of": most,
            }
        )
    show(rows, as_json=options.json, empty="nothing is being moved")
    return 0


def _verify(options: argparse.Namespace) -> int:
    """Exit code 1 while something is not where the plan says, or what moved is not there."""
    with Client(options.server) as client:
        moving = read_moving(client)
        if options.file is not None:
            after = read_plan(Path(options.file))
        else:
            after = read_layout(client).placement
        left = behind(client, after)
        if not left:
            finish(client, after, lifts=True)
    rows = [
        {
            "topic": topic,
            "partition": index,
            "replicas": list(replicas),
            "state": "moves"
            if (topic, index) in moving
            else "elsewhere or behind"
            if (topic, index) in left
            else "there",
        }
        for (topic, index), replicas in sorted(after.items())
        if options.file is not None or (topic, index) in left
    ]
    show(rows, as_json=options.json, empty="every replica is where it should be")
    return 1 if left else 0


def _cancel(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        moving = read_moving(client)
        wanted = set(moving) if options.file is None else set(read_plan(Path(options.file)))
        cancel(client, wanted)
    rows = [{"topic": topic, "partition": index} for topic, index in sorted(wanted & set(moving))]
    show(rows, as_json=options.json, empty="nothing is being moved")
    return 0
