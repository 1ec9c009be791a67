"""Requests about many partitions, of which each stands by itself: decided on some at a time.

    AlterPartition of 5,000 --> 50 of 100 each, others served in between --> one reply

Each part is committed as a batch of its own; who asked hears when all of them are. If one is
refused as a whole (this node does not lead any more) the request is: it is asked again, and what
was done already is seen by its epochs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock
from kafkapy.kraft.controller import sweeps
from kafkapy.kraft.controller.elections import ElectLeaders, ElectReply
from kafkapy.kraft.controller.isr import AlterPartition, AlterPartitionReply
from kafkapy.kraft.image.image import MetadataImage

Then = Callable[[Any], None]
Submit = Callable[[Any, Then], None]
Join = Callable[[list[Any]], Any]


def parts_of(event: Any, image: MetadataImage) -> tuple[Sequence[Any], Join] | None:
    """The parts of the event, and what makes one reply of theirs. None: it is small."""
    match event:
        case AlterPartition() if len(event.partitions) > sweeps.SLICE:
            return [replace(event, partitions=one) for one in _slices(event.partitions)], _in_order
        case ElectLeaders(None):
            # Those that have their leader need nothing, and would not be named.
            wanted = tuple(
                where
                for where, state in image.partitions()
                if state.leader != state.preferred_leader
            )
            parts = [replace(event, partitions=one) for one in _slices(wanted)]
            return (parts, _elected_where_needed) if len(parts) > 1 else None
        case ElectLeaders(tuple() as partitions) if len(partitions) > sweeps.SLICE:
            return [replace(event, partitions=one) for one in _slices(partitions)], _elected
    return None


def submit_parts(
    parts: Sequence[Any], join: Join, submit: Submit, clock: Clock, then: Then
) -> None:
    replies: list[Any] = [None] * len(parts)
    left = len(parts)
    is_answered = False

    def decided(at: int, reply: Any) -> None:
        nonlocal left, is_answered
        replies[at] = reply
        left -= 1
        if is_answered:
            return
        if isinstance(reply, Refused):
            is_answered = True
            then(reply)
        elif not left:
            is_answered = True
            then(join(replies))

    def go_on(at: int) -> None:
        submit(parts[at], lambda reply: decided(at, reply))
        if at + 1 < len(parts) and not is_answered:
            clock.call_soon(lambda: go_on(at + 1))

    go_on(0)


def _slices(partitions: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    for begin in range(0, len(partitions), sweeps.SLICE):
        yield tuple(partitions[begin : begin + sweeps.SLICE])


def _in_order(replies: list[AlterPartitionReply]) -> AlterPartitionReply:
    return tuple(one for reply in replies for one in reply)


def _elected(replies: list[ElectReply]) -> ElectReply:
    return {where: verdict for reply in replies for where, verdict in reply.items()}


def _elected_where_needed(replies: list[ElectReply]) -> ElectReply:
    return {
        where: verdict
        for where, verdict in _elected(replies).items()
        if verdict is None or verdict.code is not ErrorCode.ELECTION_NOT_NEEDED
    }
