"""`kafkapy quotas`: describe, alter.

kafkapy quotas describe --user alice
kafkapy quotas alter --user alice --client-id app --set producer-byte-rate=1000000
kafkapy quotas alter --ip-default --set connection-creation-rate=20 --dry-run
"""

import argparse
from typing import Any, Final

from kafkapy.cli.arguments import asking
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.protocol.api_keys import ApiKey

_TYPES: Final = ("user", "client-id", "ip")
_KEYS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
_EXACT, _DEFAULT = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common, entity = asking(), _entity()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    describe = actions.add_parser("describe", help="what is set", parents=[common, entity])
    describe.add_argument(
        "--strict", action="store_true", help="without those that are about more as well"
    )
    describe.set_defaults(run=_describe)
    alter = actions.add_parser("alter", help="set and remove", parents=[common, entity])
    words = ", ".join(one.replace("_", "-") for one in _KEYS)
    alter.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help=f"of {words}"
    )
    alter.add_argument("--remove", action="append", default=[], metavar="KEY")
    alter.add_argument("--dry-run", action="store_true", help="only ask whether it could be")
    alter.set_defaults(run=_alter)


def _entity() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    for kind in _TYPES:
        whose = common.add_mutually_exclusive_group()
        whose.add_argument(f"--{kind}", metavar="NAME", help=f"of this {kind}")
        whose.add_argument(f"--{kind}-default", action="store_true", help=f"of any other {kind}")
    return common


def _named(options: argparse.Namespace) -> list[tuple[str, str | None]]:
    """(type, name), None for the default of a type."""
    named: list[tuple[str, str | None]] = []
    for kind in _TYPES:
        attribute = kind.replace("-", "_")
        if getattr(options, attribute) is not None:
            named.append((kind, getattr(options, attribute)))
        elif getattr(options, f"{attribute}_default"):
            named.append((kind, None))
    return named


def _describe(options: argparse.Namespace) -> int:
    components = [
        {
            "entity_type": kind,
            "match_type": _DEFAULT if name is None else _EXACT,
            "match": name,
        }
        for kind, name in _named(options)
    ]
    with Client(options.server) as client:
        answer = client.ask(
            ApiKey.DESCRIBE_CLIENT_QUOTAS, {"components": components, "strict": options.strict}
        )
    check(answer.error_code, "quotas", answer.error_message)
    rows = []
    for entry in answer.entries or ():
        names = {
            part.entity_type: "(default)" if part.entity_name is None else part.entity_name
            for part in entry.entity
        }
        values = {value.key: value.value for value in entry.values}
        whose = {kind.replace("-", "_"): names.get(kind) for kind in _TYPES}
        rows += [{**whose, "key": key, "value": values[key]} for key in sorted(values)]
    rows.sort(key=lambda row: [str(one or "") for one in row.values()])
    show(rows, as_json=options.json, empty="no quotas")
    return 0


def _alter(options: argparse.Namespace) -> int:
    named = _named(options)
    if not named:
        raise Failed("say whose: --user, --client-id, --ip, or one of their defaults")
    ops: list[dict[str, Any]] = [
        {"key": key, "value": value, "remove": False} for key, value in map(_pair, options.set)
    ]
    ops += [{"key": _key(one), "value": 0.0, "remove": True} for one in options.remove]
    if not ops:
        raise Failed("say what: --set KEY=VALUE or --remove KEY")
    entity = [{"entity_type": kind, "entity_name": name} for kind, name in named]
    body = {"entries": [{"entity": entity, "ops": ops}], "validate_only": options.dry_run}
    with Client(options.server) as client:
        answer = client.ask(ApiKey.ALTER_CLIENT_QUOTAS, body)
    about = ", ".join(f"{kind} {name or '(default)'}" for kind, name in named)
    check_all((one.error_code, about, one.error_message) for one in answer.entries)
    rows = [{"key": op["key"], "value": None if op["remove"] else op["value"]} for op in ops]
    show(rows, as_json=options.json)
    return 0


def _pair(text: str) -> tuple[str, float]:
    key, _, value = text.partition("=")
    try:
        return _key(key), float(value)
    except ValueError:
        raise Failed(f"--set {text}: expected KEY=NUMBER") from None


def _key(text: str) -> str:
    key = text.strip().replace("-", "_")
    if key not in _KEYS:
        raise Failed(f"{text}: expected one of {', '.join(_KEYS)}")
    return key
