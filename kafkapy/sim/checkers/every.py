"""All checkers by name, and one call for them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kafkapy.sim.checkers import (
    aborted_read,
    cycles,
    duplicate,
    inconsistent_offsets,
    lost_write,
    nonmonotonic_poll,
    nonmonotonic_send,
    precommitted_read,
    torn_transaction,
)
from kafkapy.sim.checkers.history import Anomaly, History

ALL: Final[Mapping[str, Callable[[History], Iterator[Anomaly]]]] = {
    "aborted read": aborted_read.check,
    "precommitted read": precommitted_read.check,
    "lost write": lost_write.check,
    "torn transaction": torn_transaction.check,
    "duplicate": duplicate.check,
    "inconsistent offsets": inconsistent_offsets.check,
    "nonmonotonic poll": nonmonotonic_poll.check,
    "nonmonotonic send": nonmonotonic_send.check,
    "cycle": cycles.check,
}


def check(history: History) -> list[Anomaly]:
    """What must not have happened and did; an empty list is a right history."""
    return [anomaly for one in ALL.values() for anomaly in one(history)]
