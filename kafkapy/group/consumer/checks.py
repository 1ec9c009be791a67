"""What makes a heartbeat invalid, or its sender not the member it claims to be."""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.consumer.events import ConsumerHeartbeat
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import Owned, Profile, Target
from kafkapy.group.members import JOINING, LEAVING_FOR_A_WHILE, invalid
from kafkapy.group.plan import Context


def check_request(event: ConsumerHeartbeat, ctx: Context) -> None:
    """Whatever the group is like (formats/groups 3, KIP-848)."""
    if not ctx.settings.is_consumer_protocol_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if not event.group_id:
        raise invalid("GroupId can't be empty.")
    if event.instance_id == "":
        raise invalid("InstanceId can't be empty.")
    if event.rack_id == "":
        raise invalid("RackId can't be empty.")
    if not event.member_id and not (event.may_generate_id and event.member_epoch == JOINING):
        raise invalid("MemberId can't be empty.")
    if event.member_epoch == JOINING:
        _check_join(event)
    elif event.member_epoch == LEAVING_FOR_A_WHILE and event.instance_id is None:
        raise invalid("InstanceId can't be null.")
    elif event.member_epoch < LEAVING_FOR_A_WHILE:
        raise invalid("MemberEpoch is invalid.")
    assignors = ctx.settings.consumer_assignors
    if event.server_assignor is not None and event.server_assignor not in assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {event.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def _check_join(event: ConsumerHeartbeat) -> None:
    if event.rebalance_timeout_ms == -1:
        raise invalid("RebalanceTimeoutMs must be provided in first request.")
    if event.owned is None or event.owned:
        raise invalid("TopicPartitions must be empty when (re-)joining.")
    if event.subscribed_topics is None and event.subscribed_regex is None:
        raise invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
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


def is_within(reported: Target | None, assigned: Owned) -> bool:
    if reported is None:
        return False
    return all(
        partition in assigned.get(topic_id, {})
        for topic_id, partitions in reported.items()
        for partition in partitions
    )
