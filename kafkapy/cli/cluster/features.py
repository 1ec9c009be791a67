"""`kafkapy features`: what the cluster has agreed on, and raising it after an upgrade.

    kafkapy features show                          levels in force, and what a broker knows
    kafkapy features upgrade                       all to what is new in the newest release
    kafkapy features upgrade metadata.version=4.2  one of them, to a level or a release's
    kafkapy features downgrade metadata.version=4.2-IV1

Nodes of two versions work together at a level that both know; after the last node was upgraded
the level is raised, and what needs it begins. kraft.version is raised only by name: nothing
lowers it again. What kafka-features does (KIP-584, KIP-1022).
"""

import argparse
from typing import Any, Final, NamedTuple

from kafkapy.cli.arguments import INT16_MAX, asking
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.kraft.features import (
    METADATA_VERSION,
    default_levels,
    metadata_version_level,
    metadata_version_name,
)
from kafkapy.protocol.api_keys import ApiKey

_TIMEOUT_MS: Final = 60_000
_UPGRADE, _SAFE_DOWNGRADE = 1, 2


class Feature(NamedTuple):
    """The level in force, 0 if none is; what the broker that was asked supports."""

    finalized: int
    least: int
    most: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser(
        "show", help="show the levels in force and those supported", parents=[common]
    )
    listed.set_defaults(run=_show)
    for name, about, wanted, run in (
        ("upgrade", "raise levels", "*", _upgrade),
        ("downgrade", "lower levels, where no metadata is lost by it", "+", _downgrade),
    ):
        one = actions.add_parser(name, help=about, parents=[common])
        one.add_argument(
            "features", nargs=wanted, metavar="FEATURE=LEVEL",
            help="metadata.version=4.3-IV0, transaction.version=2"
            + ("; default: all, to the newest this version knows" if wanted == "*" else ""),
        )  # fmt: skip
        one.add_argument("--dry-run", action="store_true", help="ask whether it could be done")
        one.set_defaults(run=run)


def read_features(client: Client) -> dict[str, Feature]:
    about = {"client_software_name": "kafkapy", "client_software_version": "0"}
    answer = client.ask(ApiKey.API_VERSIONS, about)
    check(answer.error_code, "the broker's versions")
    levels = {str(one.name): int(one.max_version_level) for one in answer.finalized_features}
    return {
        str(one.name): Feature(
            levels.get(str(one.name), 0), int(one.min_version), int(one.max_version)
        )
        for one in sorted(answer.supported_features, key=lambda one: str(one.name))
    }


def _show(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        found = read_features(client)
    rows = [
        {
            "feature": name,
            "finalized": _shown(name, one.finalized),
            "least": _shown(name, one.least),
            "most": _shown(name, one.most),
        }
        for name, one in found.items()
    ]
    show(rows, as_json=options.json)
    return 0


def _upgrade(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        found = read_features(client)
        wanted = _levels(options.features, found) if options.features else _newest(found)
        higher = {name: level for name, level in wanted.items() if level > found[name].finalized}
        return _change(client, found, higher, _UPGRADE, options)


def _downgrade(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        found = read_features(client)
        wanted = _levels(options.features, found)
        lower = {name: level for name, level in wanted.items() if level < found[name].finalized}
        return _change(client, found, lower, _SAFE_DOWNGRADE, options)


def _newest(found: dict[str, Feature]) -> dict[str, int]:
    levels = default_levels(found[METADATA_VERSION].most)
    return {name: level for name, level in levels.items() if name in found}


def _levels(given: list[str], found: dict[str, Feature]) -> dict[str, int]:
    levels = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals:
            raise Failed(f"{one}: expected FEATURE=LEVEL, for example transaction.version=2")
        if name not in found:
            raise Failed(f"there is no feature {name}; there are {', '.join(found)}")
        level = _level(name, text)
        if level is None or level > INT16_MAX:
            raise Failed(f"{one}: {text!r} is no level of {name}")
        levels[name] = level
    return levels


def _level(name: str, text: str) -> int | None:
    if text.isascii() and text.isdecimal():
        return int(text)
    return metadata_version_level(text) if name == METADATA_VERSION else None


def _change(
    client: Client,
    found: dict[str, Feature],
    wanted: dict[str, int],
    kind: int,
    options: argparse.Namespace,
) -> int:
    """All of them, or none."""
    if wanted:
        updates = [
            {"feature": name, "max_version_level": level, "upgrade_type": kind}
            for name, level in wanted.items()
        ]
        answer = client.ask(ApiKey.UPDATE_FEATURES, _asked(updates, options.dry_run))
        check(answer.error_code, ", ".join(wanted), answer.error_message)
    rows = [
        {
            "feature": name,
            "was": _shown(name, found[name].finalized),
            "could be" if options.dry_run else "is": _shown(name, level),
        }
        for name, level in wanted.items()
    ]
    show(rows, as_json=options.json, empty="nothing to change")
    return 0


def _asked(updates: list[dict[str, Any]], validate_only: bool) -> dict[str, Any]:
    return {"timeout": _TIMEOUT_MS, "feature_updates": updates, "validate_only": validate_only}


def _shown(name: str, level: int) -> str:
    return metadata_version_name(level) if name == METADATA_VERSION else str(level)
