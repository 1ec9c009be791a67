"""Heartbeat: the member is alive; it learns whether it has to rejoin.

The most frequent request there is: it reads, and moves one timer.
"""

from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant, later
from kafkapy.group import timers
from kafkapy.group.classic.events import Heartbeat, HeartbeatHeard
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from kafkapy.group.classic.members import known_member

_HEARD: Final = HeartbeatHeard()
_REJOIN: Final = HeartbeatHeard(ErrorCode.REBALANCE_IN_PROGRESS)


def heartbeat(event: Heartbeat, group: ClassicGroup, now: Instant) -> Step[object, HeartbeatHeard]:
    member = known_member(group, event.member_id, event.instance_id)
    if event.generation != group.generation:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    if group.is_empty:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    reply = _REJOIN if group.state is ClassicState.PREPARING_REBALANCE else _HEARD
    until = later(now, member.session_timeout_ms)
    return Step(reply=reply, timers={timers.session(group.group_id, member.member_id): until})
