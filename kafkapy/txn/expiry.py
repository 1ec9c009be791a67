"""Transactional ids that nobody used for transactional.id.expiration.ms are forgotten.

A tombstone is written for each; its producer, if it ever comes back, is told
INVALID_PRODUCER_ID_MAPPING and starts afresh. Nothing open or prepared ever expires.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.events import ExpiredForgotten, Fact, Reply, TransactionForgotten
from kafkapy.txn.transaction import Transaction

# One batch must stay below message.max.bytes (1 MiB) even with long ids, and a step short.
MAX_PER_STEP: Final = 256


def decide_forget(
    transactions: Iterable[Transaction], wall: Instant, expiration_ms: int
) -> Step[Fact, Reply]:
    expired = (
        TransactionForgotten(transaction.transactional_id)
        for transaction in transactions
        if transaction.state.is_at_rest and transaction.updated_ms <= wall - expiration_ms
    )
    found = tuple(islice(expired, MAX_PER_STEP))
    has_more = len(found) == MAX_PER_STEP
    return Step(records=found, reply=ExpiredForgotten(len(found), has_more))
