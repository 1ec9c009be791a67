"""The group's epoch, and the target assignment computed for it.

The epoch grows when members, topics or the settings of assignments change. Targets follow, but
not before the first members had time to come (initial rebalance delay), and not more often than
the assignment interval allows: members that come together are assigned together.
"""

from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.plan import Context
from kafkapy.group.streams.configure import Configured, Status, StatusCode, configure
from kafkapy.group.streams.group import (
    AssignmentDelayed,
    StreamsDraft,
    StreamsGroup,
    StreamsRefreshWanted,
    TopologyConfigured,
)
from kafkapy.group.streams.member import NOTHING, Target
from kafkapy.group.streams.sticky import Candidate, assign
from kafkapy.group.streams.stored import (
    assignment_epoch_record,
    epoch_record,
    target_record,
)
from kafkapy.group.streams.topology import Topology
from kafkapy.group.topics import fingerprint

STANDBYS = "num.standby.replicas"


def update_epoch(
    draft: StreamsDraft, topology: Topology, ctx: Context, *, has_changed: bool, is_new: bool
) -> Configured:
    """The topology as its topics are now, and a new epoch if anything is new.

    Of a new group it is not remembered: if its first member is not heard of again within the
    initial delay, nothing is assigned when that is over, but with the next heartbeat. So it is
    with Apache Kafka, and its internal topics are there by then."""
    group = draft.group
    number, configured = group.metadata_hash, group.configured
    if configured is None or group.wants_refresh:
        number = fingerprint(topology.required, ctx.topics)
        if configured is None or number != group.metadata_hash:
            configured = configure(topology, ctx.topics)
            if not is_new:
                draft.note(TopologyConfigured(group.group_id, configured))
            has_changed = has_changed or number != group.metadata_hash
        if group.wants_refresh:
            draft.note(StreamsRefreshWanted(group.group_id, is_wanted=False))
    validated = topology.epoch if configured.is_ready else -1
    configs = {STANDBYS: str(ctx.settings.streams_standbys(group.group_id))}
    if (
        has_changed
        or validated != group.validated_topology_epoch
        or configs != group.assignment_configs
    ):
        draft.write(epoch_record(group.group_id, group.epoch + 1, number, validated, configs))
    return configured


def delay_first(draft: StreamsDraft, ctx: Context) -> None:
    """The first member of a group waits for others; those who come meanwhile, with it."""
    delay_ms = ctx.settings.streams_initial_rebalance_delay(draft.group_id)
    if delay_ms > 0 and not draft.group.is_delayed:
        draft.note(AssignmentDelayed(draft.group_id, is_delayed=True))
        draft.plan.timers[timers.assign(draft.group_id)] = later(ctx.now, delay_ms)


def delay_is_over(draft: StreamsDraft, ctx: Context) -> None:
    draft.note(AssignmentDelayed(draft.group_id, is_delayed=False))
    group = draft.group
    if not group.is_empty and group.configured is not None:
        update_targets(draft, group.configured, ctx)


def update_targets(draft: StreamsDraft, configured: Configured, ctx: Context) -> Status | None:
    """Why there is none yet, or None."""
    group = draft.group
    if group.is_delayed:
        return _delayed("initial rebalance delay")
    if group.epoch <= group.assignment_epoch:
        return None
    interval_ms = ctx.settings.streams_assignment_ms(group.group_id)
    if group.assignment_timestamp and 0 <= ctx.wall - group.assignment_timestamp < interval_ms:
        return _delayed("assignment interval")
    for member_id, target in _assign(group, configured).items():
        if member_id not in group.targets or group.targets[member_id] != target:
            draft.write(target_record(group.group_id, member_id, target))
    draft.write(assignment_epoch_record(group.group_id, group.epoch, ctx.wall))
    return None


def _assign(group: StreamsGroup, configured: Configured) -> dict[str, Target]:
    if not configured.is_ready:
        return dict.fromkeys(sorted(group.profiles), NOTHING)
    members = [
        Candidate(member_id, profile.process_id, group.target(member_id))
        for member_id, profile in sorted(group.profiles.items())
    ]
    return assign(members, configured.parts, int(group.assignment_configs.get(STANDBYS, "0")))


def _delayed(why: str) -> Status:
    return Status(StatusCode.ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {why}.")
