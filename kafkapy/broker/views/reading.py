"""Reading a view's partition for a Fetch: as of its source, with what the expression lets through.

    who reads                        up to
    consumer, read_uncommitted       the source's high watermark
    consumer, read_committed         its last stable offset, with the aborted transactions below it
    replica                          refused: there is nothing to replicate

Nothing to show is no reason to answer: the fetch waits as it would for an append, and if its time
is up it gets a batch without records that says how far there was nothing.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.fetch.nearer_replicas import NearerReplicas
from kafkapy.broker.fetch.reading import (
    LED_ELSEWHERE,
    READ_COMMITTED,
    Fetched,
    divergence,
    refused_here,
    sent_to,
)
from kafkapy.broker.fetch.sessions import Wanted
from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.kraft.views import IsView
from kafkapy.protocol.handwritten.fetch_request import FetchRequestView
from kafkapy.protocol.handwritten.fetch_response import FetchedPartition

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import Reads


def read_view(
    node: "Reads",
    request: FetchRequestView,
    wanted: Wanted,
    max_bytes: int,
    view: IsView,
    *,
    is_first: bool,
    nearer: NearerReplicas | None,
) -> Fetched:
    """As `read_partition`, which asked for the partition and heard of the view instead."""
    source_id = view.source.id
    leader = None
    try:
        if request.replica_id >= 0:
            raise view
        partition = node.partitions.hosted(None, source_id, wanted.index)
        if request.rack is None:
            partition.check_leader(wanted.current_leader_epoch)
        else:
            partition.check_readable(wanted.current_leader_epoch)
        if nearer is not None:
            replica = nearer.to_read(partition, wanted.fetch_offset)
            if replica is not None:
                return sent_to(partition, wanted, replica)
        return _read(node, request, wanted, max_bytes, view, partition, is_first)
    except Refused as refused:
        if refused.code in LED_ELSEWHERE:
            leader = node.partitions.current_leader(None, source_id, wanted.index)
        return refused_here(wanted, refused.code, leader)
    except DiskFailed as failed:
        node.directory_failed(failed)
        return refused_here(wanted, ErrorCode.KAFKA_STORAGE_ERROR)


def _read(
    node: "Reads",
    request: FetchRequestView,
    wanted: Wanted,
    max_bytes: int,
    view: IsView,
    source: Partition,
    is_first: bool,
) -> Fetched:
    log, offset = source.log, wanted.fetch_offset
    start = log.log_start_offset
    row = FetchedPartition(wanted.index, 0, log.high_watermark, log.last_stable_offset, start)
    if wanted.last_fetched_epoch >= 0:
        row.diverging_epoch = divergence(source, wanted)
        if row.diverging_epoch is not None:
            return Fetched(row)
    if not start <= offset <= log.log_end_offset:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    is_committed_only = request.isolation_level == READ_COMMITTED
    upper = row.last_stable_offset if is_committed_only else row.high_watermark
    if is_committed_only:
        row.aborted_transactions = ()
    reader = node.views.reader(view.topic, source)
    taken = reader.read(offset, upper, max_bytes, at_least_one=is_first)
    row.slices = taken.batches
    if is_committed_only and taken.size:
        row.aborted_transactions = log.aborted_transactions(offset, taken.reached)
    # Without records it is said when the fetch is answered, and is no reason to answer it.
    return Fetched(row, reader.place, (), taken.size)
