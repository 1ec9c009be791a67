"""Members go: by saying so, by silence, or because they keep what they should give up.

A static member that leaves for a while (epoch -2) keeps its place and partitions until
its session ends; only what it was to give up is free at once.
"""

from collections.abc import Iterable
from dataclasses import replace

from kafkapy.group import timers
from kafkapy.group.consumer import regexes
from kafkapy.group.consumer.checks import known_static_member
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatHeard
from kafkapy.group.consumer.member import OWNS_NOTHING
from kafkapy.group.consumer.stored import epoch_record, holding_record, member_tombstones
from kafkapy.group.consumer.timers import clear_member_timers
from kafkapy.group.members import LEAVING_FOR_A_WHILE, known_member
from kafkapy.group.plan import Context
from kafkapy.group.topics import fingerprint


def leave(event: ConsumerHeartbeat, draft: ConsumerDraft) -> str | None:
    """The member that is to be taken out; None if it stays a member for a while."""
    if event.instance_id is None:
        profile = known_member(draft.group, event.member_id)
    else:
        profile = known_static_member(draft.group, event.instance_id, event.member_id)
    draft.plan.reply = ConsumerHeartbeatHeard(event.member_id, event.member_epoch, 0, None)
    if event.member_epoch != LEAVING_FOR_A_WHILE:
        return profile.member_id
    holding = replace(
        draft.group.holding(profile.member_id),
        epoch=LEAVING_FOR_A_WHILE,
        pending_revocation=OWNS_NOTHING,
    )
    draft.write(holding_record(draft.group_id, profile.member_id, holding))
    # There is nothing to give up any more; only the session can end its time.
    draft.plan.timers[timers.rebalance(draft.group_id, profile.member_id)] = None
    return None


def take_out(draft: ConsumerDraft, member_ids: Iterable[str], ctx: Context) -> None:
    """What they owned is free, and the next epoch assigns it to others."""
    for member_id in member_ids:
        draft.write_all(member_tombstones(draft.group_id, member_id))
        clear_member_timers(draft.plan, draft.group_id, member_id)
    regexes.forget_unused(draft)
    group = draft.group
    number = fingerprint(group.subscribed_topics(), ctx.topics)
    draft.write(epoch_record(group.group_id, group.epoch + 1, number))
