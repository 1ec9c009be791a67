"""`kafkapy decommission NODE`: a broker gives away all it holds, and is forgotten.

    1  can it work?     too few brokers for some topic, a voter that cannot leave: refused
    2  cordon           cordoned.log.dirs=*: nothing new is placed on it meanwhile
    3  move             every replica to another broker, and nothing else (plan.py)
    4  vote no more     where it is one of the voters (KIP-853)
    5  stop             by whoever runs it: this command waits until it is gone
    6  forget           it is unregistered

Each step looks at what there is: the same command, given again, goes on where the last one was
interrupted. A broker that is dead already is emptied from the other replicas.
"""

import argparse
import time
from typing import Any, Final

from kafkapy.cli.arguments import INT32, add_bootstrap_server, size_argument
from kafkapy.cli.client import Client, check
from kafkapy.cli.cluster.features import read_features
from kafkapy.cli.cluster.layout import Broker, Layout, read_brokers, read_layout
from kafkapy.cli.cluster.moving import Change, carry_out, changes
from kafkapy.cli.cluster.plan import Impossible, planned
from kafkapy.cli.cluster.reassign import tell_plan, told
from kafkapy.cli.cluster.throttle import alter_broker, alter_broker_through
from kafkapy.cli.cluster.voters import described, directory_of, leader_address, remove_voter
from kafkapy.cli.main import Failed
from kafkapy.kraft.features import KRAFT_VERSION
from kafkapy.protocol.api_keys import ApiKey

_CORDONED: Final = "cordoned.log.dirs"
# New topics may have been placed on it before it was cordoned.
_MOST_ROUNDS: Final = 10
_LOOK_SECONDS: Final = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", type=INT32, metavar="NODE", help="the broker's id")
    add_bootstrap_server(parser)
    parser.add_argument(
        "--throttle", metavar="BYTES", type=size_argument,
        help="a second, of each broker in both directions: 10485760, 10MB",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would move, and why not")
    parser.add_argument(
        "--keep-voter", action="store_true",
        help="it stays a controller that votes; only its broker goes",
    )  # fmt: skip
    parser.add_argument(
        "--no-wait", action="store_true",
        help="end once it holds nothing; when it is stopped, the same command forgets it",
    )  # fmt: skip
    parser.set_defaults(run=_run, json=False)


def _run(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        broker, others = _brokers(client, options.node)
    # Those that stay: the one that goes may be the one that was named.
    with Client(",".join(one.address for one in others)) as client:
        wanted = _planned(read_layout(client), broker)
        votes = not options.keep_voter and _votes(client, broker)
        if options.dry_run:
            tell_plan(read_layout(client), wanted, options)
            return 0
        _cordon(broker)
        _empty(client, broker, options.throttle)
        if votes:
            _leave_quorum(client, broker)
        if options.no_wait and not broker.is_fenced:
            told(f"broker {broker.broker_id} holds nothing: stop it, and give this command again")
            return 0
        _wait_until_stopped(client, broker)
        _forget(client, broker)
    told(f"broker {broker.broker_id} is no part of the cluster any more")
    return 0


def _brokers(client: Client, node_id: int) -> tuple[Broker, list[Broker]]:
    brokers = read_brokers(client)
    if node_id not in brokers:
        there = ", ".join(map(str, sorted(brokers)))
        raise Failed(f"there is no broker {node_id}; there are {there}")
    others = [one for one in brokers.values() if one.broker_id != node_id and not one.is_fenced]
    if not others:
        raise Failed(f"there is no other broker to take over what broker {node_id} holds")
    return brokers[node_id], others


def _planned(layout: Layout, broker: Broker) -> list[Change]:
    """Failed where somebody would have too few replicas, or nothing to fetch them from."""
    leaving = broker.broker_id
    try:
        after = planned(
            layout.placement, layout.site(set(layout.brokers) - {leaving}), evens_out=False
        )
    except Impossible as impossible:
        raise Failed(f"broker {leaving} cannot leave: {impossible}") from None
    wanted = changes(layout.placement, after)
    for one in wanted:
        if layout.leaders[one.where] < 0:
            topic, index = one.where
            raise Failed(
                f"broker {leaving} cannot leave: nobody leads {topic}-{index}, whose replicas are "
                f"on {', '.join(map(str, one.before))}; start one that was in sync first"
            )
    return wanted


def _votes(client: Client, broker: Broker) -> bool:
    """Failed where it votes and cannot stop voting."""
    voters = {int(one.replica_id) for one in _voters(client)}
    if broker.broker_id not in voters:
        return False
    if len(voters) == 1:
        raise Failed(
            f"node {broker.broker_id} is the only voter of the quorum: add another with "
            "`kafkapy quorum add`, or keep it as a controller with --keep-voter"
        )
    if read_features(client)[KRAFT_VERSION].finalized == 0:
        raise Failed(
            f"node {broker.broker_id} votes, and the voters are those of "
            "controller.quorum.voters, which cannot change while nodes run: raise kraft.version "
            "with `kafkapy features upgrade kraft.version=1`, or keep it as a controller with "
            "--keep-voter"
        )
    return True


def _voters(client: Client) -> Any:
    return described(client).topics[0].partitions[0].current_voters


def _cordon(broker: Broker) -> None:
    try:
        alter_broker(broker, {_CORDONED: "*"})
    except Failed as failed:  # from a metadata.version on (KIP-1066)
        told(f"it cannot be cordoned, and new topics may be placed on it meanwhile: {failed}")


def _empty(client: Client, broker: Broker, rate: int | None) -> None:
    for _ in range(_MOST_ROUNDS):
        layout = read_layout(client)
        wanted = _planned(layout, broker)
        if not wanted:
            return
        carry_out(client, layout, wanted, rate=rate, tell=told)
    held = read_layout(client).held(broker.broker_id)
    raise Failed(f"broker {broker.broker_id} is given new replicas again and again: {held[:3]}")


def _leave_quorum(client: Client, broker: Broker) -> None:
    directory = directory_of(None, broker.broker_id, _voters(client), "votes")
    remove_voter(client, broker.broker_id, directory)
    left = len(_voters(client))
    told(f"node {broker.broker_id} votes no more; {left} voters are left")


def _wait_until_stopped(client: Client, broker: Broker) -> None:
    is_told = False
    while True:
        now = read_brokers(client).get(broker.broker_id)
        if now is None or now.is_fenced:
            return
        if not is_told:
            told(f"broker {broker.broker_id} holds nothing any more: stop it now; waiting for that")
            is_told = True
        time.sleep(_LOOK_SECONDS)


def _forget(client: Client, broker: Broker) -> None:
    """Its settings, too: another node may get the id some day."""
    if held := read_layout(client).held(broker.broker_id):
        topic, index = held[0]
        raise Failed(f"broker {broker.broker_id} got {topic}-{index} meanwhile: once more, please")
    try:
        with Client(leader_address(client)) as controller:
            alter_broker_through(controller, broker.broker_id, {_CORDONED: None})
    except Failed as failed:
        told(f"{_CORDONED} of broker {broker.broker_id} stays set: {failed}")
    answer = client.ask(ApiKey.UNREGISTER_BROKER, {"broker_id": broker.broker_id})
    check(answer.error_code, f"broker {broker.broker_id}", answer.error_message)
