"""Older releases of Apache Kafka to pass for: what each says to ApiVersions.

    Broker(api_versions="2.8")      what it advertises is 2.8's; what 2.8 does not know hangs up

Asked of real brokers (2.8.2 with ZooKeeper; 3.3.2, 3.9.1 and 4.0.0 with KRaft); 2.0 is what
kafka-clients 2.0.1 has. Advertised is the part of it that is served here: APIs between brokers,
and the versions that Kafka 4 has dropped (KIP-896), are missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kafkapy.broker.requests.request import Resolved
from kafkapy.protocol.api_keys import ApiKey

Versions = tuple[int, int]

_TABLE: Final = """
    API                          2.0    2.8    3.3    3.9    4.0
    Produce                      0-6    0-9    0-9    0-11   0-12
    Fetch                        0-8    0-12   0-13   0-17   4-17
    ListOffsets                  0-3    0-6    0-7    0-9    1-10
    Metadata                     0-6    0-11   0-12   0-12   0-13
    LeaderAndIsr                 0-1    0-5    -      -      -
    StopReplica                  0-0    0-3    -      -      -
    UpdateMetadata               0-4    0-7    -      -      -
    ControlledShutdown           0-1    0-3    -      -      -
    OffsetCommit                 0-4    0-8    0-8    0-9    2-9
    OffsetFetch                  0-4    0-7    0-8    0-9    1-9
    FindCoordinator              0-2    0-3    0-4    0-6    0-6
    JoinGroup                    0-3    0-7    0-9    0-9    2-9
    Heartbeat                    0-2    0-4    0-4    0-4    0-4
    LeaveGroup                   0-2    0-4    0-5    0-5    0-5
    SyncGroup                    0-2    0-5    0-5    0-5    0-5
    DescribeGroups               0-2    0-5    0-5    0-5    0-6
    ListGroups                   0-2    0-4    0-4    0-5    0-5
    SaslHandshake                0-1    0-1    0-1    0-1    0-1
    ApiVersions                  0-2    0-3    0-3    0-4    0-4
    CreateTopics                 0-3    0-7    0-7    0-7    2-7
    DeleteTopics                 0-2    0-6    0-6    0-6    1-6
    DeleteRecords                0-1    0-2    0-2    0-2    0-2
    InitProducerId               0-1    0-4    0-4    0-5    0-5
    OffsetForLeaderEpoch         0-1    0-4    0-4    0-4    2-4
    AddPartitionsToTxn           0-1    0-3    0-3    0-5    0-5
    AddOffsetsToTxn              0-1    0-3    0-3    0-4    0-4
    EndTxn                       0-1    0-3    0-3    0-4    0-5
    WriteTxnMarkers              0-0    0-1    0-1    0-1    1-1
    TxnOffsetCommit              0-1    0-3    0-3    0-4    0-5
    DescribeAcls                 0-1    0-2    0-3    0-3    1-3
    CreateAcls                   0-1    0-2    0-3    0-3    1-3
    DeleteAcls                   0-1    0-2    0-3    0-3    1-3
    DescribeConfigs              0-2    0-4    0-4    0-4    1-4
    AlterConfigs                 0-1    0-2    0-2    0-2    0-2
    AlterReplicaLogDirs          0-1    0-2    0-2    0-2    1-2
    DescribeLogDirs              0-1    0-2    0-4    0-4    1-4
    SaslAuthenticate             0-0    0-2    0-2    0-2    0-2
    CreatePartitions             0-1    0-3    0-3    0-3    0-3
    CreateDelegationToken        0-1    0-2    -      0-3    1-3
    RenewDelegationToken         0-1    0-2    -      0-2    1-2
    ExpireDelegationToken        0-1    0-2    -      0-2    1-2
    DescribeDelegationToken      0-1    0-2    -      0-3    1-3
    DeleteGroups                 0-1    0-2    0-2    0-2    0-2
    ElectLeaders                 -      0-2    0-2    0-2    0-2
    IncrementalAlterConfigs      -      0-1    0-1    0-1    0-1
    AlterPartitionReassignments  -      0-0    0-0    0-0    0-0
    ListPartitionReassignments   -      0-0    0-0    0-0    0-0
    OffsetDelete                 -      0-0    0-0    0-0    0-0
    DescribeClientQuotas         -      0-1    0-1    0-1    0-1
    AlterClientQuotas            -      0-1    0-1    0-1    0-1
    DescribeUserScramCredentials -      0-0    -      0-0    0-0
    AlterUserScramCredentials    -      0-0    -      0-0    0-0
    DescribeQuorum               -      -      0-1    0-2    0-2
    AlterPartition               -      0-0    -      -      -
    UpdateFeatures               -      0-0    0-1    0-1    0-2
    DescribeCluster              -      0-0    0-0    0-1    0-2
    DescribeProducers            -      0-0    0-0    0-0    0-0
    UnregisterBroker             -      -      0-0    0-0    0-0
    DescribeTransactions         -      -      0-0    0-0    0-0
    ListTransactions             -      -      0-0    0-1    0-1
    ConsumerGroupHeartbeat       -      -      -      0-0    0-1
    ConsumerGroupDescribe        -      -      -      0-0    0-1
    ListConfigResources          -      -      -      0-0    0-0
    DescribeTopicPartitions      -      -      -      0-0    0-0
    AddRaftVoter                 -      -      -      0-0    0-0
    RemoveRaftVoter              -      -      -      0-0    0-0
