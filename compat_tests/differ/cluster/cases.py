"""The table of cases that are asked of three nodes, each at every version of its API."""

from collections.abc import Callable
from typing import NamedTuple

from compat_tests.differ.cases import versions_of
from compat_tests.differ.cluster.nodes import Nodes
from kafkapy.protocol.api_keys import ApiKey

Play = Callable[[Nodes], None]


class Case(NamedTuple):
    name: str
    api_key: ApiKey
    play: Play
    versions: tuple[int, ...]


CASES: list[Case] = []


def case(
    api_key: ApiKey, *, since: int = 0, until: int = 99, versions: tuple[int, ...] = ()
) -> Callable[[Play], Play]:
    """Put a function into the table; `versions` are named where brokers do not serve the API."""

    def add(play: Play) -> Play:
        served = versions or versions_of(api_key, since=since, until=until)
        CASES.append(Case(play.__name__.replace("_", " "), api_key, play, served))
        return play

    return add
