"""What Kafka refuses, on its way to somebody who speaks HTTP."""

from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.error_messages import ERROR_MESSAGES

E = ErrorCode
_FORBIDDEN: Final = frozenset(
    {
        E.TOPIC_AUTHORIZATION_FAILED,
        E.GROUP_AUTHORIZATION_FAILED,
        E.CLUSTER_AUTHORIZATION_FAILED,
        E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        E.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        E.POLICY_VIOLATION,
    }
)
_NOT_FOUND: Final = frozenset(
    {
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.UNKNOWN_TOPIC_ID,
        E.GROUP_ID_NOT_FOUND,
        E.TRANSACTIONAL_ID_NOT_FOUND,
        E.RESOURCE_NOT_FOUND,
        E.BROKER_ID_NOT_REGISTERED,
    }
)
_CONFLICT: Final = frozenset(
    {
        E.TOPIC_ALREADY_EXISTS,
        E.DUPLICATE_RESOURCE,
        E.NON_EMPTY_GROUP,
        E.GROUP_SUBSCRIBED_TO_TOPIC,
        E.ILLEGAL_GENERATION,
        E.UNKNOWN_MEMBER_ID,
        E.STALE_MEMBER_EPOCH,
        E.FENCED_MEMBER_EPOCH,
        E.REBALANCE_IN_PROGRESS,
        E.OUT_OF_ORDER_SEQUENCE_NUMBER,
        E.INVALID_PRODUCER_EPOCH,
        E.PRODUCER_FENCED,
        E.REASSIGNMENT_IN_PROGRESS,
    }
)
_BUSY: Final = frozenset({E.THROTTLING_QUOTA_EXCEEDED})
_TOO_LARGE: Final = frozenset({E.MESSAGE_TOO_LARGE, E.RECORD_LIST_TOO_LARGE})
_BROKEN: Final = frozenset({E.UNKNOWN_SERVER_ERROR, E.CORRUPT_MESSAGE})
# May be different in a moment: another leader, a coordinator that has loaded.
PASSING: Final = frozenset(
    {
        E.LEADER_NOT_AVAILABLE,
        E.NOT_LEADER_OR_FOLLOWER,
        E.FENCED_LEADER_EPOCH,
        E.UNKNOWN_LEADER_EPOCH,
        E.REPLICA_NOT_AVAILABLE,
        E.BROKER_NOT_AVAILABLE,
        E.NETWORK_EXCEPTION,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
        E.NOT_CONTROLLER,
        E.KAFKA_STORAGE_ERROR,
        E.OFFSET_NOT_AVAILABLE,
    }
)
_UNAVAILABLE: Final = PASSING | {
    E.NOT_ENOUGH_REPLICAS,
    E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    E.BROKER_NOT_AVAILABLE,
}


class KafkaError(Exception):
    """One of Kafka's error codes, `about` something."""

    def __init__(self, code: int, about: str = "", message: str | None = None) -> None:
        self.code = ErrorCode(code)
        self.about = about
        self.message = message or ERROR_MESSAGES.get(self.code, self.code.name)
        super().__init__(f"{about}: {self.message}" if about else self.message)

    @property
    def status(self) -> int:
        """HTTP's word for it."""
        return status_of(self.code)


def status_of(code: ErrorCode) -> int:
    for codes, status in _STATUS:
        if code in codes:
            return status
    return 400


_STATUS: Final = (
    (_FORBIDDEN, 403),
    (_NOT_FOUND, 404),
    (_CONFLICT, 409),
    (_TOO_LARGE, 413),
    (_BUSY, 429),
    (_BROKEN, 500),
    (_UNAVAILABLE, 503),
    (frozenset({E.REQUEST_TIMED_OUT}), 504),
)


def check(code: int, about: str = "", message: str | None = None) -> None:
    """KafkaError if `code` is an error."""
    if code:
        raise KafkaError(code, about, message)


def about(code: int, topic: str, partition: int) -> str:
    """What an error is about. Who may not see a topic is not told of its partitions."""
    return topic if code == E.TOPIC_AUTHORIZATION_FAILED else f"{topic}-{partition}"
