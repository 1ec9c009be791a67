"""What makes a heartbeat invalid, or its sender not the member it claims to be."""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.consumer.events import ConsumerHeartbeat
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import (
    JOINING,
    LEAVING_FOR_A_WHILE,
    Holding,
    Owned,
    Profile,
    Target,
)
from kafkapy.group.plan import Context


def check_request(event: ConsumerHeartbeat, ctx: Context) -> None:
    """Whatever the group is like (formats/groups 3, KIP-848)."""
    if not ctx.settings.is_consumer_protocol_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if not event.group_id:
        raise _invalid("GroupId can't be empty.")
    if event.instance_id == "":
        raise _invalid("InstanceId can't be empty.")
    if event.rack_id == "":
        raise _invalid("RackId can't be empty.")
    if not event.member_id and not (event.may_generate_id and event.member_epoch == JOINING):
        raise _invalid("MemberId can't be empty.")
    if event.member_epoch == JOINING:
        _check_join(event)
    elif event.member_epoch == LEAVING_FOR_A_WHILE and event.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif event.member_epoch < LEAVING_FOR_A_WHILE:
        raise _invalid("MemberEpoch is invalid.")
    assignors = ctx.settings.consumer_assignors
    if event.server_assignor is not None and event.server_assignor not in assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {event.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def _check_join(event: ConsumerHeartbeat) -> None:
    if event.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if event.owned is None or event.owned:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if event.subscribed_topics is None and event.subscribed_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )


def check_room(group: ConsumerGroup, member_id: str, ctx: Context) -> None:
    if len(group.profiles) >= ctx.settings.consumer_max_size and member_id not in group.profiles:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of "
            f"{ctx.settings.consumer_max_size} members.",
        )


def check_epoch(holding: Holding, epoch: int, reported: Target | None) -> None:
    """A member may be one epoch behind if our answer was lost; then it owns no more than
    it did. Above ours it can only be if we lost its record: it must start over. Epoch 0
    starts over."""
    if epoch == JOINING:
        return
    if epoch > holding.epoch:
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a greater member epoch ({epoch}) than the one known "
            f"by the group coordinator ({holding.epoch}). "
            "The member must abandon all its partitions and rejoin.",
        )
    if epoch < holding.epoch and (
        epoch != holding.previous_epoch or not _is_within(reported, holding.assigned)
    ):
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a smaller member epoch ({epoch}) than the one known "
            f"by the group coordinator ({holding.epoch}). "
            "The member must abandon all its partitions and rejoin.",
        )


def known_static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> Profile:
    profile = group.static_member(instance_id)
    if profile is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if profile.member_id != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by "
            f"member {profile.member_id}.",
        )
    return profile


def known_member(group: ConsumerGroup, member_id: str) -> Profile:
    profile = group.profiles.get(member_id)
    if profile is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member_id} is not a member of group {group.group_id}.",
        )
    return profile


def _is_within(reported: Target | None, assigned: Owned) -> bool:
    if reported is None:
        return False
    return all(
        partition in assigned.get(topic_id, {})
        for topic_id, partitions in reported.items()
        for partition in partitions
    )


def _invalid(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)
