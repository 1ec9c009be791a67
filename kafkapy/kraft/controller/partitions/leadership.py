"""Changes of many partitions at once: a broker goes, comes back, or loses a directory."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypedDict, Unpack
from uuid import UUID

from kafkapy.core.ids import NO_NODE
from kafkapy.kraft.controller.partitions.partition_change import Election, PartitionChange, without
from kafkapy.kraft.controller.state import ControllerState, Located
from kafkapy.kraft.image.topics import TopicState
from kafkapy.kraft.records.metadata import PartitionChangeRecord


class PartitionWishes(TypedDict, total=False):
    """Fields of PartitionChange."""

    election: Election
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    removing: tuple[int, ...]
    adding: tuple[int, ...]
    recovery: int
    unclean_shutdown: tuple[int, ...]
    lost: tuple[int, ...]
    directories: Mapping[int, UUID]


class TopicRules(NamedTuple):
    """What of a topic's settings its partitions' changes turn on."""

    min_isr: int
    election: Election


def rules_of(state: ControllerState, topic: TopicState) -> TopicRules:
    """Where the topic allows it, an election that nobody asked for may be unclean."""
    is_unclean = state.allows_unclean_election(topic.name)
    return TopicRules(
        state.min_insync_replicas(topic), Election.UNCLEAN if is_unclean else Election.ONLINE
    )


def change(
    state: ControllerState,
    at: Located,
    is_alive: Callable[[int], bool] | None = None,
    rules: TopicRules | None = None,
    **wanted: Unpack[PartitionWishes],
) -> PartitionChangeRecord | None:
    """The record that does what is wanted, None if nothing is to be done."""
    alive = state.is_active if is_alive is None else is_alive
    rules = rules_of(state, at.topic) if rules is None else rules
    wanted.setdefault("election", rules.election)

    moved = wanted.get("directories", {})

    def is_acceptable(broker: int) -> bool:
        directory = moved[broker] if broker in moved else at.state.directory(broker)
        return alive(broker) and state.is_online(broker, directory)

    return PartitionChange(
        state=at.state,
        topic_id=at.topic.id,
        index=at.index,
        is_acceptable=is_acceptable,
        min_isr=rules.min_isr,
        metadata_version=state.image.metadata_version,
        elr_enabled=state.elr_enabled,
        default_directory=state.default_directory,
        **wanted,
    ).record()


def updates(
    state: ControllerState,
    partitions: Iterable[Located],
    *,
    removed: int = NO_NODE,
    added: int = NO_NODE,
    unclean: int = NO_NODE,
) -> list[PartitionChangeRecord]:
    """What becomes of `partitions` when a broker leaves or comes.

    removed  leaves the ISR and leads nothing
    added    counts as alive although the image does not say so yet
    unclean  came back without having shut down: leaves ISR and ELR
    """

    def is_alive(broker: int) -> bool:
        return broker not in (removed, unclean) and (broker == added or state.is_active(broker))

    records = []
    rules: dict[UUID, TopicRules] = {}
    for at in partitions:
        if at.topic.id not in rules:
            rules[at.topic.id] = rules_of(state, at.topic)
        record = change(
            state,
            at,
            is_alive,
            rules[at.topic.id],
            isr=without(at.state.isr, (removed, unclean)),
            unclean_shutdown=() if unclean == NO_NODE else (unclean,),
        )
        if record is not None:
            records.append(record)
    return records


def elections(
    state: ControllerState, partitions: Iterable[Located], election: Election
) -> list[PartitionChangeRecord]:
    """What comes of elections that nobody asked for: unclean ones only where the topic allows."""
    records = []
    rules: dict[UUID, TopicRules] = {}
    for at in partitions:
        if at.topic.id not in rules:
            rules[at.topic.id] = rules_of(state, at.topic)
        theirs = rules[at.topic.id]
        if election is Election.UNCLEAN and theirs.election is not Election.UNCLEAN:
            continue
        record = change(state, at, rules=theirs, election=election)
        if record is not None:
            records.append(record)
    return records
