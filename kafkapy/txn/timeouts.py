"""Transactions that are open for longer than their producer said (formats/transactions 3).

Finding and aborting are two events: aborting may take a new producer id, and what was found
may have ended by itself meanwhile. A transaction whose outcome is decided elsewhere (two
phase commit, KIP-939) never times out.
"""

from collections.abc import Iterable

from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.end import is_timed_out
from kafkapy.txn.events import Fact, Reply, TimedOutFound
from kafkapy.txn.transaction import Transaction


def decide_find(transactions: Iterable[Transaction], wall: Instant) -> Step[Fact, Reply]:
    found = (t.transactional_id for t in transactions if is_timed_out(t, wall))
    return Step(reply=TimedOutFound(tuple(found)))
