"""Who is heartbeating: a member we know, a new one, or a static one back under a new id."""

from dataclasses import replace

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.consumer.checks import is_within, known_static_member
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.events import ConsumerHeartbeat
from kafkapy.group.consumer.member import Profile
from kafkapy.group.consumer.stored import (
    holding_record,
    member_tombstones,
    profile_record,
    target_record,
)
from kafkapy.group.consumer.timers import clear_member_timers
from kafkapy.group.members import JOINING, LEAVING_FOR_A_WHILE, check_epoch, known_member


def subscribe(event: ConsumerHeartbeat, member_id: str, draft: ConsumerDraft) -> Profile | None:
    """The member's profile as it stands; None for one that is new."""
    group = draft.group
    is_joining = event.member_epoch == JOINING
    if event.instance_id is None:
        profile = group.profiles.get(member_id)
        if profile is None and not is_joining:
            return known_member(group, member_id)
    elif is_joining:
        return _join_static(event.instance_id, member_id, draft)
    else:
        profile = known_static_member(group, event.instance_id, member_id)
    holding = group.holding(member_id)
    # Asked only of one that is behind: nearly none is, and a list may be long.
    is_behind = event.member_epoch < holding.epoch
    has_no_more = not is_behind or is_within(event.owned, holding.assigned)
    check_epoch("consumer", holding, event.member_epoch, has_no_more=has_no_more)
    return profile


def replace_static(draft: ConsumerDraft, standing: Profile, member_id: str) -> Profile:
    """Target and partitions pass to the new member id, which starts at epoch 0."""
    group = draft.group
    target = group.target(standing.member_id)
    holding = replace(group.holding(standing.member_id), epoch=0, previous_epoch=0)
    profile = replace(standing, member_id=member_id)
    draft.write_all(member_tombstones(draft.group_id, standing.member_id))
    clear_member_timers(draft.plan, draft.group_id, standing.member_id)
    draft.write(profile_record(draft.group_id, profile))
    draft.write(target_record(draft.group_id, member_id, target))
    draft.write(holding_record(draft.group_id, member_id, holding))
    return profile


def _join_static(instance_id: str, member_id: str, draft: ConsumerDraft) -> Profile | None:
    """An instance's place is free for its next life once it said that it leaves for a while
    (or, coming from the classic protocol, at any time)."""
    standing = draft.group.static_member(instance_id)
    if standing is None:
        return draft.group.profiles.get(member_id)
    epoch = draft.group.holding(standing.member_id).epoch
    if not standing.is_classic and epoch != LEAVING_FOR_A_WHILE:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group "
            f"because the instance id is owned by {standing.member_id} member.",
        )
    return replace_static(draft, standing, member_id)
