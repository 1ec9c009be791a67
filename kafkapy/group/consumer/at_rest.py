"""A heartbeat that says nothing new, of a member at rest in a group at rest.

Nearly every one is of that kind, and all it does is to move the member's session. It is
judged here in one go; where anything is to be decided the answer is None, and `heartbeat`
decides. What is answered here it would answer with the same step (tests/group/world.py
holds every heartbeat of every test against it).
"""

from kafkapy.core.step import Step
from kafkapy.core.time import Instant, later
from kafkapy.group import timers
from kafkapy.group.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatHeard
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.settings import GroupSettings


def heartbeat_at_rest(
    event: ConsumerHeartbeat, group: ConsumerGroup, settings: GroupSettings, now: Instant
) -> Step[object, ConsumerHeartbeatHeard] | None:
    if (
        event.subscribed_topics is not None
        or event.owned is not None
        or event.subscribed_regex is not None
        or event.server_assignor is not None
        or event.rack_id is not None
        or event.rebalance_timeout_ms != -1
    ):
        return None
    epoch = event.member_epoch
    if (
        not epoch == group.epoch == group.assignment_epoch
        or group.wants_refresh
        or not settings.is_consumer_protocol_enabled
    ):
        return None
    group_id, member_id, instance_id = group.group_id, event.member_id, event.instance_id
    profile = group.profiles.get(member_id)
    if (
        profile is None
        or profile.client_id != event.client_id
        or profile.client_host != event.client_host
        or profile.subscribed_regex is not None
        or profile.classic is not None
        or not group.holding(member_id).is_reconciled_to(epoch)
    ):
        return None
    if instance_id is not None and group.static_members.get(instance_id) != member_id:
        return None
    until = later(now, settings.session_timeout_ms(group_id))
    return Step(
        reply=ConsumerHeartbeatHeard(
            member_id, epoch, settings.heartbeat_interval_ms(group_id), None
        ),
        timers={timers.session(group_id, member_id): until},
    )
