"""Exactly once in the simulator: seeds that pass, and mutants that must not.

More seeds: `python -m kafkapy.sim.runs.transactions FIRST COUNT [--power]`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.transactions.coordinator import TransactionCoordinator
from kafkapy.broker.transactions.marker_sender import MarkerSender
from kafkapy.core.errors import ErrorCode
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import ProducerEntry
from kafkapy.sim.runs.transactions import ExactlyOnceRun
from kafkapy.txn.events import PartitionsAdded


@pytest.mark.parametrize("seed", range(1, 3))
def test_nothing_is_torn_lost_or_doubled_when_the_process_is_killed(seed: int) -> None:
    ExactlyOnceRun(seed, deaths=3).go()


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (ExactlyOnceRun(7, deaths=2).go() for _ in range(2))
    assert first.trace.digest() == second.trace.digest()


def forgets_what_was_prepared(patch: pytest.MonkeyPatch) -> None:
    """A coordinator that loads does not look for transactions to finish."""
    watch = TransactionCoordinator._watch
    patch.setattr(
        TransactionCoordinator,
        "_watch",
        lambda self, shard, records: watch(self, shard, records) if records else None,
    )


def leaves_a_partition_out(patch: pytest.MonkeyPatch) -> None:
    """One partition of each transaction gets no marker."""
    dispatch = MarkerSender._dispatch

    def lazy(self: MarkerSender, order: Any, partitions: Any) -> None:
        first, *others = sorted(partitions)
        dispatch(self, order, others)
        order.then(frozenset({first}))

    patch.setattr(MarkerSender, "_dispatch", lazy)


def keeps_no_aborted_index(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionLog, "aborted_transactions", lambda *_: [])


def shows_open_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionLog, "last_stable_offset", property(lambda log: log.high_watermark))


def does_not_know_retries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerEntry, "duplicate_of", lambda *_: None)


def adds_without_writing(patch: pytest.MonkeyPatch) -> None:
    """The coordinator says a partition is in the transaction, and does not remember it."""
    from kafkapy.core.step import Step
    from kafkapy.txn import partitions

    decide = partitions.decide_add

    def forgetful(event: Any, transaction: Any, now: Any) -> Any:
        if transaction is not None and len(transaction.partitions) == 1:
            return Step(reply=PartitionsAdded(ErrorCode.NONE))
        return decide(event, transaction, now)

    patch.setattr(partitions, "decide_add", forgetful)


def acknowledges_and_drops(patch: pytest.MonkeyPatch) -> None:
    """Every tenth batch is acknowledged with the offset of the one before."""
    append = Partition.append
    count = 0

    def losing(self: Partition, records: memoryview, **how: Any) -> Any:
        nonlocal count
        info = append(self, records, **how)
        count += not self.topic_partition.topic.startswith("__")
        return info if count % 10 else info._replace(first_offset=max(0, info.first_offset - 1))

    patch.setattr(Partition, "append", losing)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "mutate",
    [
        forgets_what_was_prepared,
        leaves_a_partition_out,
        keeps_no_aborted_index,
        shows_open_transactions,
        does_not_know_retries,
        adds_without_writing,
        acknowledges_and_drops,
    ],
)
def test_a_broker_with_a_mistake_is_found_out(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        run_seeds(range(1, 6))


def run_seeds(seeds: range) -> None:
    for seed in seeds:
        ExactlyOnceRun(seed, deaths=2).go()
