"""Precommitted read (G1b): a read_committed consumer got a record whose transaction had not
even asked to be committed when the poll was over. Reading one's own transaction counts.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, History, Outcome, all_polls, writers


def check(history: History) -> Iterator[Anomaly]:
    wrote = writers(history)
    for by, poll in all_polls(history, committed_only=True):
        for read in poll.reads:
            writer = wrote.get((poll.partition, read.value))
            if writer is None or not writer.is_transaction or writer.outcome is Outcome.FAIL:
                continue  # what was never committed is another checker's: aborted_read
            if writer is by or by.completed < writer.commit_invoked:
                yield Anomaly(
                    "precommitted read",
                    f"{by} read {read.value!r} at {poll.partition}@{read.offset} "
                    f"before {writer} asked to commit it",
                    (by, writer),
                )
