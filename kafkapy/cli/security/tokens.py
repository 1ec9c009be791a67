"""`kafkapy tokens`: create, list, renew, expire delegation tokens.

kafkapy tokens create --renewer User:operator --max-lifetime-ms 3600000
kafkapy tokens list --owner User:alice
kafkapy tokens renew --hmac BASE64 --period-ms 600000
kafkapy tokens expire --hmac BASE64             at once; or --period-ms from now

Whoever asks must have logged in, and not by a token: --command-config. A token's HMAC is its
password: who has it is its owner.
"""

import argparse
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from kafkapy.cli.arguments import INT64_MAX, asking, number, utf8
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.protocol.api_keys import ApiKey

_PERIOD: Final = number(1, INT64_MAX)
_DEFAULT: Final = -1
_AT_ONCE: Final = -1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common, dry = asking(), argparse.ArgumentParser(add_help=False)
    dry.add_argument("--dry-run", action="store_true", help="only show what would be done")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser(
        "create", help="create a token for whoever asks", parents=[common, dry]
    )
    create.add_argument("--owner", type=_principal, help="of somebody else (CREATE_TOKENS)")
    create.add_argument(
        "--renewer", action="append", default=[], type=_principal, help="may renew and end it"
    )
    create.add_argument("--max-lifetime-ms", type=_PERIOD, help="default: the brokers'")
    create.set_defaults(run=_create)
    lists = actions.add_parser("list", help="list the tokens you may see", parents=[common])
    lists.add_argument("--owner", action="append", type=_principal, help="of these only")
    lists.set_defaults(run=_list)
    renew = actions.add_parser("renew", help="make a token valid for longer", parents=[common, dry])
    _add_hmac(renew, "from now on (default: the brokers')")
    renew.set_defaults(run=_renew)
    expire = actions.add_parser("expire", help="end a token", parents=[common, dry])
    _add_hmac(expire, "in that time from now, not at once")
    expire.set_defaults(run=_expire)


def _add_hmac(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--hmac", required=True, type=_hmac, help="as create and list show it")
    parser.add_argument("--period-ms", type=_PERIOD, help=about)


def _create(options: argparse.Namespace) -> int:
    kind, name = (None, None) if options.owner is None else options.owner
    body = {
        "owner_principal_type": kind,
        "owner_principal_name": name,
        "renewers": [_fields(one) for one in options.renewer],
        "max_lifetime": options.max_lifetime_ms or _DEFAULT,
    }
    with Client(options.server) as client:
        if name is not None and client.version(ApiKey.CREATE_DELEGATION_TOKEN) < _WITH_OWNERS:
            raise Failed("the broker makes tokens for nobody but who asks")
        if options.dry_run:
            _tokens(client, None)  # tokens are in use there, and whoever asks may have some
            row: dict[str, Any] = {"owner": "whoever asks" if name is None else f"{kind}:{name}"}
            row |= {"renewers": [":".join(one) for one in options.renewer]}
            row |= {"max_lifetime_ms": options.max_lifetime_ms or "the brokers'"}
            show([row], as_json=options.json)
            return 0
        answer = client.ask(ApiKey.CREATE_DELEGATION_TOKEN, body)
    check(answer.error_code, "token")
    show([_row(answer, options.renewer, as_json=options.json)], as_json=options.json)
    return 0


_WITH_OWNERS: Final = 3


def _list(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        rows = [
            _row(one, _renewers(one), as_json=options.json)
            for one in _tokens(client, options.owner)
        ]
    show(rows, as_json=options.json, empty="no tokens")
    return 0


def _renew(options: argparse.Namespace) -> int:
    body = {"hmac": options.hmac, "renew_period": options.period_ms or _DEFAULT}
    return _change(options, ApiKey.RENEW_DELEGATION_TOKEN, body)


def _expire(options: argparse.Namespace) -> int:
    body = {"hmac": options.hmac, "expiry_time_period": options.period_ms or _AT_ONCE}
    return _change(options, ApiKey.EXPIRE_DELEGATION_TOKEN, body)


def _change(options: argparse.Namespace, api: ApiKey, body: dict[str, Any]) -> int:
    with Client(options.server) as client:
        if options.dry_run:
            found = [one for one in _tokens(client, None) if bytes(one.hmac) == options.hmac]
            if not found:
                raise Failed("there is no such token among those that may be seen")
            rows = [_row(found[0], _renewers(found[0]), as_json=options.json)]
        else:
            answer = client.ask(api, body)
            check(answer.error_code, "token")
            rows = [{"expires": _moment(answer.expiry_timestamp, as_json=options.json)}]
    show(rows, as_json=options.json)
    return 0


def _tokens(client: Client, owners: "list[tuple[str, str]] | None") -> list[Any]:
    asked = None if owners is None else [_fields(one) for one in owners]
    answer = client.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, {"owners": asked})
    check(answer.error_code, "tokens")
    return sorted(answer.tokens, key=lambda one: (one.issue_timestamp, one.token_id))


def _row(token: Any, renewers: Iterable[tuple[str, str]], *, as_json: bool) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "owner": f"{token.principal_type}:{token.principal_name}",
        "renewers": [":".join(one) for one in renewers],
        "issued": _moment(token.issue_timestamp, as_json=as_json),
        "expires": _moment(token.expiry_timestamp, as_json=as_json),
        "max_expires": _moment(token.max_timestamp, as_json=as_json),
        "hmac": b64encode(bytes(token.hmac)).decode(),
    }


def _renewers(token: Any) -> list[tuple[str, str]]:
    return [(one.principal_type, one.principal_name) for one in token.renewers]


def _fields(principal: tuple[str, str]) -> dict[str, str]:
    return {"principal_type": principal[0], "principal_name": principal[1]}


def _moment(at: "int | datetime", *, as_json: bool) -> int | str:
    """Milliseconds for programs, the time of day for people."""
    milliseconds = at if isinstance(at, int) else round(at.timestamp() * 1000)
    if as_json:
        return milliseconds
    shown = datetime.fromtimestamp(min(milliseconds / 1000, _LAST_SECOND), UTC)
    return shown.strftime("%Y-%m-%dT%H:%M:%SZ")


# What a datetime can hold.
_LAST_SECOND: Final = 253_402_300_799


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = utf8(text).partition(":")
    if not colon or not kind or not name:
        raise argparse.ArgumentTypeError(f"{text}: expected a principal, for example User:alice")
    return kind, name


def _hmac(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise argparse.ArgumentTypeError("it is not base64") from None
