"""What members of a share group say and hear, and what is asked about the group."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from kafkapy.group.share.member import Profile, Target
from kafkapy.group.topics import TopicPartitions


class StateToInitialize(NamedTuple):
    """Share partitions that a group is about to read: to be told to the share coordinator, and
    back here as ShareStateInitialized."""

    group_id: str
    state_epoch: int
    topics: tuple[TopicPartitions, ...]


class ShareHeartbeat(NamedTuple):
    """None means unchanged."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    rack_id: str | None = None
    subscribed_topics: tuple[str, ...] | None = None


class ShareHeartbeatHeard(NamedTuple):
    """`assignment` None means: as you know it. `to_initialize` is for the node."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Target | None
    to_initialize: StateToInitialize | None = None


class ShareStateInitialized(NamedTuple):
    """The share coordinator has these."""

    group_id: str
    topics: tuple[TopicPartitions, ...]


class ShareStateDeleted(NamedTuple):
    """The share coordinator has nothing of these topics any more."""

    group_id: str
    topic_ids: frozenset[UUID]


class DescribeShareGroup(NamedTuple):
    group_id: str


class DescribedShareMember(NamedTuple):
    profile: Profile
    epoch: int
    assignment: tuple[TopicPartitions, ...]


class ShareGroupDescribed(NamedTuple):
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedShareMember, ...]


class ShareOffsetsWanted(NamedTuple):
    """Which partitions have state in this group."""

    group_id: str


class ShareOffsetsKept(NamedTuple):
    topics: tuple[TopicPartitions, ...]


class AlterShareOffsets(NamedTuple):
    """The group, which is empty, is to begin elsewhere in these."""

    group_id: str
    topics: tuple[TopicPartitions, ...]


class DeleteShareOffsets(NamedTuple):
    group_id: str
    topics: Mapping[UUID, str]


class ShareStateToDelete(NamedTuple):
    """To be told to the share coordinator, and back here as ShareStateDeleted."""

    topics: tuple[TopicPartitions, ...]


class Noted(NamedTuple):
    pass
