"""Aborted transactions as the batches of a segment tell of them: its .txnindex, made anew.

Apache Kafka looks at each index when it opens a log, whatever the recovery point, and recovers the
segment of a bad one (formats/log 11). Here nothing but that index is made anew: what is below the
recovery point is believed.
"""

from collections.abc import Callable, Iterable

from kafkapy.log.producers.producer_state import CompletedTransaction, ProducerStates
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.transaction_index import AbortedTransaction


def rebuild_bad_indexes(
    segments: Iterable[Segment], states_at: Callable[[int], ProducerStates]
) -> int:
    """How many were bad. `states_at`: what the log says of producers at an offset."""
    bad = [one for one in segments if one.has_aborted and not one.is_transaction_index_good()]
    for segment in bad:
        producers = states_at(segment.base_offset)
        aborted = []
        for position, header in segment.headers():
            batch = segment.file.read(position, header.size) if header.is_control else b""
            completed = producers.update(header, batch)
            if completed is not None and completed.is_aborted:
                aborted.append(aborted_by(completed))
        segment.reset_aborted(aborted)
    return len(bad)


def aborted_by(completed: CompletedTransaction) -> AbortedTransaction:
    return AbortedTransaction(
        completed.producer_id,
        completed.first_offset,
        completed.last_offset,
        completed.last_stable_offset,
    )