"""
# Supported levels. Before 3.3 there is none that a client could see.
_FEATURES: Final[Mapping[str, Mapping[str, Versions]]] = {
    "2.0": {},
    "2.8": {},
    "3.3": {"metadata.version": (1, 7)},
    "3.9": {"kraft.version": (0, 1), "metadata.version": (1, 21)},
    "4.0": {
        "eligible.leader.replicas.version": (0, 1),
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "metadata.version": (7, 25),
        "transaction.version": (0, 2),
    },
}
_NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Release:
    name: str
    apis: Mapping[int, Versions]
    features: Mapping[str, Versions]

    def serves(self, api_key: int, version: int) -> bool:
        low, high = self.apis.get(api_key, (0, -1))
        return low <= version <= high

    def own_row(self) -> list[dict[str, int]]:
        """How a client that asked ApiVersions in too new a version learns the right one."""
        return [_row(ApiKey.API_VERSIONS, self.apis[ApiKey.API_VERSIONS])]

    def advertise(self, answer: Resolved) -> Resolved:
        """The answer to ApiVersions, cut down to what this release says."""
        assert isinstance(answer, Mapping), "ApiVersions is answered at once, with fields"
        if answer["error_code"]:
            return answer
        rows = []
        for row in answer["api_keys"]:
            low, high = self.apis.get(int(row["api_key"]), (0, -1))
            low, high = max(low, row["min_version"]), min(high, row["max_version"])
            if low <= high:
                rows.append(_row(row["api_key"], (low, high)))
        return {
            **answer,
            "api_keys": rows,
            "supported_features": [
                self._feature(one, "min_version", "max_version")
                for one in answer["supported_features"]
                if one["name"] in self.features
            ],
            "finalized_features": [
                self._feature(one, "min_version_level", "max_version_level")
                for one in answer["finalized_features"]
                if one["name"] in self.features
            ],
            "finalized_features_epoch": (
                answer["finalized_features_epoch"] if self.features else _NO_EPOCH
            ),
        }

    def _feature(self, row: Mapping[str, Any], low: str, high: str) -> dict[str, Any]:
        most = self.features[row["name"]][1]
        return {**row, low: min(row[low], most), high: min(row[high], most)}


def release_named(name: str) -> Release:
    known = _releases()
    if name not in known:
        raise ValueError(f"api_versions={name!r}: known releases are {', '.join(known)}")
    return known[name]


@cache
def _releases() -> dict[str, Release]:
    head, *rows = (line.split() for line in _TABLE.strip().splitlines())
    keys = {key.camel_name: int(key) for key in ApiKey}
    apis: dict[str, dict[int, Versions]] = {name: {} for name in head[1:]}
    for api, *columns in rows:
        for name, versions in zip(apis, columns, strict=True):
            low, dash, high = versions.partition("-")
            if low and dash:
                apis[name][keys[api]] = (int(low), int(high))
    return {name: Release(name, apis[name], _FEATURES[name]) for name in apis}


def _row(api_key: int, versions: Versions) -> dict[str, int]:
    return {"api_key": api_key, "min_version": versions[0], "max_version": versions[1]}
