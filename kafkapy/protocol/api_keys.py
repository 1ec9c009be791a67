"""Kafka's APIs: their numbers, their names, and where each became flexible (KIP-482).

"Flexible" is one switch for four things: compact lengths and tag sections in the body, a
request header v2 in place of v1, and a response header v1 in place of v0. The one
exception is ApiVersions, whose response header stays v0 so that a client can read the
answer before it knows which versions the broker speaks.

Keys 4 to 7 are the ZooKeeper era's and are served by nobody; they are listed because a
header that carries them is still a header.
"""

from enum import IntEnum
from typing import Final

_NEVER: Final = 32767


class ApiKey(IntEnum):
    """One API. `first_flexible_version` and `camel_name` (Kafka's spelling) come along."""

    first_flexible_version: int
    camel_name: str

    def __new__(cls, value: int, first_flexible_version: int, camel_name: str) -> "ApiKey":
        member = int.__new__(cls, value)
        member._value_ = value
        member.first_flexible_version = first_flexible_version
        member.camel_name = camel_name
        return member

    PRODUCE = 0, 9, "Produce"
    FETCH = 1, 12, "Fetch"
    LIST_OFFSETS = 2, 6, "ListOffsets"
    METADATA = 3, 9, "Metadata"
    LEADER_AND_ISR = 4, 4, "LeaderAndIsr"
    STOP_REPLICA = 5, 2, "StopReplica"
    UPDATE_METADATA = 6, 6, "UpdateMetadata"
    CONTROLLED_SHUTDOWN = 7, 3, "ControlledShutdown"
    OFFSET_COMMIT = 8, 8, "OffsetCommit"
    OFFSET_FETCH = 9, 6, "OffsetFetch"
    FIND_COORDINATOR = 10, 3, "FindCoordinator"
    JOIN_GROUP = 11, 6, "JoinGroup"
    HEARTBEAT = 12, 4, "Heartbeat"
    LEAVE_GROUP = 13, 4, "LeaveGroup"
    SYNC_GROUP = 14, 4, "SyncGroup"
    DESCRIBE_GROUPS = 15, 5, "DescribeGroups"
    LIST_GROUPS = 16, 3, "ListGroups"
    SASL_HANDSHAKE = 17, _NEVER, "SaslHandshake"
    API_VERSIONS = 18, 3, "ApiVersions"
    CREATE_TOPICS = 19, 5, "CreateTopics"
    DELETE_TOPICS = 20, 4, "DeleteTopics"
    DELETE_RECORDS = 21, 2, "DeleteRecords"
    INIT_PRODUCER_ID = 22, 2, "InitProducerId"
    OFFSET_FOR_LEADER_EPOCH = 23, 4, "OffsetForLeaderEpoch"
    ADD_PARTITIONS_TO_TXN = 24, 3, "AddPartitionsToTxn"
    ADD_OFFSETS_TO_TXN = 25, 3, "AddOffsetsToTxn"
    END_TXN = 26, 3, "EndTxn"
    WRITE_TXN_MARKERS = 27, 1, "WriteTxnMarkers"
    TXN_OFFSET_COMMIT = 28, 3, "TxnOffsetCommit"
    DESCRIBE_ACLS = 29, 2, "DescribeAcls"
    CREATE_ACLS = 30, 2, "CreateAcls"
    DELETE_ACLS = 31, 2, "DeleteAcls"
    DESCRIBE_CONFIGS = 32, 4, "DescribeConfigs"
    ALTER_CONFIGS = 33, 2, "AlterConfigs"
    ALTER_REPLICA_LOG_DIRS = 34, 2, "AlterReplicaLogDirs"
    DESCRIBE_LOG_DIRS = 35, 2, "DescribeLogDirs"
    SASL_AUTHENTICATE = 36, 2, "SaslAuthenticate"
    CREATE_PARTITIONS = 37, 2, "CreatePartitions"
    CREATE_DELEGATION_TOKEN = 38, 2, "CreateDelegationToken"
    RENEW_DELEGATION_TOKEN = 39, 2, "RenewDelegationToken"
    EXPIRE_DELEGATION_TOKEN = 40, 2, "ExpireDelegationToken"
    DESCRIBE_DELEGATION_TOKEN = 41, 2, "DescribeDelegationToken"
    DELETE_GROUPS = 42, 2, "DeleteGroups"
    ELECT_LEADERS = 43, 2, "ElectLeaders"
    INCREMENTAL_ALTER_CONFIGS = 44, 1, "IncrementalAlterConfigs"
    ALTER_PARTITION_REASSIGNMENTS = 45, 0, "AlterPartitionReassignments"
    LIST_PARTITION_REASSIGNMENTS = 46, 0, "ListPartitionReassignments"
    OFFSET_DELETE = 47, _NEVER, "OffsetDelete"
    DESCRIBE_CLIENT_QUOTAS = 48, 1, "DescribeClientQuotas"
    ALTER_CLIENT_QUOTAS = 49, 1, "AlterClientQuotas"
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, 0, "DescribeUserScramCredentials"
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0, "AlterUserScramCredentials"
    VOTE = 52, 0, "Vote"
    BEGIN_QUORUM_EPOCH = 53, 1, "BeginQuorumEpoch"
    END_QUORUM_EPOCH = 54, 1, "EndQuorumEpoch"
    DESCRIBE_QUORUM = 55, 0, "DescribeQuorum"
    ALTER_PARTITION = 56, 0, "AlterPartition"
    UPDATE_FEATURES = 57, 0, "UpdateFeatures"
    ENVELOPE = 58, 0, "Envelope"
    FETCH_SNAPSHOT = 59, 0, "FetchSnapshot"
    DESCRIBE_CLUSTER = 60, 0, "DescribeCluster"
    DESCRIBE_PRODUCERS = 61, 0, "DescribeProducers"
    BROKER_REGISTRATION = 62, 0, "BrokerRegistration"
    BROKER_HEARTBEAT = 63, 0, "BrokerHeartbeat"
    UNREGISTER_BROKER = 64, 0, "UnregisterBroker"
    DESCRIBE_TRANSACTIONS = 65, 0, "DescribeTransactions"
    LIST_TRANSACTIONS = 66, 0, "ListTransactions"
    ALLOCATE_PRODUCER_IDS = 67, 0, "AllocateProducerIds"
    CONSUMER_GROUP_HEARTBEAT = 68, 0, "ConsumerGroupHeartbeat"
    CONSUMER_GROUP_DESCRIBE = 69, 0, "ConsumerGroupDescribe"
    CONTROLLER_REGISTRATION = 70, 0, "ControllerRegistration"
    GET_TELEMETRY_SUBSCRIPTIONS = 71, 0, "GetTelemetrySubscriptions"
    PUSH_TELEMETRY = 72, 0, "PushTelemetry"
    ASSIGN_REPLICAS_TO_DIRS = 73, 0, "AssignReplicasToDirs"
    LIST_CONFIG_RESOURCES = 74, 0, "ListConfigResources"
    DESCRIBE_TOPIC_PARTITIONS = 75, 0, "DescribeTopicPartitions"
    SHARE_GROUP_HEARTBEAT = 76, 0, "ShareGroupHeartbeat"
    SHARE_GROUP_DESCRIBE = 77, 0, "ShareGroupDescribe"
    SHARE_FETCH = 78, 0, "ShareFetch"
    SHARE_ACKNOWLEDGE = 79, 0, "ShareAcknowledge"
    ADD_RAFT_VOTER = 80, 0, "AddRaftVoter"
    REMOVE_RAFT_VOTER = 81, 0, "RemoveRaftVoter"
    UPDATE_RAFT_VOTER = 82, 0, "UpdateRaftVoter"
    INITIALIZE_SHARE_GROUP_STATE = 83, 0, "InitializeShareGroupState"
    READ_SHARE_GROUP_STATE = 84, 0, "ReadShareGroupState"
    WRITE_SHARE_GROUP_STATE = 85, 0, "WriteShareGroupState"
    DELETE_SHARE_GROUP_STATE = 86, 0, "DeleteShareGroupState"
    READ_SHARE_GROUP_STATE_SUMMARY = 87, 0, "ReadShareGroupStateSummary"
    STREAMS_GROUP_HEARTBEAT = 88, 0, "StreamsGroupHeartbeat"
    STREAMS_GROUP_DESCRIBE = 89, 0, "StreamsGroupDescribe"
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, 0, "DescribeShareGroupOffsets"
    ALTER_SHARE_GROUP_OFFSETS = 91, 0, "AlterShareGroupOffsets"
    DELETE_SHARE_GROUP_OFFSETS = 92, 0, "DeleteShareGroupOffsets"
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93, 0, "StreamsGroupTopologyDescriptionUpdate"
    UNREGISTER_CONTROLLER = 94, 0, "UnregisterController"


# Indexed by key: what the hot path asks for every frame.
FIRST_FLEXIBLE_VERSION: Final = tuple(key.first_flexible_version for key in ApiKey)


def is_flexible(api_key: int, version: int) -> bool:
    return version >= FIRST_FLEXIBLE_VERSION[api_key]


def request_header_version(api_key: int, version: int) -> int:
    """0 (no client id, ControlledShutdown v0 alone), 1, or 2 (flexible)."""
    if version >= FIRST_FLEXIBLE_VERSION[api_key]:
        return 2
    return 0 if api_key == ApiKey.CONTROLLED_SHUTDOWN and version == 0 else 1


def response_header_version(api_key: int, version: int) -> int:
    """0, or 1 (with a tag section)."""
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return int(version >= FIRST_FLEXIBLE_VERSION[api_key])
