"""What is asked about offsets, and the answers."""

from typing import NamedTuple
from uuid import UUID

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.offsets.store import Committed
from kafkapy.log.producers.guards import VerificationGuard


class OffsetToCommit(NamedTuple):
    """`topic_id` is what the name stands for now, where the node knows it."""

    partition: TopicPartition
    offset: int
    leader_epoch: int
    metadata: str
    topic_id: UUID | None


class Committer(NamedTuple):
    """Who commits: a member at its generation or epoch; nobody in particular with none."""

    member_id: str = ""
    generation_or_epoch: int = -1
    instance_id: str | None = None


class CommitOffsets(NamedTuple):
    """`speaks_of_groups` (v9+): a missing group may be told as such, and consumer-protocol
    members may commit. `retention_ms` (v2-4) is -1 if the client leaves it to the server."""

    group_id: str
    committer: Committer
    offsets: tuple[OffsetToCommit, ...]
    retention_ms: int = -1
    speaks_of_groups: bool = True


class CommitOffsetsInTransaction(NamedTuple):
    """`guard` is of the verification that was asked for; None where none was needed."""

    group_id: str
    committer: Committer
    offsets: tuple[OffsetToCommit, ...]
    producer_id: int
    producer_epoch: int
    guard: VerificationGuard | None = None


class OffsetsCommitted(NamedTuple):
    """An error per partition, in the order of the request."""

    errors: tuple[ErrorCode, ...]


class FetchOffsets(NamedTuple):
    """`partitions` None asks for all of the group. `member_id` None is nobody's question."""

    group_id: str
    partitions: tuple[TopicPartition, ...] | None
    member_id: str | None = None
    member_epoch: int = -1
    require_stable: bool = False


class FetchedOffset(NamedTuple):
    """`committed` is None where there is none."""

    partition: TopicPartition
    committed: Committed | None
    error: ErrorCode = ErrorCode.NONE


class OffsetsFetched(NamedTuple):
    offsets: tuple[FetchedOffset, ...]


class DeleteOffsets(NamedTuple):
    group_id: str
    partitions: tuple[TopicPartition, ...]


class OffsetsDeleted(NamedTuple):
    errors: tuple[ErrorCode, ...]


class DeletedTopic(NamedTuple):
    name: str
    topic_id: UUID


class TopicsDeleted(NamedTuple):
    """News from metadata: what groups committed for these topics means nothing any more."""

    topics: tuple[DeletedTopic, ...]
