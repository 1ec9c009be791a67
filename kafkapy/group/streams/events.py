"""What members of a streams group say and hear, and what is asked about the group."""

from typing import NamedTuple

from kafkapy.group.records.streams import StreamsGroupTopologyValue
from kafkapy.group.streams.configure import Configured, Status
from kafkapy.group.streams.endpoints import EndpointPartitions
from kafkapy.group.streams.member import Holding, Profile, Target
from kafkapy.group.streams.topology import InternalTopic, Topology


class StreamsHeartbeat(NamedTuple):
    """None means unchanged; `owned` None: it does not say. `endpoint_epoch` is of the partitions
    by endpoint that it knows."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    endpoint_epoch: int = -1
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: StreamsGroupTopologyValue | None = None
    owned: Target | None = None
    process_id: str | None = None
    user_endpoint: tuple[str, int] | None = None
    client_tags: tuple[tuple[str, str], ...] | None = None
    shuts_down: bool = False


class StreamsHeartbeatHeard(NamedTuple):
    """`tasks` None means: as you know them; so does `endpoints`. `to_create` is for the node."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    statuses: tuple[Status, ...] = ()
    tasks: Target | None = None
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointPartitions, ...] | None = None
    to_create: tuple[InternalTopic, ...] = ()


class DescribeStreamsGroup(NamedTuple):
    group_id: str


class DescribedStreamsMember(NamedTuple):
    profile: Profile
    holding: Holding
    target: Target


class StreamsGroupDescribed(NamedTuple):
    """`configured` only if it is ready: else the topology is told as it was sent."""

    state: str
    epoch: int
    assignment_epoch: int
    topology: Topology | None
    configured: Configured | None
    members: tuple[DescribedStreamsMember, ...]
