"""Reading one partition for a Fetch: from where, up to where, and what is told about it.

    who reads                        up to
    consumer, read_uncommitted       high watermark
    consumer, read_committed         last stable offset, with the aborted transactions below it
    replica                          log end

Consumers may read from followers, up to what these know to be committed; with
replica.selector.class the leader sends those that name a rack there (nearer_replicas.py).

A refusal is a row of its own, not the end of the request.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.broker.fetch.nearer_replicas import NearerReplicas
from kafkapy.broker.fetch.sessions import Wanted
from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.seams import FileSlice
from kafkapy.core.time import Instant
from kafkapy.kraft.views import IsView
from kafkapy.protocol.handwritten.fetch_request import FetchRequestView
from kafkapy.protocol.handwritten.fetch_response import FetchedPartition

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import Reads

READ_COMMITTED = 1
_NOT_THERE = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class Fetched:
    """What one partition gave. `partition` is None where there is nothing to wait for: the
    row says why."""

    __slots__ = ("partition", "row", "size", "slices")

    def __init__(
        self,
        row: FetchedPartition,
        partition: Partition | None = None,
        slices: Sequence[FileSlice] = (),
        size: int = 0,
    ) -> None:
        self.row = row
        self.partition = partition
        self.slices = slices
        self.size = size

    def release(self) -> None:
        """Nobody gets these bytes."""
        for one in self.slices:
            one.release()


def read_partition(
    node: "Reads",
    request: FetchRequestView,
    wanted: Wanted,
    max_bytes: int,
    *,
    is_first: bool,
    heard_at: Instant | None = None,
    nearer: NearerReplicas | None = None,
) -> Fetched:
    """`is_first`: no other partition gave anything yet, so this one may give a batch that is
    larger than `max_bytes`. `heard_at`: a follower said just now how far it is. `nearer`: where
    the consumer would rather read."""
    if wanted.is_denied:
        return refused_here(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    try:
        partition = node.partitions.hosted(wanted.topic, wanted.topic_id, wanted.index)
        try:
            if request.rack is None or request.replica_id >= 0:
                partition.check_leader(wanted.current_leader_epoch)
            else:
                partition.check_readable(wanted.current_leader_epoch)
        except Refused as refused:
            leader = None
            if refused.code in LED_ELSEWHERE:
                leader = (partition.leader, partition.leader_epoch)
            return refused_here(wanted, refused.code, leader)
        if nearer is not None:
            replica = nearer.to_read(partition, wanted.fetch_offset)
            if replica is not None:
                return sent_to(partition, wanted, replica)
        return _read(partition, request, wanted, max_bytes, is_first, heard_at)
    except IsView as view:
        # Few nodes have views: nobody else imports what reads them.
        from kafkapy.broker.views.reading import read_view

        return read_view(node, request, wanted, max_bytes, view, is_first=is_first, nearer=nearer)
    except Refused as refused:
        leader = None
        if refused.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            leader = node.partitions.current_leader(wanted.topic, wanted.topic_id, wanted.index)
        return refused_here(wanted, refused.code, leader)
    except DiskFailed as failed:
        node.directory_failed(failed)
        return refused_here(wanted, ErrorCode.KAFKA_STORAGE_ERROR)


def _read(
    partition: Partition,
    request: FetchRequestView,
    wanted: Wanted,
    max_bytes: int,
    is_first: bool,
    heard_at: Instant | None,
) -> Fetched:
    log, offset = partition.log, wanted.fetch_offset
    start = log.log_start_offset
    row = FetchedPartition(wanted.index, 0, log.high_watermark, log.last_stable_offset, start)
    if (
        heard_at is not None
        and wanted.current_leader_epoch >= 0
        and not partition.knows_follower(request.replica_id)
    ):
        # In our own epoch: it has heard of a reassignment before we did, and comes again.
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if wanted.last_fetched_epoch >= 0:
        row.diverging_epoch = divergence(partition, wanted)
        if row.diverging_epoch is not None:
            return Fetched(row)
    if not start <= offset <= log.log_end_offset:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    if heard_at is not None:
        # Only now is it known that what it has below is what we have.
        partition.follower_fetched(
            request.replica_id, offset, wanted.log_start_offset, request.replica_epoch, heard_at
        )
        row.high_watermark = log.high_watermark
        row.last_stable_offset = log.last_stable_offset
    is_committed_only = request.isolation_level == READ_COMMITTED
    upper = row.last_stable_offset if is_committed_only else row.high_watermark
    if request.replica_id >= 0:
        upper = log.log_end_offset
    if is_committed_only:
        row.aborted_transactions = ()
    if offset >= upper or (max_bytes <= 0 and not is_first):
        return Fetched(row, partition)
    _, slices, size = log.read(offset, max_bytes, upper=upper, min_one_batch=is_first)
    row.slices = slices
    if is_committed_only and size:
        row.aborted_transactions = log.aborted_transactions(offset, upper, size)
    return Fetched(row, partition, slices, size)


def sent_to(partition: Partition, wanted: Wanted, replica: int) -> Fetched:
    """Nothing is read here: another has it as well."""
    log = partition.log
    row = FetchedPartition(
        wanted.index, 0, log.high_watermark, log.last_stable_offset, log.log_start_offset
    )
    row.preferred_read_replica = replica
    return Fetched(row)


def divergence(partition: Partition, wanted: Wanted) -> tuple[int, int] | None:
    """Where the logs part, if the reader's last record is not on ours."""
    log = partition.log
    if wanted.last_fetched_epoch == log.latest_epoch and wanted.fetch_offset <= log.log_end_offset:
        if wanted.fetch_offset < log.log_start_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        return None
    epoch, end_offset = log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if end_offset < 0 or wanted.fetch_offset < log.log_start_offset:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return epoch, end_offset
    return None


def refused_here(
    wanted: Wanted, code: ErrorCode, current_leader: tuple[int, int] | None = None
) -> Fetched:
    """Nothing but the code; of what is not there at all, no list of aborted transactions
    is an empty one instead of null, as Kafka has it."""
    row = FetchedPartition(wanted.index, code, current_leader=current_leader)
    if code in _NOT_THERE:
        row.aborted_transactions = ()
    return Fetched(row)
