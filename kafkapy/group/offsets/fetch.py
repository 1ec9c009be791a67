"""OffsetFetch: where the group got to.

A group that does not exist has committed nothing, which is an answer and no error. A
commit for a topic that was deleted and made again under the same name is not this topic's.
"""

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.consumer.commits import check_fetch
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.offsets.events import FetchedOffset, FetchOffsets, OffsetsFetched
from kafkapy.group.plan import Context
from kafkapy.group.state import GroupState
from kafkapy.group.streams.commits import check_fetch as check_streams_fetch
from kafkapy.group.streams.group import StreamsGroup


def fetch(event: FetchOffsets, state: GroupState, ctx: Context) -> OffsetsFetched:
    group = state.groups.get(event.group_id)
    if isinstance(group, ConsumerGroup):
        check_fetch(group, event.member_id, event.member_epoch)
    elif isinstance(group, StreamsGroup):
        check_streams_fetch(group, event.member_id, event.member_epoch)
    partitions = event.partitions
    if partitions is None:
        partitions = tuple(sorted(state.offsets.of_group(event.group_id)))
    return OffsetsFetched(
        tuple(_fetch_one(event, partition, state, ctx) for partition in partitions)
    )


def _fetch_one(
    event: FetchOffsets, partition: TopicPartition, state: GroupState, ctx: Context
) -> FetchedOffset:
    if event.require_stable and state.offsets.is_pending(event.group_id, partition):
        return FetchedOffset(partition, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    committed = state.offsets.get(event.group_id, partition)
    if committed is not None and committed.topic_id is not None:
        topic = ctx.topics.named(partition.topic)
        if topic is not None and topic.topic_id != committed.topic_id:
            committed = None
    return FetchedOffset(partition, committed)
