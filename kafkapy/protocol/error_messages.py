"""A sentence for every error code, for responses that carry an `error_message`.

Whoever refuses usually knows better words (`Refused(code, message)`); these stand in
where it gave none, as Kafka answers with its code's general sentence then. No client
parses them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kafkapy.core.errors import ErrorCode, Refused

_E = ErrorCode

ERROR_MESSAGES: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {
        _E.UNKNOWN_SERVER_ERROR: "Something went wrong in the server that has no code of its own.",
        _E.NONE: "",
        _E.OFFSET_OUT_OF_RANGE: "The offset lies outside of what this partition's log holds.",
        _E.CORRUPT_MESSAGE: "The records fail their checksum or are malformed.",
        _E.UNKNOWN_TOPIC_OR_PARTITION: "This server knows no such topic or partition.",
        _E.INVALID_FETCH_SIZE: "The fetch size is not valid.",
        _E.LEADER_NOT_AVAILABLE: "The partition has no leader at the moment.",
        _E.NOT_LEADER_OR_FOLLOWER: "This broker does not hold the role that the request needs.",
        _E.REQUEST_TIMED_OUT: "The time for this request ran out.",
        _E.BROKER_NOT_AVAILABLE: "The broker is not available.",
        _E.REPLICA_NOT_AVAILABLE: "This broker has no replica of the partition.",
        _E.MESSAGE_TOO_LARGE: "The records are larger than the topic accepts.",
        _E.STALE_CONTROLLER_EPOCH: "The controller has moved on to a later epoch.",
        _E.OFFSET_METADATA_TOO_LARGE: "The metadata beside the offset is too long.",
        _E.NETWORK_EXCEPTION: "The connection broke before an answer came.",
        _E.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is still loading its state.",
        _E.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
        _E.NOT_COORDINATOR: "This broker is not the coordinator for that key.",
        _E.INVALID_TOPIC_EXCEPTION: "The request names a topic it may not use.",
        _E.RECORD_LIST_TOO_LARGE: "The record list is larger than a segment of this server.",
        _E.NOT_ENOUGH_REPLICAS: "Fewer replicas are in sync than min.insync.replicas asks for.",
        _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (
            "The records were appended, but to fewer in-sync replicas than required."
        ),
        _E.INVALID_REQUIRED_ACKS: "acks may be -1, 0 or 1.",
        _E.ILLEGAL_GENERATION: "The generation is not the group's current one.",
        _E.INCONSISTENT_GROUP_PROTOCOL: "No protocol is supported by all members of the group.",
        _E.INVALID_GROUP_ID: "The group id is not valid.",
        _E.UNKNOWN_MEMBER_ID: "The group has no member with that id.",
        _E.INVALID_SESSION_TIMEOUT: "The session timeout lies outside of the configured bounds.",
        _E.REBALANCE_IN_PROGRESS: "The group is rebalancing: join again.",
        _E.INVALID_COMMIT_OFFSET_SIZE: "The committed offsets do not fit into one record batch.",
        _E.TOPIC_AUTHORIZATION_FAILED: "Not allowed on this topic.",
        _E.GROUP_AUTHORIZATION_FAILED: "Not allowed on this group.",
        _E.CLUSTER_AUTHORIZATION_FAILED: "Not allowed on the cluster.",
        _E.INVALID_TIMESTAMP: "A record's timestamp is outside of what the topic accepts.",
        _E.UNSUPPORTED_SASL_MECHANISM: "The SASL mechanism is not enabled here.",
        _E.ILLEGAL_SASL_STATE: "The request does not belong into this state of authentication.",
        _E.UNSUPPORTED_VERSION: "That version is not supported.",
        _E.TOPIC_ALREADY_EXISTS: "There is a topic of this name already.",
        _E.INVALID_PARTITIONS: "The number of partitions is not valid.",
        _E.INVALID_REPLICATION_FACTOR: "The replication factor is not valid or not possible.",
        _E.INVALID_REPLICA_ASSIGNMENT: "The replica assignment is not valid.",
        _E.INVALID_CONFIG: "The configuration is not valid.",
        _E.NOT_CONTROLLER: "This node is not the active controller.",
        _E.INVALID_REQUEST: "The request contradicts itself or the protocol.",
        _E.UNSUPPORTED_FOR_MESSAGE_FORMAT: "The message format does not support this.",
        _E.POLICY_VIOLATION: "The request violates a policy.",
        _E.OUT_OF_ORDER_SEQUENCE_NUMBER: "A sequence number is missing before this one.",
        _E.DUPLICATE_SEQUENCE_NUMBER: "This sequence number was appended long ago.",
        _E.INVALID_PRODUCER_EPOCH: "A producer with a later epoch has taken over.",
        _E.INVALID_TXN_STATE: "The transaction is in a state that does not allow this.",
        _E.INVALID_PRODUCER_ID_MAPPING: "The producer id does not belong to the transactional id.",
        _E.INVALID_TRANSACTION_TIMEOUT: "The transaction timeout is above the server's maximum.",
        _E.CONCURRENT_TRANSACTIONS: "Another step of the same transaction is under way.",
        _E.TRANSACTION_COORDINATOR_FENCED: "A later transaction coordinator has taken over.",
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Not allowed on this transactional id.",
        _E.SECURITY_DISABLED: "No authorizer is configured.",
        _E.OPERATION_NOT_ATTEMPTED: "Not attempted, since another part of the request failed.",
        _E.KAFKA_STORAGE_ERROR: "The log directory of this partition is offline.",
        _E.LOG_DIR_NOT_FOUND: "The log directory is not one that this broker is configured with.",
        _E.SASL_AUTHENTICATION_FAILED: "Authentication failed.",
        _E.UNKNOWN_PRODUCER_ID: "Nothing is known of this producer id.",
        _E.REASSIGNMENT_IN_PROGRESS: "The partition is being reassigned.",
        _E.DELEGATION_TOKEN_AUTH_DISABLED: "Delegation tokens are not enabled.",
        _E.DELEGATION_TOKEN_NOT_FOUND: "There is no such delegation token.",
        _E.DELEGATION_TOKEN_OWNER_MISMATCH: "The token may not be managed by this principal.",
        _E.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "Tokens cannot be managed on this connection.",
        _E.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "Not allowed on delegation tokens.",
        _E.DELEGATION_TOKEN_EXPIRED: "The delegation token has expired.",
        _E.INVALID_PRINCIPAL_TYPE: "The type of principal is not supported.",
        _E.NON_EMPTY_GROUP: "The group still has members.",
        _E.GROUP_ID_NOT_FOUND: "There is no such group.",
        _E.FETCH_SESSION_ID_NOT_FOUND: "There is no fetch session with that id.",
        _E.INVALID_FETCH_SESSION_EPOCH: "The fetch session is at another epoch.",
        _E.LISTENER_NOT_FOUND: "The leader has no listener of the name used here.",
        _E.TOPIC_DELETION_DISABLED: "Deleting topics is switched off.",
        _E.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than this broker's.",
        _E.UNKNOWN_LEADER_EPOCH: "The leader epoch in the request is newer than this broker's.",
        _E.UNSUPPORTED_COMPRESSION_TYPE: "The client cannot read the compression in use.",
        _E.STALE_BROKER_EPOCH: "The broker has registered anew since.",
        _E.OFFSET_NOT_AVAILABLE: "The new leader does not know its high watermark yet.",
        _E.MEMBER_ID_REQUIRED: "Join again with the member id of this answer.",
        _E.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader is not available.",
        _E.GROUP_MAX_SIZE_REACHED: "The group is full.",
        _E.FENCED_INSTANCE_ID: "Another member runs under the same group.instance.id.",
        _E.ELIGIBLE_LEADERS_NOT_AVAILABLE: "No replica that may lead is available.",
        _E.ELECTION_NOT_NEEDED: "The partition has the leader it should have.",
        _E.NO_REASSIGNMENT_IN_PROGRESS: "The partition is not being reassigned.",
        _E.GROUP_SUBSCRIBED_TO_TOPIC: "The group is subscribed to the topic.",
        _E.INVALID_RECORD: "A record failed validation.",
        _E.UNSTABLE_OFFSET_COMMIT: "Offsets are part of a transaction that is still open.",
        _E.THROTTLING_QUOTA_EXCEEDED: "The quota is used up for now.",
        _E.PRODUCER_FENCED: "A newer producer uses the same transactional id.",
        _E.RESOURCE_NOT_FOUND: "There is no such resource.",
        _E.DUPLICATE_RESOURCE: "The request names a resource twice.",
        _E.UNACCEPTABLE_CREDENTIAL: "The credential does not meet the requirements.",
        _E.INCONSISTENT_VOTER_SET: "The nodes disagree about who votes.",
        _E.INVALID_UPDATE_VERSION: "The update was made on an outdated version.",
        _E.FEATURE_UPDATE_FAILED: "The finalized features could not be updated.",
        _E.PRINCIPAL_DESERIALIZATION_FAILURE: "The forwarded principal cannot be read.",
        _E.SNAPSHOT_NOT_FOUND: "There is no such snapshot.",
        _E.POSITION_OUT_OF_RANGE: "The position lies outside of the snapshot.",
        _E.UNKNOWN_TOPIC_ID: "This server knows no topic with that id.",
        _E.DUPLICATE_BROKER_REGISTRATION: "A live broker uses this id.",
        _E.BROKER_ID_NOT_REGISTERED: "No broker with this id is registered.",
        _E.INCONSISTENT_TOPIC_ID: "The log belongs to another topic of the same name.",
        _E.INCONSISTENT_CLUSTER_ID: "The request comes from another cluster.",
        _E.TRANSACTIONAL_ID_NOT_FOUND: "There is no such transactional id.",
        _E.FETCH_SESSION_TOPIC_ID_ERROR: "The fetch session mixes requests with and without ids.",
        _E.INELIGIBLE_REPLICA: "A replica named in the ISR may not be in it.",
        _E.NEW_LEADER_ELECTED: "The change ended with a new leader.",
        _E.OFFSET_MOVED_TO_TIERED_STORAGE: "The offset is in tiered storage.",
        _E.FENCED_MEMBER_EPOCH: "The member epoch is not the current one: leave all, join again.",
        _E.UNRELEASED_INSTANCE_ID: "The member that uses this instance id has not left.",
        _E.UNSUPPORTED_ASSIGNOR: "The group does not support this assignor.",
        _E.STALE_MEMBER_EPOCH: "The member has to catch up with its epoch first.",
        _E.MISMATCHED_ENDPOINT_TYPE: "The request was sent to the wrong kind of endpoint.",
        _E.UNSUPPORTED_ENDPOINT_TYPE: "This kind of endpoint is not supported.",
        _E.UNKNOWN_CONTROLLER_ID: "There is no controller with this id.",
        _E.UNKNOWN_SUBSCRIPTION_ID: "The telemetry subscription has changed.",
        _E.TELEMETRY_TOO_LARGE: "The pushed metrics are larger than accepted.",
        _E.INVALID_REGISTRATION: "The registration is not valid.",
        _E.TRANSACTION_ABORTABLE: "The transaction has to be aborted.",
        _E.INVALID_RECORD_STATE: "The record is not in a state to be acknowledged so.",
        _E.SHARE_SESSION_NOT_FOUND: "There is no such share session.",
        _E.INVALID_SHARE_SESSION_EPOCH: "The share session is at another epoch.",
        _E.FENCED_STATE_EPOCH: "The state epoch is not the share group's current one.",
        _E.INVALID_VOTER_KEY: "The voter's id and directory are not this replica's.",
        _E.DUPLICATE_VOTER: "That node votes already.",
        _E.VOTER_NOT_FOUND: "That node is no voter.",
        _E.INVALID_REGULAR_EXPRESSION: "The regular expression is not valid.",
        _E.REBOOTSTRAP_REQUIRED: "The client talks to another cluster than it believes.",
        _E.STREAMS_INVALID_TOPOLOGY: "The topology is not valid.",
        _E.STREAMS_INVALID_TOPOLOGY_EPOCH: "The topology epoch is not valid.",
        _E.STREAMS_TOPOLOGY_FENCED: "The topology epoch is outdated.",
        _E.SHARE_SESSION_LIMIT_REACHED: "There are as many share sessions as allowed.",
        _E.GROUP_DELETION_FAILED: "The group could not be deleted.",
        _E.STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: (
            "The description of the topology could not be updated."
        ),
        _E.CONTROLLER_ID_NOT_REGISTERED: "No controller with this id is registered.",
    }
)


_COORDINATED_ELSEWHERE: Final = frozenset({_E.NOT_COORDINATOR, _E.COORDINATOR_LOAD_IN_PROGRESS})


def message_of(refused: Refused) -> str | None:
    """What to tell the client: the refusal's own words, or its code's."""
    if refused.message is not None:
        return refused.message
    return ERROR_MESSAGES[refused.code] or None


def message_of_heartbeat(refused: Refused) -> str | None:
    """The same, but that another node coordinates, or this one soon will, is told by code alone."""
    return None if refused.code in _COORDINATED_ELSEWHERE else message_of(refused)
