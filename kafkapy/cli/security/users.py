"""`kafkapy users`: add, remove, list those who log in by SCRAM.

kafkapy users add alice                         asks for the password
kafkapy users add alice < password.txt          takes a line of it
kafkapy users list
kafkapy users remove alice --mechanism SCRAM-SHA-256 --dry-run

No password is an argument: others on the machine see those. What leaves this process is salted.
"""

import argparse
import getpass
import secrets
import sys
from typing import Any, Final

from kafkapy.cli.arguments import asking, number
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey

_SALT_BYTES: Final = 16
_ITERATIONS: Final = number(scram.MIN_ITERATIONS, scram.MAX_ITERATIONS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    lists = actions.add_parser("list", help="users and their mechanisms", parents=[common])
    lists.add_argument("user", nargs="*", help="of these only")
    lists.set_defaults(run=_list)
    add = actions.add_parser(
        "add", help="add a user, or change the password of one", parents=[common]
    )
    add.add_argument("user")
    _add_mechanism(add, "by which it logs in; may be said twice (default: SCRAM-SHA-512)")
    add.add_argument("--iterations", type=_ITERATIONS, default=scram.MIN_ITERATIONS)
    add.add_argument("--dry-run", action="store_true", help="only show what would be there")
    add.set_defaults(run=_add)
    remove = actions.add_parser("remove", help="a user's credentials", parents=[common])
    remove.add_argument("user")
    _add_mechanism(remove, "of this one only (default: all that it has)")
    remove.add_argument("--dry-run", action="store_true", help="only show what would go")
    remove.set_defaults(run=_remove)


def _add_mechanism(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--mechanism", action="append", choices=[*scram.MECHANISMS], help=about)


def _list(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        show(_known(client, options.user), as_json=options.json, empty="no users")
    return 0


def _add(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.mechanism or [scram.SHA_512.name]))
    wanted = [_row(options.user, scram.MECHANISMS[one], options.iterations) for one in names]
    with Client(options.server) as client:
        if not options.dry_run:
            password = _password(options.user)
            for name in names:  # a user stands in a request once
                upsertion = _upsertion(options.user, name, password, options.iterations)
                _alter(client, options.user, {"deletions": [], "upsertions": [upsertion]})
    show(wanted, as_json=options.json)
    return 0


def _remove(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        rows = _known(client, [options.user])
        if options.mechanism is not None:
            rows = [row for row in rows if row["mechanism"] in options.mechanism]
        if not rows:
            raise Failed(f"{options.user} has no such credential")
        for row in [] if options.dry_run else rows:
            mechanism = scram.MECHANISMS[row["mechanism"]].type
            deletion = {"name": options.user, "mechanism": mechanism}
            _alter(client, options.user, {"deletions": [deletion], "upsertions": []})
    show(rows, as_json=options.json)
    return 0


def _known(client: Client, users: list[str]) -> list[dict[str, Any]]:
    asked = [{"name": one} for one in dict.fromkeys(users)] or None
    answer = client.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": asked})
    check(answer.error_code, "users", answer.error_message)
    # Who is not there has nothing, and that is no mistake.
    found = [one for one in answer.results if one.error_code != ErrorCode.RESOURCE_NOT_FOUND]
    check_all((one.error_code, one.user, one.error_message) for one in found)
    return [
        _row(one.user, scram.BY_TYPE[info.mechanism], info.iterations)
        for one in sorted(found, key=lambda one: str(one.user))
        for info in one.credential_infos
        if info.mechanism in scram.BY_TYPE
    ]


def _row(user: str, mechanism: scram.ScramMechanism, iterations: int) -> dict[str, Any]:
    return {"user": user, "mechanism": mechanism.name, "iterations": iterations}


def _alter(client: Client, user: str, body: dict[str, Any]) -> None:
    answer = client.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, body)
    check_all((one.error_code, user, one.error_message) for one in answer.results)


def _password(user: str) -> str:
    if sys.stdin.isatty():
        password = getpass.getpass(f"password of {user}: ")
        if password != getpass.getpass("once more: "):
            raise Failed("these are two passwords")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise Failed("an empty password lets nobody in; give one on standard input")
    return password


def _upsertion(user: str, name: str, password: str, iterations: int) -> dict[str, Any]:
    mechanism, salt = scram.MECHANISMS[name], secrets.token_bytes(_SALT_BYTES)
    return {
        "name": user,
        "mechanism": mechanism.type,
        "iterations": iterations,
        "salt": salt,
        "salted_password": scram.salted_password(mechanism, password, salt, iterations),
    }
