"""Transactions that are open in a partition and nowhere else, and the marker that ends one.

DescribeProducers, every partition -> open for longer than any transaction may be
ListTransactions by producer id    -> whose it is, if anybody's
DescribeTransactions               -> does its coordinator know of the partition?
                                      no: nobody will end it. It hangs.
"""

import argparse
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from kafkapy.cli.arguments import INT32, INT64, INT64_MAX, number
from kafkapy.cli.client import Client, address_of, check
from kafkapy.cli.finding import TRANSACTION, chosen_partitions, coordinator, each_broker
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey

Where = tuple[str, int]

# transaction.max.timeout.ms of a broker that was not told otherwise.
_MAX_TIMEOUT_MS: Final = 900_000


def add_arguments(actions: Any, common: argparse.ArgumentParser) -> None:
    find = actions.add_parser(
        "find-hanging", help="open transactions that no coordinator will end", parents=[common]
    )
    find.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME[:0,1]",
        help="look here only; may be repeated (default: everywhere)",
    )
    find.add_argument(
        "--max-timeout-ms",
        type=number(0, INT64_MAX),
        default=_MAX_TIMEOUT_MS,
        metavar="MS",
        help="the brokers' transaction.max.timeout.ms: what was written to since may be slow "
        "and not hanging (default %(default)s)",
    )
    find.set_defaults(run=_find)


def add_abort_arguments(abort: argparse.ArgumentParser) -> None:
    abort.add_argument("--topic", metavar="NAME", help="of a hanging transaction")
    abort.add_argument("--partition", type=INT32, metavar="P")
    abort.add_argument("--start-offset", type=INT64, metavar="N", help="as find-hanging shows it")


def _find(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        wanted = chosen_partitions(client, options.topic) or _all_partitions(client)
    late_before = int(datetime.now(UTC).timestamp() * 1000) - options.max_timeout_ms
    late = [
        (where, one)
        for where, found in sorted(producers(options.server, wanted).items())
        for one in found
        if one.current_txn_start_offset >= 0 and one.last_timestamp < late_before
    ]
    owners = _owners(options.server, {one.producer_id for _, one in late})
    known = {name: _partitions_of(options.server, name) for name in sorted(set(owners.values()))}
    rows = [
        {
            "topic": topic,
            "partition": partition,
            "start_offset": one.current_txn_start_offset,
            "producer": one.producer_id,
            "epoch": one.producer_epoch,
            "last_write": moment(one.last_timestamp),
            "id": owners.get(one.producer_id),
        }
        for (topic, partition), one in late
        if (topic, partition) not in known.get(owners.get(one.producer_id, ""), ())
    ]
    show(rows, as_json=options.json, empty="no transaction hangs")
    return 0


def abort(options: argparse.Namespace) -> int:
    """`abort` without an id: one partition gets the marker that nobody else will write."""
    if None in (options.topic, options.partition, options.start_offset):
        raise Failed("abort needs an id, or --topic, --partition and --start-offset")
    where = (options.topic, options.partition)
    with Client(options.server) as client:
        chosen_partitions(client, [f"{options.topic}:{options.partition}"])
    name = f"{options.topic}-{options.partition}"
    for one in producers(options.server, {where})[where]:
        if one.current_txn_start_offset == options.start_offset:
            break
    else:
        raise Failed(f"{name}: no open transaction starts at {options.start_offset}")
    marker = {
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "transaction_result": False,
        "topics": [{"name": options.topic, "partition_indexes": [options.partition]}],
        "coordinator_epoch": max(0, one.coordinator_epoch),
    }
    with _leader(options.server, where) as client:
        answer = client.ask(ApiKey.WRITE_TXN_MARKERS, {"markers": [marker]})
    check(answer.markers[0].topics[0].partitions[0].error_code, name)
    row = {"aborted": name, "start_offset": options.start_offset, "producer": one.producer_id}
    if options.json:
        show([row], as_json=True)
    else:
        print(f"aborted the transaction in {name} that started at {options.start_offset}")
    return 0


def producers(server: str, wanted: set[Where]) -> dict[Where, tuple[Any, ...]]:
    """The active producers of each partition, from the leader of each; none without one."""
    by_leader: dict[str, list[Where]] = {}
    if wanted:
        with Client(server) as client:
            by_leader = _by_leader(client, wanted)
    found: dict[Where, tuple[Any, ...]] = dict.fromkeys(wanted, ())
    for address, theirs in by_leader.items():
        with Client(address) as client:
            answer = client.ask(ApiKey.DESCRIBE_PRODUCERS, {"topics": _topics(theirs)})
        for topic in answer.topics:
            for one in topic.partitions:
                about = f"{topic.name}-{one.partition_index}"
                check(one.error_code, about, one.error_message)
                found[topic.name, one.partition_index] = tuple(one.active_producers)
    return found


def moment(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _all_partitions(client: Client) -> set[Where]:
    return {
        (topic.name, one.partition_index)
        for topic in client.metadata(None).topics
        for one in topic.partitions
    }


def _owners(server: str, producer_ids: set[int]) -> dict[int, str]:
    """Transactional ids by the producer ids that are theirs now."""
    if not producer_ids:
        return {}
    asked = {
        "state_filters": [],
        "producer_id_filters": sorted(producer_ids),
        "duration_filter": -1,
        "transactional_id_pattern": None,
    }
    owners = {}
    for _, client in each_broker(server):
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, asked)
        check(answer.error_code, "listing transactions")
        owners.update({one.producer_id: one.transactional_id for one in answer.transaction_states})
    return owners


def _partitions_of(server: str, transactional_id: str) -> set[Where]:
    """Where the coordinator will write markers, now or when it gets to it."""
    with coordinator(server, TRANSACTION, transactional_id) as client:
        asked = {"transactional_ids": [transactional_id]}
        found = client.ask(ApiKey.DESCRIBE_TRANSACTIONS, asked).transaction_states[0]
    if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return set()  # forgotten since it was listed
    check(found.error_code, f"transactional id {transactional_id}")
    return {(topic.topic, one) for topic in found.topics for one in topic.partitions}


def _leader(server: str, where: Where) -> Client:
    with Client(server) as client:
        found = _by_leader(client, {where})
    if not found:
        raise Failed(f"{where[0]}-{where[1]} has no leader now")
    (address,) = found
    return Client(address)


def _by_leader(client: Client, wanted: set[Where]) -> dict[str, list[Where]]:
    metadata = client.metadata(sorted({topic for topic, _ in wanted}))
    addresses = {one.node_id: address_of(one) for one in metadata.brokers}
    found: dict[str, list[Where]] = {}
    for topic in metadata.topics:
        for one in topic.partitions:
            where = (topic.name, one.partition_index)
            if where in wanted and one.leader_id in addresses:
                found.setdefault(addresses[one.leader_id], []).append(where)
    return found


def _topics(partitions: Iterable[Where]) -> list[dict[str, Any]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]
