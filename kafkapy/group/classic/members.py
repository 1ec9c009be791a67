"""Is this member who it says it is? (KIP-345 for the static ones.)"""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic.group import ClassicGroup, ClassicMember
from kafkapy.group.plan import Context, Plan


def known_member(group: ClassicGroup, member_id: str, instance_id: str | None) -> ClassicMember:
    """An instance id belongs to one member; whoever else comes with it is fenced."""
    if instance_id is not None:
        holder = group.static_members.get(instance_id)
        if holder is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if holder != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
    member = group.members.get(member_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    return member


def expect_heartbeat(group: ClassicGroup, member: ClassicMember, plan: Plan, ctx: Context) -> None:
    """Whoever is not heard of within its session timeout is gone."""
    key = timers.session(group.group_id, member.member_id)
    plan.timers[key] = later(ctx.now, member.session_timeout_ms)


def expect_nothing(group: ClassicGroup, member_id: str, plan: Plan) -> None:
    plan.timers[timers.session(group.group_id, member_id)] = None
