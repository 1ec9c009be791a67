"""What a cluster says of itself: who leads its metadata quorum, which brokers are there, and
which partitions are not whole. Whoever answers first is asked; a paused node is not waited for.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafkapy.cli.client import Client
from kafkapy.cli.main import Failed
from kafkapy.protocol.api_keys import ApiKey

_TIMEOUT_SECONDS: Final = 2.0
_METADATA_TOPIC: Final = "__cluster_metadata"


class ClusterState(NamedTuple):
    """`fenced`: of each registered broker. `leads`: of how many partitions. `behind`: replicas
    that are not in sync, `leaderless`: partitions."""

    controller_id: int
    epoch: int
    fenced: dict[int, bool]
    leads: Counter[int]
    behind: Counter[int]
    leaderless: int

    @property
    def active(self) -> set[int]:
        return {broker_id for broker_id, is_fenced in self.fenced.items() if not is_fenced}

    @property
    def is_whole(self) -> bool:
        return not self.leaderless and not self.behind


def cluster_state(addresses: Iterable[str]) -> ClusterState | None:
    """None if no broker is there that knows; a quorum without a leader has nobody who does."""
    for address in addresses:
        try:
            with Client(address, _TIMEOUT_SECONDS) as client:
                return _asked(client)
        except Failed:
            continue
    return None


def _asked(client: Client) -> ClusterState:
    partition = {"topic_name": _METADATA_TOPIC, "partitions": [{"partition_index": 0}]}
    quorum = client.ask(ApiKey.DESCRIBE_QUORUM, {"topics": [partition]})
    if quorum.error_code:
        raise Failed("nobody leads the quorum")
    (topic,) = quorum.topics
    (leader,) = topic.partitions
    about = {"endpoint_type": 1, "include_fenced_brokers": True}
    about["include_cluster_authorized_operations"] = False
    brokers = client.ask(ApiKey.DESCRIBE_CLUSTER, about).brokers
    leads: Counter[int] = Counter()
    behind: Counter[int] = Counter()
    leaderless = 0
    for one in client.metadata(None).topics:
        for row in one.partitions:
            if row.leader_id < 0:
                leaderless += 1
            else:
                leads[int(row.leader_id)] += 1
            behind.update(set(map(int, row.replica_nodes)) - set(map(int, row.isr_nodes)))
    return ClusterState(
        int(leader.leader_id),
        leader.leader_epoch,
        {int(one.broker_id): bool(one.is_fenced) for one in brokers},
        leads,
        behind,
        leaderless,
    )
