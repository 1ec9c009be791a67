"""Who and what a command is about: coordinators, brokers, partitions by name."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from kafkapy.cli.client import Client, NoAnswer, address_of, check
from kafkapy.cli.main import Failed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey

# Key types of FindCoordinator, and what a person calls them.
GROUP: Final = 0
TRANSACTION: Final = 1
_NAMES: Final = {GROUP: "group", TRANSACTION: "transactional id"}

#: Exit code of a list in which what some brokers have is missing. (1: failed, 2: misused.)
PARTIAL: Final = 3

_ATTEMPTS: Final = 25
_PAUSE_SECONDS: Final = 0.2


def coordinator(server: str, key_type: int, key: str) -> Client:
    """A client of the broker that coordinates it. The first question of all makes the
    cluster create the topic that these live in, which takes a moment."""
    asked = {"key_type": key_type, "coordinator_keys": [key]}
    with Client(server) as client:
        for _ in range(_ATTEMPTS):
            found = client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators[0]
            if found.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                break
            time.sleep(_PAUSE_SECONDS)
    about = f"coordinator of {_NAMES[key_type]} {key}"
    check(found.error_code, about, found.error_message or None)
    return Client(address_of(found))


def each_broker(server: str) -> Iterator[tuple[int, Client]]:
    """Every broker of the cluster in turn, by its id; NoAnswer from the first that gives none: for
    what may be done only if all have answered."""
    with Client(server) as client:
        brokers = sorted(client.metadata([]).brokers, key=lambda one: one.node_id)
    for one in brokers:
        with Client(address_of(one)) as client:
            yield one.node_id, client


def list_of_each(server: str, ask: Callable[[int, Client], None]) -> list[str]:
    """Ask every broker for its part of a list: why those that did not answer did not, in words.
    NoAnswer if nobody did; Failed if one refused what all are asked for."""
    with Client(server) as client:
        brokers = sorted(client.metadata([]).brokers, key=lambda one: one.node_id)
    missing = []
    for one in brokers:
        try:
            with Client(address_of(one)) as client:
                ask(one.node_id, client)
        except NoAnswer as failed:
            missing.append(f"broker {one.node_id}: {failed}")
    if len(missing) == len(brokers):
        raise NoAnswer("; ".join(missing))
    return missing


def exit_code(missing: list[str]) -> int:
    """Of a list that has been shown, after what is to be said of its gaps."""
    for why in missing:
        print(f"kafkapy: {why}", file=sys.stderr)
    if missing:
        print("kafkapy: what these brokers have is not in the list", file=sys.stderr)
    return PARTIAL if missing else 0


def chosen_partitions(client: Client, given: list[str]) -> set[tuple[str, int]]:
    """What `--topic NAME[:0,1]`, given any number of times, names."""
    wanted = set()
    for one in given:
        topic, _, listed = one.partition(":")
        existing = client.partitions(topic)
        chosen = existing
        if listed:
            if not all(number.strip().isdecimal() for number in listed.split(",")):
                raise Failed(f"--topic {one}: expected NAME:0,1,2")
            chosen = [int(number) for number in listed.split(",")]
        missing = sorted(set(chosen) - set(existing))
        if missing:
            raise Failed(f"topic {topic} has no partition {missing[0]}")
        wanted |= {(topic, partition) for partition in chosen}
    return wanted
