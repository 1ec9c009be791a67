"""Lost write: acknowledged, and then a consumer went past its offset without getting it.

Only writes known to have happened can be lost: acknowledged, and committed if in a
transaction.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, History, Outcome, Sent
from kafkapy.sim.checkers.passing import passed_over


def check(history: History) -> Iterator[Anomaly]:
    reported: set[Sent] = set()
    for sent, polled in passed_over(history):
        if sent.by.outcome is not Outcome.OK or sent in reported:
            continue
        reported.add(sent)
        send, poll = sent.send, polled.poll
        yield Anomaly(
            "lost write",
            f"{sent.by} wrote {send.value!r} to {send.partition}@{send.offset}; "
            f"{polled.by} went from {poll.position} to {poll.next_position} without it",
            (sent.by, polled.by),
        )
