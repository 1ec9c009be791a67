"""Requests about many partitions, of which each stands by itself: decided on some at a time.

    AlterPartition of 5,000 --> 50 of 100 each, others served in between --> one reply
    CreateTopics of 10,000  --> whole topics, to a hundred partitions at a time --> one reply

Each part is committed as a batch of its own; who asked hears when all of them are. If one is
refused as a whole (this node does not lead any more) the request is: it is asked again, and what
was done already is seen by its epochs, or is there already. That is where this is not Apache
Kafka, whose controller writes one batch and so makes all of the topics of a request or none when
it falls in the middle. What an operation may not be as a whole is refused before (topics.py).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.kraft.controller.partitions.directories import AssignReplicas
from kafkapy.kraft.controller.partitions.elections import ElectLeaders, ElectReply, unpreferred
from kafkapy.kraft.controller.partitions.isr import AlterPartition
from kafkapy.kraft.controller.partitions.reassignments import AlterReassignments
from kafkapy.kraft.controller.state import MAX_RECORDS_PER_OPERATION, ControllerState
from kafkapy.kraft.controller.topics.changes import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    refused_names,
    size_of,
)
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import TopicState

Then = Callable[[Any], None]
Submit = Callable[[Any, Then], None]
Join = Callable[[list[Any]], Any]


def parts_of(event: Any, state: ControllerState) -> tuple[Sequence[Any], Join] | None:
    """The parts of the event, and what makes one reply of theirs. None: it is small, or too
    large to be done at all."""
    image, rules = state.image, state.rules
    match event:
        case CreateTopics():
            return _of_new_topics(event, image, rules.default_partitions)
        case DeleteTopics():
            return _of_old_topics(event, image)
        case CreatePartitions():
            return _of_grown_topics(event, image)
        case AlterReassignments() if _is_large(len(event.wanted)):
            return [replace(event, wanted=one) for one in _slices(event.wanted)], _merged
        case AlterPartition() if len(event.partitions) > sweeps.SLICE:
            return [replace(event, partitions=one) for one in _slices(event.partitions)], _in_order
        case AssignReplicas() if len(event.replicas) > sweeps.SLICE:
            return [replace(event, replicas=one) for one in _slices(event.replicas)], _in_order
        case ElectLeaders(None):
            # Those that have their leader need nothing, and would not be named.
            parts = [replace(event, partitions=one) for one in _slices(unpreferred(state))]
            return (parts, _elected_where_needed) if len(parts) > 1 else None
        case ElectLeaders(tuple() as partitions) if len(partitions) > sweeps.SLICE:
            return [replace(event, partitions=one) for one in _slices(partitions)], _merged
    return None


def _of_new_topics(
    event: CreateTopics, image: MetadataImage, default: int
) -> tuple[Sequence[Any], Join] | None:
    if not _is_large(sum(size_of(topic, default) for topic in event.topics)):
        return None
    # All of the names against each other, and against those from before: a part must not take
    # the ones of the part before it for somebody else's.
    refused = refused_names(event.topics, image.topics_by_name)
    fine = [topic for topic in event.topics if topic.name not in refused]
    groups = _by_size(fine, [size_of(topic, default) for topic in fine])
    parts = [replace(event, topics=one, names_are_fine=True) for one in groups]
    return (parts, lambda replies: {**_merged(replies), **refused}) if len(parts) > 1 else None


def _of_old_topics(event: DeleteTopics, image: MetadataImage) -> tuple[Sequence[Any], Join] | None:
    # Views first: what they are of may be in another part.
    wanted = sorted(
        dict.fromkeys(event.topic_ids), key=lambda one: _is_source(image.topics_by_id.get(one))
    )
    found = [image.topics_by_id.get(one) for one in wanted]
    sizes = [1 if topic is None else len(topic.partitions) for topic in found]
    groups = _by_size(wanted, sizes)
    return ([DeleteTopics(one) for one in groups], _merged) if len(groups) > 1 else None


def _is_source(topic: TopicState | None) -> bool:
    """That it could be one."""
    return topic is not None and bool(topic.partitions)


def _of_grown_topics(
    event: CreatePartitions, image: MetadataImage
) -> tuple[Sequence[Any], Join] | None:
    def size(wanted: MorePartitions) -> int:
        topic = image.topics_by_name.get(wanted.name)
        return 0 if topic is None else max(wanted.count - len(topic.partitions), 0)

    sizes = [size(one) for one in event.topics]
    if not _is_large(sum(sizes)):
        return None
    parts = [replace(event, topics=one) for one in _by_size(event.topics, sizes)]
    return (parts, _merged) if len(parts) > 1 else None


def _is_large(size: int) -> bool:
    return sweeps.SLICE < size <= MAX_RECORDS_PER_OPERATION


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


def _by_size(wanted: Sequence[Any], sizes: Sequence[int]) -> list[tuple[Any, ...]]:
    """In order, as many at a time as make a slice; what is larger than one stands alone."""
    groups: list[tuple[Any, ...]] = []
    group: list[Any] = []
    left = sweeps.SLICE
    for one, size in zip(wanted, sizes, strict=True):
        if group and size > left:
            groups.append(tuple(group))
            group, left = [], sweeps.SLICE
        group.append(one)
        left -= max(size, 1)
    return [*groups, tuple(group)] if group else groups


def _in_order(replies: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(one for reply in replies for one in reply)


def _merged(replies: list[Any]) -> Any:
    return {about: verdict for reply in replies for about, verdict in reply.items()}


def _elected_where_needed(replies: list[ElectReply]) -> ElectReply:
    return {
        where: verdict
        for where, verdict in _merged(replies).items()
        if verdict is None or verdict.code is not ErrorCode.ELECTION_NOT_NEEDED
    }
