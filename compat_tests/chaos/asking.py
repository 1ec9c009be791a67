"""Who leads, who coordinates: asked over Kafka's protocol, of whoever answers first."""

from typing import Final

from kafkapy.cli.client import Client
from kafkapy.cli.local.cluster_state import ClusterState, cluster_state
from kafkapy.cli.main import Failed
from kafkapy.protocol.api_keys import ApiKey

GROUP: Final = 0
TRANSACTION: Final = 1
_TIMEOUT_S: Final = 2.0


def leader_of(servers: str, topic: str, partition: int) -> int | None:
    """None while it has none, or nobody says."""
    try:
        with Client(servers, _TIMEOUT_S) as client:
            rows = client.metadata([topic]).topics[0].partitions
    except Failed:
        return None
    leaders = [row.leader_id for row in rows if row.partition_index == partition]
    return leaders[0] if leaders and leaders[0] >= 0 else None


def coordinator_of(servers: str, kind: int, key: str) -> int | None:
    try:
        with Client(servers, _TIMEOUT_S) as client:
            asked = {"key": key, "key_type": kind, "coordinator_keys": [key]}
            found = client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators[0]
    except Failed:
        return None
    return None if found.error_code else int(found.node_id)


__all__ = ["GROUP", "TRANSACTION", "ClusterState", "cluster_state", "coordinator_of", "leader_of"]
