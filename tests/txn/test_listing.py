"""Describing and listing transactions."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.step import Step
from kafkapy.txn.events import (
    DescribeTransaction,
    ListTransactions,
    TransactionDescribed,
    TransactionsListed,
)
from kafkapy.txn.listing import decide_describe, decide_list
from tests.txn.samples import A0, ID, NOW, PID, S, transaction

ALL = [
    transaction(S.EMPTY, transactional_id="idle"),
    transaction(S.ONGOING, transactional_id="open", started_ms=NOW - 500),
    transaction(S.COMPLETE_ABORT, transactional_id="done", producer_id=7, started_ms=NOW - 501),
]


def test_a_transaction_is_described_with_what_it_still_holds() -> None:
    step = decide_describe(DescribeTransaction(ID), transaction(S.ONGOING))
    assert step.reply == TransactionDescribed(
        ErrorCode.NONE, ID, "Ongoing", 60_000, 900_000, PID, 5, frozenset({A0})
    )


def test_an_unknown_id_and_no_id_are_told_apart() -> None:
    unknown = TransactionDescribed(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ID)
    assert decide_describe(DescribeTransaction(ID), None) == Step(reply=unknown)
    empty = TransactionDescribed(ErrorCode.INVALID_REQUEST, "")
    assert decide_describe(DescribeTransaction(""), None) == Step(reply=empty)


@pytest.mark.parametrize(
    ("event", "ids"),
    [
        (ListTransactions(), ["idle", "open", "done"]),
        (ListTransactions(states=frozenset({S.ONGOING})), ["open"]),
        (ListTransactions(states=frozenset()), []),
        (ListTransactions(producer_ids=frozenset({7, 8})), ["done"]),
        (ListTransactions(longer_than_ms=500), ["idle", "done"]),
        (ListTransactions(longer_than_ms=0), ["idle", "open", "done"]),
    ],
)
def test_filters_let_through_what_matches_all_of_them(
    event: ListTransactions, ids: list[str]
) -> None:
    reply = decide_list(event, ALL, NOW).reply
    assert isinstance(reply, TransactionsListed)
    assert [one.transactional_id for one in reply.transactions] == ids
