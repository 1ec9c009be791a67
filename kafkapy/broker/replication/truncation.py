"""Where a follower cuts its log when the leader says that the two have parted.

The leader answers a fetch that does not continue its own log with (epoch, end offset): the
newest epoch not above the follower's last one that it knows, and where that ended there. What
the follower has beyond that is not part of the leader's history, committed or not. Never the
high watermark: it lags behind, and truncating to it loses what was acknowledged (KIP-101,
KIP-279, KIP-595). formats/replication 4.
"""

from kafkapy.log.partition_log import PartitionLog


def truncation_offset(log: PartitionLog, epoch: int, end_offset: int) -> int:
    """Both -1 where the leader knows none of our epochs: then all of it goes. If our log lacks
    the leader's epoch it is cut to where an older one ended, and the next fetch asks again."""
    if end_offset < 0:
        return log.log_start_offset
    own_epoch, own_end = log.end_offset_for_epoch(epoch)
    if own_end < 0 or own_epoch == epoch:
        own_end = min(end_offset, own_end) if own_end >= 0 else end_offset
    return min(own_end, log.log_end_offset)
