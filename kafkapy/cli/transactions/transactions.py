"""`kafkapy transactions`: list, describe, find-hanging, abort (KIP-664).

A transaction that is open too long is aborted by its coordinator. A *hanging* one is open in
a partition while its coordinator knows nothing of it: nobody will ever end it, and readers
at read_committed wait there for ever. `find-hanging` finds those, `abort` ends both kinds:

    abort ID                                     through its coordinator; fences the producer
    abort --topic T --partition P --start-offset N   by a marker into the partition
"""

import argparse
import time
from datetime import UTC, datetime
from typing import Any, Final

from kafkapy.broker.requests.translations import millis
from kafkapy.cli.arguments import INT64, INT64_MAX, asking
from kafkapy.cli.client import Client, check
from kafkapy.cli.finding import TRANSACTION, coordinator, exit_code, list_of_each
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.cli.transactions import hanging
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey

_ONGOING: Final = "Ongoing"
_ATTEMPTS: Final = 100
_PAUSE_SECONDS: Final = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    lists = actions.add_parser("list", help="transactional ids and their state", parents=[common])
    lists.add_argument("--state", help="only these, for example Ongoing,PrepareCommit")
    lists.add_argument("--producer-id", help="only of these producers, for example 4000,4001")
    lists.add_argument(
        "--longer-than-ms", type=INT64, default=-1, help="only those open for longer"
    )
    lists.add_argument("--pattern", help="only ids that match this regular expression (RE2)")
    lists.set_defaults(run=_list)
    describe = actions.add_parser(
        "describe", help="one transactional id and where its transaction is", parents=[common]
    )
    describe.add_argument("id")
    describe.set_defaults(run=_describe)
    hanging.add_arguments(actions, common)
    abort = actions.add_parser("abort", help="abort an open transaction", parents=[common])
    abort.add_argument("id", nargs="?", help="of a transaction that its coordinator knows")
    hanging.add_abort_arguments(abort)
    abort.set_defaults(run=_abort)


def _list(options: argparse.Namespace) -> int:
    asked = {
        "state_filters": _words(options.state),
        "producer_id_filters": _numbers(options.producer_id, "--producer-id"),
        "duration_filter": options.longer_than_ms,
        "transactional_id_pattern": options.pattern,
    }
    rows: list[dict[str, Any]] = []

    def ask(node: int, client: Client) -> None:
        if options.pattern and client.version(ApiKey.LIST_TRANSACTIONS) < 2:
            raise Failed(f"the broker {node} is too old for --pattern")
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, asked)
        check(answer.error_code, "listing transactions")
        if answer.unknown_state_filters:
            raise Failed(f"no such state: {', '.join(answer.unknown_state_filters)}")
        rows.extend(
            {
                "id": one.transactional_id,
                "state": one.transaction_state,
                "producer": one.producer_id,
                "coordinator": node,
            }
            for one in answer.transaction_states
        )

    missing = list_of_each(options.server, ask)
    rows.sort(key=lambda row: str(row["id"]))
    show(rows, as_json=options.json, empty="no transactional ids")
    return exit_code(missing)


def _describe(options: argparse.Namespace) -> int:
    with coordinator(options.server, TRANSACTION, options.id) as client:
        found = _described(client, options.id)
    where = [(topic.topic, one) for topic in found.topics for one in topic.partitions]
    opened = hanging.producers(options.server, set(where))
    rows: list[dict[str, Any]] = []
    for topic, partition in sorted(where):
        mine = [one for one in opened[topic, partition] if one.producer_id == found.producer_id]
        start = mine[0].current_txn_start_offset if mine else -1
        rows.append(
            {
                "topic": topic,
                "partition": partition,
                "start_offset": None if start < 0 else start,
                "last_write": hanging.moment(mine[0].last_timestamp) if start >= 0 else None,
            }
        )
    started = found.transaction_start_time
    is_open = found.transaction_state == _ONGOING
    about = {
        "id": options.id,
        "state": found.transaction_state,
        "producer": found.producer_id,
        "epoch": found.producer_epoch,
        "timeout_ms": millis(found.transaction_timeout),
        "started": started.isoformat(timespec="milliseconds") if is_open else None,
        "open_for_ms": millis(datetime.now(UTC) - started) if is_open else None,
    }
    if options.json:
        show([{**about, "partitions": rows}], as_json=True)
        return 0
    show([about], as_json=False)
    if rows:
        print()
        show(rows, as_json=False)
    return 0


def _abort(options: argparse.Namespace) -> int:
    if options.id is None:
        return hanging.abort(options)
    if options.topic is not None:
        raise Failed("an id or --topic, --partition and --start-offset: not both")
    with coordinator(options.server, TRANSACTION, options.id) as client:
        found = _described(client, options.id)
        if found.transaction_state != _ONGOING:
            state = found.transaction_state
            raise Failed(f"transactional id {options.id}: nothing is open ({state})")
        producer_id, epoch = _fence(client, options.id, millis(found.transaction_timeout))
    row = {"aborted": options.id, "producer": producer_id, "epoch": epoch}
    if options.json:
        show([row], as_json=True)
    else:
        print(f"aborted the transaction of {options.id}; its producer is fenced")
    return 0


def _described(client: Client, transactional_id: str) -> Any:
    asked = {"transactional_ids": [transactional_id]}
    found = client.ask(ApiKey.DESCRIBE_TRANSACTIONS, asked).transaction_states[0]
    check(found.error_code, f"transactional id {transactional_id}")
    return found


def _fence(client: Client, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
    """Take the id over as a new producer would: what is open is aborted, and over when we
    are given an epoch."""
    asked = {
        "transactional_id": transactional_id,
        "transaction_timeout": timeout_ms,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    for _ in range(_ATTEMPTS):
        answer = client.ask(ApiKey.INIT_PRODUCER_ID, asked)
        if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
            break
        time.sleep(_PAUSE_SECONDS)
    check(answer.error_code, f"transactional id {transactional_id}")
    return answer.producer_id, answer.producer_epoch


def _words(given: str | None) -> list[str]:
    return [word.strip() for word in given.split(",")] if given else []


def _numbers(given: str | None, option: str) -> list[int]:
    words = _words(given)
    if not all(word.isascii() and word.isdigit() and int(word) <= INT64_MAX for word in words):
        raise Failed(f"{option} {given}: expected numbers, for example 4000,4001")
    return [int(word) for word in words]
