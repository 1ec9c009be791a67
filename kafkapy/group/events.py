"""Everything a shard of groups can be asked or told, in one place."""

from typing import NamedTuple

from kafkapy.core.step import Loaded, TimerFired
from kafkapy.group.admin import (
    ConsumerGroupDescribed,
    DeleteGroup,
    DescribeConsumerGroup,
    DescribeGroup,
    GroupDeleted,
    GroupDescribed,
    GroupHasMore,
    GroupsListed,
    ListGroups,
)
from kafkapy.group.classic.events import (
    Heartbeat,
    HeartbeatHeard,
    Joined,
    JoinGroup,
    LeaveGroup,
    Left,
    Synced,
    SyncGroup,
)
from kafkapy.group.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatHeard
from kafkapy.group.offsets.events import (
    CommitOffsets,
    CommitOffsetsInTransaction,
    DeleteOffsets,
    FetchOffsets,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsFetched,
    TopicsDeleted,
)
from kafkapy.group.share.events import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribeShareGroup,
    Noted,
    ShareGroupDescribed,
    ShareHeartbeat,
    ShareHeartbeatHeard,
    ShareOffsetsKept,
    ShareOffsetsWanted,
    ShareStateDeleted,
    ShareStateInitialized,
    ShareStateToDelete,
    StateToInitialize,
)
from kafkapy.group.streams.events import (
    DescribeStreamsGroup,
    StreamsGroupDescribed,
    StreamsHeartbeat,
    StreamsHeartbeatHeard,
)


class TopicsChanged(NamedTuple):
    """News from metadata: these topics were created, grew, moved or were deleted."""

    names: frozenset[str]


ShareEvent = (
    ShareHeartbeat
    | ShareStateInitialized
    | ShareStateDeleted
    | DescribeShareGroup
    | ShareOffsetsWanted
    | AlterShareOffsets
    | DeleteShareOffsets
)

Event = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | ConsumerHeartbeat
    | CommitOffsets
    | CommitOffsetsInTransaction
    | FetchOffsets
    | DeleteOffsets
    | ListGroups
    | DescribeGroup
    | DescribeConsumerGroup
    | DeleteGroup
    | ShareEvent
    | StreamsHeartbeat
    | DescribeStreamsGroup
    | TopicsChanged
    | TopicsDeleted
    | Loaded
    | TimerFired
)

Reply = (
    Joined
    | Synced
    | HeartbeatHeard
    | Left
    | ConsumerHeartbeatHeard
    | OffsetsCommitted
    | OffsetsFetched
    | OffsetsDeleted
    | GroupsListed
    | GroupDescribed
    | ConsumerGroupDescribed
    | GroupDeleted
    | GroupHasMore
    | ShareHeartbeatHeard
    | ShareGroupDescribed
    | ShareOffsetsKept
    | StateToInitialize
    | ShareStateToDelete
    | Noted
    | StreamsHeartbeatHeard
    | StreamsGroupDescribed
)
