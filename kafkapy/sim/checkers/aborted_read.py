"""Aborted read (G1a): a read_committed consumer got what was never to be.

The write's transaction was aborted, or the write was refused for certain.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, History, Outcome, all_polls, writers


def check(history: History) -> Iterator[Anomaly]:
    wrote = writers(history)
    for by, poll in all_polls(history, committed_only=True):
        for read in poll.reads:
            writer = wrote.get((poll.partition, read.value))
            if writer is not None and writer.outcome is Outcome.FAIL:
                yield Anomaly(
                    "aborted read",
                    f"{by} read {read.value!r} at {poll.partition}@{read.offset}, "
                    f"which {writer} had taken back",
                    (by, writer),
                )
