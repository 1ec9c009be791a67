"""`kafkapy topics elect`: who leads.

    kafkapy topics elect                          preferred replicas, wherever another one leads
    kafkapy topics elect orders --partition 3     of one partition
    kafkapy topics elect orders --unclean         whoever is there, where nobody leads

A preferred leader is the first replica, if it is in sync; the controller elects it by itself after
`leader.imbalance.check.interval.seconds`. An unclean one may lack records that were acknowledged:
they are lost, also where they still are, so it is asked of topics by name alone.
"""

import argparse
from collections.abc import Iterable
from typing import Any, Final

from kafkapy.cli.arguments import INT32
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey

_PREFERRED, _UNCLEAN = 0, 1
_TIMEOUT_MS: Final = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", help="default: all topics")
    parser.add_argument(
        "--partition", type=INT32, action="append", metavar="INDEX",
        help="only this one; may be repeated (default: all of the topic)",
    )  # fmt: skip
    parser.add_argument(
        "--unclean", action="store_true",
        help="where no replica in sync is left, elect one that may lack records",
    )  # fmt: skip
    parser.set_defaults(run=_elect)


def _elect(options: argparse.Namespace) -> int:
    if options.topic is None and (options.unclean or options.partition):
        raise Failed("name the topic: only preferred leaders are elected for all of them")
    with Client(options.server) as client:
        body = {
            "election_type": _UNCLEAN if options.unclean else _PREFERRED,
            "topic_partitions": _wanted(client, options),
            "timeout": _TIMEOUT_MS,
        }
        answer = client.ask(ApiKey.ELECT_LEADERS, body)
    check(answer.error_code, "the election")
    results = [
        (result.topic, one)
        for result in answer.replica_election_results
        for one in result.partition_result
    ]
    refused = [
        (one.error_code, f"{topic}-{one.partition_id}", one.error_message)
        for topic, one in results
        if one.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    ]
    elected = _elected(results)
    if elected or not refused:
        show(elected, as_json=options.json, empty="no partition needs an election")
    # The others are led all the same: name every one that is not.
    check_all(refused)
    return 0


def _wanted(client: Client, options: argparse.Namespace) -> list[dict[str, Any]] | None:
    if options.topic is None:
        return None
    partitions = options.partition
    if partitions is None:
        topic = client.metadata([options.topic]).topics[0]
        check(topic.error_code, f"topic {options.topic}")
        partitions = sorted(one.partition_index for one in topic.partitions)
    return [{"topic": options.topic, "partitions": partitions}]


def _elected(results: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "partition": one.partition_id, "elected": "yes"}
        for topic, one in sorted(results, key=lambda each: (each[0], each[1].partition_id))
        if one.error_code == ErrorCode.NONE
    ]
