"""ShareFetch, v1-2 (KIP-932). v2 renews locks (KIP-1222) and may limit records exactly (KIP-1206).

A request acknowledges what earlier ones brought, and brings more; one of a session's end only
acknowledges.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.broker.share.acknowledging import listed, read
from kafkapy.broker.share.fetching import ShareFetching
from kafkapy.broker.share.request_checks import check_member
from kafkapy.broker.share.sessions import CLOSE, OPEN, Place, SessionKey
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.share.partition import BATCH_OPTIMIZED, RECORD_LIMIT, Acknowledgement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kio.schema.share_fetch.v2.request import ShareFetchRequest

    from kafkapy.broker.requests.needs import Shares


def handle(node: "Shares", call: "Call[ShareFetchRequest]") -> Answer:
    body = call.body
    group_id, member_id = check_member(node, call)
    is_renewing = optional(body, "is_renew_ack", False)
    _check(call, is_renewing=is_renewing)
    said = listed(body.topics)
    key = SessionKey(group_id, member_id)
    sessions = node.shares.sessions
    epoch = body.share_session_epoch
    if epoch == OPEN:
        if any(said.values()):
            raise Refused(ErrorCode.INVALID_REQUEST)
        session = sessions.open(key, call.peer)
    elif epoch == CLOSE:
        session = sessions.last(key)
    else:
        session = sessions.go_on(key, epoch)
    if epoch != CLOSE:
        session.add(said)
        for topic in body.forgotten_topics_data:
            if topic.topic_id is not None:
                session.forget((topic.topic_id, one) for one in topic.partitions)
    given: dict[Place, Sequence[Acknowledgement] | Refused] = {}
    for place, batches in said.items():
        if batches:
            try:
                given[place] = read(batches, may_renew=is_renewing)
            except Refused as refused:
                given[place] = refused
    wants_records = epoch != CLOSE and not is_renewing
    return ShareFetching(node, call, session, wants_records=wants_records).start(given)


def _check(call: "Call[ShareFetchRequest]", *, is_renewing: bool) -> None:
    body = call.body
    mode = optional(body, "share_acquire_mode", BATCH_OPTIMIZED)
    if mode not in (BATCH_OPTIMIZED, RECORD_LIMIT):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if is_renewing and (
        body.max_bytes or body.min_bytes or body.max_records or millis(body.max_wait)
    ):
        raise Refused(ErrorCode.INVALID_REQUEST)
