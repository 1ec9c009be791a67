"""Members of groups whose protocol is a heartbeat: consumer, share and streams groups (KIP-848,
KIP-932, KIP-1071). What their epochs say, and who is refused in which words.

A member's epoch is how far it has got towards its target. It comes with the epoch of the answer
that it heard last, so it is one behind if it missed one.
"""

from collections.abc import Mapping
from typing import Final, Protocol, TypeVar

from kafkapy.core.errors import ErrorCode, Refused

# What a member says in place of an epoch.
JOINING: Final = 0
LEAVING: Final = -1
LEAVING_FOR_A_WHILE: Final = -2

_Profile_co = TypeVar("_Profile_co", covariant=True)


class Group(Protocol[_Profile_co]):
    @property
    def group_id(self) -> str: ...

    @property
    def profiles(self) -> Mapping[str, _Profile_co]: ...


class Holding(Protocol):
    @property
    def epoch(self) -> int: ...

    @property
    def previous_epoch(self) -> int: ...


def known_member(group: Group[_Profile_co], member_id: str) -> _Profile_co:
    profile = group.profiles.get(member_id)
    if profile is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member_id} is not a member of group {group.group_id}.",
        )
    return profile


def check_room(kind: str, group: Group[object], member_id: str, most: int) -> None:
    if len(group.profiles) >= most and member_id not in group.profiles:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The {kind} group has reached its maximum capacity of {most} members.",
        )


def check_epoch(kind: str, holding: Holding, epoch: int, *, has_no_more: bool = True) -> None:
    """A member may be one epoch behind if our answer was lost; then it has no more than it did.
    Above ours it can only be if we lost its record: it must start over. Epoch 0 starts over."""
    if epoch == JOINING:
        return
    if epoch > holding.epoch:
        raise _fenced(kind, "greater", epoch, holding)
    if epoch < holding.epoch and not (epoch == holding.previous_epoch and has_no_more):
        raise _fenced(kind, "smaller", epoch, holding)


def previous_epoch(holding: Holding, epoch: int) -> int:
    """Once the member is at `epoch`: what it comes with if it missed our answer."""
    return holding.previous_epoch if epoch == holding.epoch else holding.epoch


def invalid(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)


def _fenced(kind: str, how: str, epoch: int, holding: Holding) -> Refused:
    return Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {kind} group member has a {how} member epoch ({epoch}) than the one known by the "
        f"group coordinator ({holding.epoch}). The member must abandon all its partitions and "
        "rejoin.",
    )
