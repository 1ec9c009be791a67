"""ShareAcknowledge, v1-2 (KIP-932). v2 renews locks and tells how long they hold (KIP-1222)."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.share.acknowledging import Results, acknowledge, listed, read
from kafkapy.broker.share.fetching import endpoints, leader_fields
from kafkapy.broker.share.request_checks import check_member
from kafkapy.broker.share.sessions import CLOSE, OPEN, Place, SessionKey
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.uuids import ZERO_UUID
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kio.schema.share_acknowledge.v2.request import ShareAcknowledgeRequest

    from kafkapy.broker.requests.needs import Shares
    from kafkapy.share.partition import Acknowledgement


def handle(node: "Shares", call: "Call[ShareAcknowledgeRequest]") -> Answer:
    body = call.body
    group_id, member_id = check_member(node, call)
    key = SessionKey(group_id, member_id)
    sessions = node.shares.sessions
    epoch = body.share_session_epoch
    if epoch == OPEN:
        raise Refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    session = sessions.last(key) if epoch == CLOSE else sessions.go_on(key, epoch)
    is_renewing = optional(body, "is_renew_ack", False)
    given: dict[Place, Sequence[Acknowledgement] | Refused] = {}
    for place, batches in listed(body.topics).items():
        if batches:
            try:
                given[place] = read(batches, may_renew=is_renewing)
            except Refused as refused:
                given[place] = refused
    for topic in body.topics:
        if topic.topic_id is None:
            unknown = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "")  # without a word, as Kafka does
            given |= {(ZERO_UUID, one.partition_index): unknown for one in topic.partitions}
    promise = Later()

    def acknowledged(results: Results) -> None:
        if epoch == CLOSE:
            sessions.close(session)
        promise.resolve(_answer(node, call, group_id, results))

    acknowledge(node, call, key, given, acknowledged)
    return promise.answer if promise.is_resolved else promise


def _answer(
    node: "Shares", call: "Call[ShareAcknowledgeRequest]", group_id: str, results: Results
) -> Fields:
    topics: dict[Any, list[Fields]] = {}
    leaders: set[int] = set()
    for place, refused in results.items():
        leader = None
        if refused is not None and refused.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            leader = node.partitions.current_leader(None, *place)
            if leader is not None:
                leaders.add(leader[0])
        row = {
            "partition_index": place[1],
            "error_code": ErrorCode.NONE if refused is None else refused.code,
            "error_message": None if refused is None else message_of(refused) or None,
            "current_leader": leader_fields(leader),
        }
        topics.setdefault(place[0], []).append(row)
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "acquisition_lock_timeout": node.shares.settings.limits(group_id).record_lock_duration_ms,
        "responses": [
            {"topic_id": topic_id, "partitions": rows} for topic_id, rows in topics.items()
        ],
        "node_endpoints": endpoints(node, call, leaders),
    }
