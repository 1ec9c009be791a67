"""What may be a view, and what may become of one (kraft/views.py).

A view is made as one and stays one: what it is of never changes, what it shows may. It has no
settings but its own, because it stores nothing that others could act on. A topic that has views
is not deleted before them: they would be names of nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import TopicState
from kafkapy.kraft.views import VIEW_HOOK, VIEW_OF, VIEW_WHERE, views_by_source

if TYPE_CHECKING:
    from kafkapy.kraft.controller.topics.changes import NewTopic

SETTINGS: Final = frozenset({VIEW_OF, VIEW_WHERE, VIEW_HOOK})
_DEFAULT: Final = -1


def source_of_new(
    image: MetadataImage, topic: "NewTopic", values: Mapping[str, str]
) -> TopicState | None:
    """What the topic that is to be made is a view of; None: it is none. Refused: it may not be."""
    name = values.get(VIEW_OF)
    if name is None:
        _check_none(values)
        return None
    check_settings(values)
    source = image.topics_by_name.get(name)
    if source is None:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{VIEW_OF}: the topic '{name}' does not exist.")
    if not source.partitions:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{VIEW_OF}: '{name}' is a view itself.")
    if name.startswith("__"):
        raise Refused(ErrorCode.INVALID_CONFIG, f"{VIEW_OF}: '{name}' is internal.")
    if topic.assignments:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "A view is where its source is.")
    count, factor = len(source.partitions), len(source.partitions[0].replicas)
    if topic.partitions not in (_DEFAULT, count):
        raise Refused(
            ErrorCode.INVALID_PARTITIONS, f"A view has the partitions of its source: {count}."
        )
    if topic.replication_factor not in (_DEFAULT, factor):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"A view has the replication factor of its source: {factor}.",
        )
    return source


def check_settings(values: Mapping[str, str]) -> None:
    """Of a view."""
    if not (values.get(VIEW_WHERE) or values.get(VIEW_HOOK)):
        raise Refused(ErrorCode.INVALID_CONFIG, f"A view needs {VIEW_WHERE}, or {VIEW_HOOK}.")
    others = sorted(values.keys() - SETTINGS)
    if others:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"A view stores nothing that {', '.join(others)} could act on.",
        )


def check_altered(after: Mapping[str, str], before: Mapping[str, str]) -> None:
    """Refused unless what was a view still is one of the same, and what was none is none."""
    if after.get(VIEW_OF) != before.get(VIEW_OF):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"{VIEW_OF} is given when a topic is made, and never changes: make another view.",
        )
    if VIEW_OF in after:
        check_settings(after)
    else:
        _check_none(after)


def _check_none(values: Mapping[str, str]) -> None:
    """Of a topic that is no view."""
    for name in (VIEW_WHERE, VIEW_HOOK):
        if name in values:
            raise Refused(
                ErrorCode.INVALID_CONFIG, f"{name} needs {VIEW_OF}: it is a setting of views."
            )


def check_deletable(
    topic: TopicState, views: Mapping[str, list[str]], deleted: frozenset[str]
) -> None:
    """Refused while it has views that are not deleted with it."""
    left = sorted(set(views.get(topic.name, ())) - deleted)
    if left:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"Topic '{topic.name}' has views, which have to be deleted first: {', '.join(left)}.",
        )


__all__ = [
    "check_altered",
    "check_deletable",
    "source_of_new",
    "views_by_source",
]
