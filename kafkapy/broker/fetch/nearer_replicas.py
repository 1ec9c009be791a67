"""Where a consumer that names its rack reads instead of at the leader (KIP-392).

Kafka's RackAwareReplicaSelector: of the replicas in sync that have the offset, the one furthest
ahead in the consumer's rack; the leader itself if it is there too, or if nobody is. The consumer
asks the leader again when its metadata is older than its metadata.max.age.ms.
"""

from typing import Protocol

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.shared_values import RACK_AWARE_SELECTOR
from kafkapy.broker.metadata.cluster_view import ClusterView
from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.time import Instant


class Needs(Protocol):
    @property
    def cluster(self) -> ClusterView: ...

    @property
    def config(self) -> BrokerConfig: ...


def nearer_replicas(node: Needs, listener: str, rack: str, now: Instant) -> "NearerReplicas | None":
    """None where every consumer is to read at the leader."""
    if node.config.replica_selector_class != RACK_AWARE_SELECTOR:
        return None
    return NearerReplicas(node.cluster, listener, rack, now)


class NearerReplicas:
    """For one fetch of a consumer that came in on `listener`, at `now`."""

    __slots__ = ("_cluster", "_listener", "_now", "_rack", "_racks")

    def __init__(self, cluster: ClusterView, listener: str, rack: str, now: Instant) -> None:
        self._cluster = cluster
        self._listener = listener
        self._rack = rack
        self._now = now
        self._racks: dict[int, str | None] | None = None

    def to_read(self, partition: Partition, offset: int) -> int | None:
        """Another node that has `offset`, if this one leads and is further away."""
        followers = partition.followers
        if followers is None:
            return None
        if self._racks is None:
            self._racks = self._cluster.racks(self._listener)
        racks = self._racks
        if racks.get(partition.leader) == self._rack:
            return None
        there = [
            (progress.log_end_offset, progress.caught_up_at, replica)
            for replica, progress in followers.progress.items()
            if racks.get(replica) == self._rack
            and replica in followers.agreed
            and progress.log_start_offset <= offset <= progress.log_end_offset
        ]
        return max(there)[2] if there else None
