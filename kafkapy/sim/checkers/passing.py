"""Sends that a consumer went past without getting them: the proof that they are not there.

A consumer that started behind the record, or has not come to it yet, says nothing.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from kafkapy.sim.checkers.history import History, Partition, Polled, Sent, all_polls, all_sends


def passed_over(history: History, *, committed_only: bool = False) -> Iterator[tuple[Sent, Polled]]:
    """Each with its witness. Only sends whose offset is known can be passed over."""
    by_partition: dict[Partition, list[tuple[int, int, Sent]]] = defaultdict(list)
    for count, sent in enumerate(all_sends(history)):
        if sent.send.offset is not None:
            by_partition[sent.send.partition].append((sent.send.offset, count, sent))
    for known in by_partition.values():
        known.sort(key=lambda one: one[:2])
    for polled in all_polls(history, committed_only=committed_only):
        poll = polled.poll
        known = by_partition.get(poll.partition, [])
        values = {read.value for read in poll.reads}
        at = bisect_left(known, (poll.position,), key=lambda one: one[:1])
        while at < len(known) and known[at][0] < poll.next_position:
            sent = known[at][2]
            if sent.send.value not in values:
                yield sent, polled
            at += 1
