"""`kafkapy acls`: list, add, remove. The words are those of kafka-acls.

kafkapy acls add --allow User:alice --operation read,describe --topic orders
kafkapy acls add --deny User:* --operation all --topic secret- --prefixed
kafkapy acls list --principal User:alice
kafkapy acls remove --topic orders --dry-run
"""

import argparse
from collections.abc import Iterator
from typing import Any, Final

from kafkapy.cli.arguments import asking
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafkapy.protocol.api_keys import ApiKey

_RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
}
_OPERATIONS: Final = {
    one.name.lower().replace("_", "-"): one for one in Operation if one > Operation.ANY
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    resources = _resources()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    lists = actions.add_parser("list", help="ACLs, all or some", parents=[common, resources])
    _add_filters(lists)
    lists.set_defaults(run=_list)
    add = actions.add_parser("add", help="allow or deny", parents=[common, resources])
    whom = add.add_mutually_exclusive_group(required=True)
    whom.add_argument("--allow", action="append", default=[], metavar="PRINCIPAL")
    whom.add_argument("--deny", action="append", default=[], metavar="PRINCIPAL")
    add.add_argument("--host", action="append", help="from there (default: *)")
    add.add_argument("--operation", action="append", required=True, metavar="WORDS", help=_words())
    add.add_argument("--dry-run", action="store_true", help="only show what would be added")
    add.set_defaults(run=_add)
    remove = actions.add_parser(
        "remove", help="ACLs that match, as list shows them", parents=[common, resources]
    )
    _add_filters(remove)
    remove.add_argument("--all", action="store_true", help="without a filter: every ACL")
    remove.add_argument("--dry-run", action="store_true", help="only show what would be removed")
    remove.set_defaults(run=_remove)


def _resources() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    for name in _RESOURCES:
        option = f"--{name.replace('_', '-')}"
        common.add_argument(option, action="append", default=[], metavar="NAME")
    common.add_argument("--cluster", action="store_true", help="the cluster itself")
    common.add_argument("--prefixed", action="store_true", help="the names are prefixes")
    return common


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--principal", help="of this one only")
    parser.add_argument("--host", help="from there only")
    parser.add_argument("--operation", metavar="WORD", help=_words())
    parser.add_argument(
        "--matching", action="store_true", help="also those of prefixes and * that cover the name"
    )


def _words() -> str:
    return f"of {', '.join(_OPERATIONS)}; several with commas"


def _list(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        show(_found(client, options), as_json=options.json, empty="no ACLs")
    return 0


def _add(options: argparse.Namespace) -> int:
    permission = Permission.ALLOW if options.allow else Permission.DENY
    pattern = PatternType.PREFIXED if options.prefixed else PatternType.LITERAL
    creations = [
        {
            "resource_type": resource,
            "resource_name": name,
            "resource_pattern_type": PatternType.LITERAL if name == CLUSTER_NAME else pattern,
            "principal": principal,
            "host": host,
            "operation": operation,
            "permission_type": permission,
        }
        for resource, name in _named(options)
        for principal in options.allow or options.deny
        for host in options.host or ["*"]
        for word in options.operation
        for operation in _operations(word)
    ]
    if not creations:
        raise Failed("name a resource: --topic, --group, --transactional-id, --cluster ...")
    rows = [_row(one, one, one["resource_pattern_type"]) for one in creations]
    if not options.dry_run:
        with Client(options.server) as client:
            answer = client.ask(ApiKey.CREATE_ACLS, {"creations": creations})
        check_all(
            (one.error_code, f"{row['resource']} {row['name']}", one.error_message)
            for one, row in zip(answer.results, rows, strict=True)
        )
    show(rows, as_json=options.json)
    return 0


def _remove(options: argparse.Namespace) -> int:
    filters = list(_filters(options))
    is_any = not any((*_named(options), options.principal, options.host, options.operation))
    if is_any and not options.all:
        raise Failed("that would remove every ACL; say --all if that is meant")
    with Client(options.server) as client:
        if options.dry_run:
            rows = _found(client, options)
        else:
            answer = client.ask(ApiKey.DELETE_ACLS, {"filters": filters})
            check_all((one.error_code, "ACLs", one.error_message) for one in answer.filter_results)
            matching = [acl for one in answer.filter_results for acl in one.matching_acls]
            rows = _unique(_row_of(one, one, one.pattern_type) for one in matching)
    show(rows, as_json=options.json, empty="no ACLs")
    return 0


def _found(client: Client, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for wanted in _filters(options):
        answer = client.ask(ApiKey.DESCRIBE_ACLS, wanted)
        check(answer.error_code, "ACLs", answer.error_message)
        for resource in answer.resources:
            rows += [_row_of(resource, acl, resource.pattern_type) for acl in resource.acls]
    return _unique(rows)


def _filters(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    pattern = PatternType.ANY
    if options.matching:
        pattern = PatternType.MATCH
    elif options.prefixed:
        pattern = PatternType.PREFIXED
    operation = Operation.ANY
    if options.operation:
        (operation,) = _operations(options.operation)
    anything: list[tuple[ResourceType, str | None]] = [(ResourceType.ANY, None)]
    for resource, name in [*_named(options)] or anything:
        yield {
            "resource_type_filter": resource,
            "resource_name_filter": name,
            "pattern_type_filter": pattern,
            "principal_filter": options.principal,
            "host_filter": options.host,
            "operation": operation,
            "permission_type": Permission.ANY,
        }


def _named(options: argparse.Namespace) -> list[tuple[ResourceType, str]]:
    named = [(kind, one) for name, kind in _RESOURCES.items() for one in getattr(options, name)]
    return [*named, (ResourceType.CLUSTER, CLUSTER_NAME)] if options.cluster else named


def _operations(words: str) -> list[Operation]:
    found = []
    for word in words.lower().replace("_", "-").split(","):
        if word.strip() not in _OPERATIONS:
            raise Failed(f"--operation {word}: expected one {_words()}")
        found.append(_OPERATIONS[word.strip()])
    return found


def _row_of(resource: Any, entry: Any, pattern: int) -> dict[str, Any]:
    fields = ("resource_type", "resource_name")
    about = {name: getattr(resource, name) for name in fields}
    names = ("principal", "host", "operation", "permission_type")
    return _row(about, {name: getattr(entry, name) for name in names}, pattern)


def _row(about: dict[str, Any], entry: dict[str, Any], pattern: int) -> dict[str, Any]:
    return {
        "resource": _word(ResourceType, about["resource_type"]),
        "pattern": _word(PatternType, pattern),
        "name": about["resource_name"],
        "principal": entry["principal"],
        "host": entry["host"],
        "operation": _word(Operation, entry["operation"]),
        "permission": _word(Permission, entry["permission_type"]),
    }


def _word(kind: Any, number: int) -> str:
    """A newer broker may know more."""
    try:
        return str(kind(int(number)).name).lower().replace("_", "-")
    except ValueError:
        return str(int(number))


def _unique(rows: Any) -> list[dict[str, Any]]:
    found = {tuple(row.values()): row for row in rows}
    return [found[key] for key in sorted(found)]
