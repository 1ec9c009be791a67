"""What members of consumer and share groups hear, which is the same but for its API (KIP-848,
KIP-932)."""

from typing import Protocol

from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.member import Target
from kafkapy.protocol.error_messages import message_of_heartbeat


class Heard(Protocol):
    @property
    def member_id(self) -> str: ...

    @property
    def member_epoch(self) -> int: ...

    @property
    def heartbeat_interval_ms(self) -> int: ...

    @property
    def assignment(self) -> Target | None: ...


def heartbeat_fields(reply: Heard | Refused) -> Fields:
    if isinstance(reply, Refused):
        return {
            "throttle_time": 0,
            "error_code": reply.code,
            "error_message": message_of_heartbeat(reply),
            "member_id": None,
            "member_epoch": 0,
            "heartbeat_interval": 0,
            "assignment": None,
        }
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "member_id": reply.member_id,
        "member_epoch": reply.member_epoch,
        "heartbeat_interval": reply.heartbeat_interval_ms,
        "assignment": None if reply.assignment is None else _assignment(reply.assignment),
    }


def _assignment(target: Target) -> Fields:
    return {
        "topic_partitions": [
            {"topic_id": topic_id, "partitions": sorted(partitions)}
            for topic_id, partitions in target.items()
        ]
    }
