"""The states of a transactional id, and which may follow which (formats/transactions 1).

         InitProducerId            partitions added             EndTxn, timeout, fence
    Empty <-----------+   Empty, Complete* ------> Ongoing ------> PrepareCommit, PrepareAbort
      ^               |                                                      |
      +---------------+--- CompleteCommit, CompleteAbort <-------------------+
                                                              every partition has its marker

Protocol v2 (KIP-890) adds one arrow: an abort of nothing goes from Empty or Complete* to
PrepareAbort, because a client that aborts wants its epoch bumped whatever was added.

The numbers are those of `__transaction_state`. Two of Kafka's states exist there in memory
only: Dead (being expired) and PrepareEpochFence (about to be fenced). Our steps need
neither; they keep their names because ListTransactions may filter by them.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """Kafka's word for it in responses and filters."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        """Decided, but not yet known to every partition. Nothing else may happen meanwhile."""
        return self in _PREPARED

    @property
    def is_at_rest(self) -> bool:
        """No transaction is open: a new one may start, and an old id may be forgotten."""
        return self in _AT_REST


_S = TransactionState
_PREPARED: Final = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
_AT_REST: Final = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})

STATES_BY_LABEL: Final[Mapping[str, TransactionState]] = {state.label: state for state in _S}

ALLOWED_BEFORE: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
}
