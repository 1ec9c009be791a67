"""`kafkapy groups`: list, describe with lag, reset offsets, delete."""

import argparse
from typing import Any, Final

from kafkapy.cli.arguments import asking
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.finding import GROUP, chosen_partitions, coordinator, exit_code, list_of_each
from kafkapy.cli.groups.asking import (
    Described,
    commit_offsets,
    committed_offsets,
    described_group,
    offsets_at,
)
from kafkapy.cli.groups.reset_plan import Target, add_targets, new_offsets, target_of
from kafkapy.cli.groups.share import (
    described_share,
    move_share,
    read_by_share,
    show_share,
    start_offsets,
)
from kafkapy.cli.groups.streams import described_streams
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.protocol.api_keys import ApiKey

_END: Final = -1
_START: Final = -2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    lists = actions.add_parser("list", help="all groups, their kind and state", parents=[common])
    lists.add_argument("--state", help="only these, for example empty,stable")
    lists.add_argument("--type", help="only these, for example classic,consumer")
    lists.set_defaults(run=_list)
    describe = actions.add_parser(
        "describe", help="committed offset, lag and owner of each partition", parents=[common]
    )
    describe.add_argument("group")
    describe.add_argument("--members", action="store_true", help="a line for each member")
    describe.set_defaults(run=_describe)
    reset = actions.add_parser(
        "reset-offsets",
        help="change the offsets of a group without active members",
        parents=[common],
    )
    reset.add_argument("group")
    reset.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME[:0,1]",
        help="these partitions only; may be repeated (default: all that the group has read)",
    )
    add_targets(reset)
    reset.add_argument("--dry-run", action="store_true", help="only show what would change")
    reset.set_defaults(run=_reset)
    delete = actions.add_parser("delete", help="delete groups and their offsets", parents=[common])
    delete.add_argument("group", nargs="+")
    delete.set_defaults(run=_delete)


def _list(options: argparse.Namespace) -> int:
    rows = {}
    asked = {"states_filter": _words(options.state), "types_filter": _words(options.type)}

    def ask(_: int, client: Client) -> None:
        answer = client.ask(ApiKey.LIST_GROUPS, asked)
        check(answer.error_code, "listing groups")
        for one in answer.groups:
            rows[one.group_id] = {
                "group": one.group_id,
                "type": one.group_type,
                "state": one.group_state,
                "protocol": one.protocol_type or None,
            }

    missing = list_of_each(options.server, ask)
    show([rows[name] for name in sorted(rows)], as_json=options.json, empty="no groups")
    return exit_code(missing)


def _describe(options: argparse.Namespace) -> int:
    with coordinator(options.server, GROUP, options.group) as client:
        share = described_share(client, options.group)
        if share is not None:
            return show_share(client, options, share)
        streams = described_streams(client, options.group)
        group = described_group(client, options.group) if streams is None else streams
        committed = committed_offsets(client, options.group)
        ends = offsets_at(client, {*committed, *group.owners}, _END, is_whole=False)
    if options.members:
        show(_member_rows(group), as_json=options.json, empty="no members")
        return 0
    rows = []
    for topic, partition in sorted({*committed, *group.owners}):
        offset = committed.get((topic, partition))
        end = ends.get((topic, partition))
        member = group.owners.get((topic, partition))
        rows.append(
            {
                "topic": topic,
                "partition": partition,
                "committed": offset,
                "end": end,
                "lag": None if offset is None or end is None else max(0, end - offset),
                "member": None if member is None else member.member_id,
                "client": None if member is None else member.client_id,
                "host": None if member is None else member.host,
            }
        )
    if not options.json:
        print(f"{options.group}: {group.kind}, {group.state}, {len(group.members)} members")
    show(rows, as_json=options.json, empty="no offsets")
    return 0


def _member_rows(group: Described) -> list[dict[str, Any]]:
    return [
        {
            "member": member.member_id,
            "client": member.client_id,
            "host": member.host,
            "partitions": [f"{topic}-{partition}" for topic, partition in sorted(owned)],
        }
        for member, owned in group.members
    ]


def _reset(options: argparse.Namespace) -> int:
    target: Target = target_of(options)
    with coordinator(options.server, GROUP, options.group) as client:
        is_share = described_share(client, options.group) is not None
        if is_share:
            read = read_by_share(client, options.group)
            committed, known = start_offsets(read), set(read)
        else:
            committed = committed_offsets(client, options.group)
            known = set(committed)
        wanted = chosen_partitions(client, options.topic) or known
        if not wanted:
            raise Failed(f"group {options.group} has no offsets: name topics with --topic")
        starts = offsets_at(client, wanted, _START)
        ends = offsets_at(client, wanted, _END)
        at_time = {} if target.timestamp is None else offsets_at(client, wanted, target.timestamp)
        chosen = new_offsets(target, wanted, committed, starts, ends, at_time)
        if not options.dry_run:
            move = move_share if is_share else commit_offsets
            move(client, options.group, chosen)
    rows = [
        {"topic": topic, "partition": partition, "from": committed.get(where), "to": chosen[where]}
        for where in sorted(chosen)
        for topic, partition in (where,)
    ]
    show(rows, as_json=options.json)
    if options.dry_run and not options.json:
        print("nothing was changed (--dry-run)")
    return 0


def _delete(options: argparse.Namespace) -> int:
    found = []
    for group in options.group:
        with coordinator(options.server, GROUP, group) as client:
            answer = client.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})
        found.append((answer.results[0].error_code, f"group {group}", None))
    check_all(found)
    return 0


def _words(given: str | None) -> list[str]:
    return [word.strip() for word in given.split(",")] if given else []
