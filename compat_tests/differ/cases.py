"""The table of cases: what is asked, of which API. Each runs at every version served."""

from collections.abc import Callable
from typing import NamedTuple

from compat_tests.advertised import BROKER_VERSIONS
from compat_tests.differ.side import Side
from kafkapy.protocol.api_keys import ApiKey


class Case(NamedTuple):
    """`play` asks; what the server answers is what is compared."""

    name: str
    area: str
    api_key: ApiKey
    play: Callable[[Side], None]
    versions: tuple[int, ...]


CASES: list[Case] = []


def case(
    area: str, api_key: ApiKey, *, since: int = 0, until: int = 99
) -> Callable[[Callable[[Side], None]], Callable[[Side], None]]:
    """Put a function into the table, for all versions of its API or a range of them."""

    def add(play: Callable[[Side], None]) -> Callable[[Side], None]:
        versions = versions_of(api_key, since=since, until=until)
        name = play.__name__.replace("_", " ")
        CASES.append(Case(name, area, api_key, play, versions))
        return play

    return add


def versions_of(api_key: ApiKey, *, since: int = 0, until: int = 99) -> tuple[int, ...]:
    """Those that brokers serve of a range."""
    lowest, highest = BROKER_VERSIONS[api_key]
    if api_key == ApiKey.PRODUCE:
        lowest = 3  # 0 to 2 are advertised and refused
    return tuple(range(max(lowest, since), min(highest, until) + 1))
