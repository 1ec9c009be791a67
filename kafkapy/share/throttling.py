"""Records that failed often are handed out in ever smaller pieces, the last time each alone.

If one record of a batch kills its consumer, the batch comes back whole, and all of it would be
given up with that one. From half of the deliveries on the pieces halve, so that what is sound
gets through before its deliveries are used up.
"""

from kafkapy.share.window import Run


def is_suspect(run: Run, delivery_count_limit: int) -> bool:
    return run.delivery_count >= _threshold(delivery_count_limit)


def deliverable(run: Run, delivery_count_limit: int) -> int:
    """How many records of a suspect run go out together."""
    if run.delivery_count >= delivery_count_limit - 1:
        return 1
    halvings = run.delivery_count - _threshold(delivery_count_limit) + 1
    return max(1, run.count >> halvings)


def _threshold(delivery_count_limit: int) -> int:
    return max(2, (delivery_count_limit + 1) // 2)
