"""TxnOffsetCommit, v0-5: offsets that count once the transaction is committed.

v2 leader epochs, v3 member and generation (KIP-447), v4 TRANSACTION_ABORTABLE, v5 adds the
group's partition to the transaction by itself (KIP-890). v6 (topic ids) is of Kafka 4.4.

    group's shard here? --> partition in the transaction? --> commit, pending until the marker
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.broker.transactions.verification import ToAppend, Verified, mode_of_offset_commit
from kafkapy.coordinator.append_errors import append_error
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.group.offsets.events import (
    CommitOffsetsInTransaction,
    Committer,
    OffsetsCommitted,
    OffsetToCommit,
)
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.views import partitions_of
from kafkapy.log.producers.guards import VerificationGuard

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.txn_offset_commit.v5.request import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestPartition,
    )

    from kafkapy.broker.requests.needs import (
        HasAuthorizer,
        HasGroups,
        HasImage,
        HasPartitions,
        HasVerification,
    )

    class Needs(HasAuthorizer, HasGroups, HasImage, HasPartitions, HasVerification, Protocol): ...


class _Row(NamedTuple):
    """One partition of the request; `commit` None if it cannot be, `error` says why."""

    partition: TopicPartition
    commit: OffsetToCommit | None
    error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def handle(node: "Needs", call: "Call[TxnOffsetCommitRequest]") -> Answer:
    body = call.body
    denied = _denied(node, call)
    rows = [_row(node, call, topic.name, one) for topic in body.topics for one in topic.partitions]
    if denied is not ErrorCode.NONE:
        refused_rows = [_Row(row.partition, None, denied) for row in rows]
        return _answer(call, refused_rows, ())
    known = [row.commit for row in rows if row.commit is not None]
    if not known:
        return _answer(call, rows, ())
    if not body.group_id:
        return _refused(call, rows, ErrorCode.INVALID_GROUP_ID)
    try:
        shard = node.groups.shard_of(body.group_id)
        batch = _to_append(node, call)
    except Refused as refused:
        return _refused(call, rows, refused.code)
    later = Later()

    def committed(reply: Any) -> None:
        if isinstance(reply, Refused):
            later.resolve(_refused(call, rows, reply.code))
        else:
            assert isinstance(reply, OffsetsCommitted), reply
            later.resolve(_answer(call, rows, reply.errors))

    def verified(results: Sequence[Verified]) -> None:
        (result,) = results
        if isinstance(result, Refused):
            later.resolve(_refused(call, rows, append_error(result).code))
        else:
            shard.submit(_event(body, known, result), committed)

    mode = mode_of_offset_commit(call.version)
    node.verification.verify(body.transactional_id, [batch], mode, verified)
    return later


def _denied(node: "Needs", call: "Call[TxnOffsetCommitRequest]") -> ErrorCode:
    body = call.body
    kind = ResourceType.TRANSACTIONAL_ID
    if not allows(node, call, Operation.WRITE, kind, body.transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not allows(node, call, Operation.READ, ResourceType.GROUP, body.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _row(
    node: "Needs",
    call: "Call[TxnOffsetCommitRequest]",
    name: str,
    asked: "TxnOffsetCommitRequestPartition",
) -> _Row:
    partition = TopicPartition(name, asked.partition_index)
    if not allows(node, call, Operation.READ, ResourceType.TOPIC, name):
        return _Row(partition, None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = node.image.topics_by_name.get(name)
    if topic is None or asked.partition_index not in partitions_of(node.image, topic):
        return _Row(partition, None)
    commit = OffsetToCommit(
        partition,
        asked.committed_offset,
        optional(asked, "committed_leader_epoch", -1),
        asked.committed_metadata or "",
        topic.id,
    )
    return _Row(partition, commit)


def _to_append(node: "Needs", call: "Call[TxnOffsetCommitRequest]") -> ToAppend:
    index = node.groups.partition_of(call.body.group_id)
    partition = node.partitions.get(CONSUMER_OFFSETS, index)
    if partition is None:
        raise Refused(ErrorCode.NOT_COORDINATOR)
    try:
        producers = partition.log.producers
    except DiskFailed as failed:  # read when they are first asked for
        partition.disk_failed(failed)
        raise append_error(Refused(ErrorCode.KAFKA_STORAGE_ERROR)) from failed
    return ToAppend(
        partition.topic_partition, producers, call.body.producer_id, call.body.producer_epoch
    )


def _event(
    body: "TxnOffsetCommitRequest",
    commits: list[OffsetToCommit],
    guard: VerificationGuard | None,
) -> CommitOffsetsInTransaction:
    committer = Committer(
        optional(body, "member_id", ""),
        optional(body, "generation_id", -1),
        optional(body, "group_instance_id", None),
    )
    return CommitOffsetsInTransaction(
        body.group_id, committer, tuple(commits), body.producer_id, body.producer_epoch, guard
    )


def _refused(
    call: "Call[TxnOffsetCommitRequest]", rows: Sequence[_Row], error: ErrorCode
) -> dict[str, Any]:
    return _answer(call, rows, [error] * len(rows))


def _answer(
    call: "Call[TxnOffsetCommitRequest]", rows: Sequence[_Row], errors: Sequence[ErrorCode]
) -> dict[str, Any]:
    """`errors` of those partitions that could be committed, in their order."""
    each = iter(errors)
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), commit, why_not in rows:
        error = why_not if commit is None else next(each)
        topics.setdefault(topic, []).append(
            {"partition_index": index, "error_code": _code(call, error)}
        )
    return {
        "throttle_time": 0,
        "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
    }


def _code(call: "Call[TxnOffsetCommitRequest]", error: ErrorCode) -> ErrorCode:
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.version < 2:
        # Producers of that age stop for good when they hear of loading.
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return error
