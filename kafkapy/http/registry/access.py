"""Who may do what with which subject.

Kafka has no resource for subjects. A subject is judged as the topic that it is of: `orders-value`
and `orders-key` as the topic orders, any other by its own name; in another context than the
default one, with that before it. So who may write to a topic may register its schemas, and
nobody has to say it twice.

    read a schema, list, look up, compare    DESCRIBE on the topic
    register                                 WRITE
    delete                                   DELETE
    read a mode or configuration             DESCRIBE_CONFIGS
    set one                                  ALTER_CONFIGS
    the same of a context, or of all         on the cluster

A schema's id may be read by who may read any of the subjects that have it. Lists leave out what
may not be seen. Who has a schema read with what it refers to must be allowed to read all of that:
otherwise a schema of one's own would show the content of others'.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.registry.errors import ErrorCode, RegistryError
from kafkapy.http.registry.subjects import Subject, is_context, parse
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

_SUFFIXES = ("-value", "-key")

#: Given subjects: those of them that who asks may read.
Visible = Callable[[Iterable[str]], Awaitable[Collection[str]]]


def topic_of(subject: str) -> str:
    """The name under which a subject's rights are looked up."""
    named = parse(subject)
    for suffix in _SUFFIXES:
        if named.name.endswith(suffix) and named.name != suffix:
            return str(Subject(named.context, named.name.removesuffix(suffix)))
    return subject


class Access:
    """Of one request."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    async def visible(
        self, subjects: Iterable[str], operation: Operation = Operation.DESCRIBE
    ) -> set[str]:
        """Those of them on which that may be done."""
        wanted = {subject: topic_of(subject) for subject in subjects}
        topics = sorted(set(wanted.values()))
        allowed = await self._kafka.allowed(operation, ResourceType.TOPIC, topics)
        return {subject for subject, topic in wanted.items() if topic in allowed}

    async def require(self, operation: Operation, scope: str | None) -> None:
        """RegistryError if it may not be done. None is everything."""
        if scope is None or is_context(scope):
            cluster = [CLUSTER_NAME]
            is_allowed = bool(await self._kafka.allowed(operation, ResourceType.CLUSTER, cluster))
        else:
            is_allowed = bool(await self.visible([scope], operation))
        if not is_allowed:
            raise _denied(operation, scope)

    async def require_any(self, operation: Operation, subjects: Iterable[str]) -> None:
        """On one of them at least. Their names are not told who may do it on none."""
        if not await self.visible(subjects, operation):
            raise _refused(operation, "each subject with this schema")


async def require_visible(visible: Visible, subjects: Sequence[str]) -> None:
    """RegistryError about the first that may not be read."""
    if not subjects:
        return
    seen = await visible(subjects)
    for subject in subjects:
        if subject not in seen:
            raise _denied(Operation.DESCRIBE, subject)


def _denied(operation: Operation, scope: str | None) -> RegistryError:
    return _refused(operation, "the cluster" if scope is None else f"Subject: {scope}")


def _refused(operation: Operation, about: str) -> RegistryError:
    return RegistryError(
        ErrorCode.FORBIDDEN, f"User is denied operation {operation.name} on {about}"
    )
