"""The views that are read on this node, partition by partition.

Made when somebody reads one, by the settings of then; made anew when these have changed, or when
the source's partition is another one. What all of them remember is bounded together
(`kafkapy.views.cache.bytes`).
"""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from kafkapy.broker.partitions.needs import HasReplicas
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.views.reader import ViewReader
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Journal
from kafkapy.core.turn import Turn
from kafkapy.expressions import InvalidExpression, compile_expression
from kafkapy.hooks.guarded import Guarded
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.image.topics import TopicState
from kafkapy.kraft.views import VIEW_HOOK, VIEW_WHERE
from kafkapy.views.condition import Condition
from kafkapy.views.memory import Memory


class Replicates(HasReplicas, Protocol):
    @property
    def journal(self) -> Journal: ...


class Views:
    def __init__(
        self,
        node_id: int,
        clock: Clock,
        turn: Turn,
        replication: Replicates,
        image: Callable[[], MetadataImage],
        cache_bytes: int,
        hook_of: Callable[[str, str], Guarded],
    ) -> None:
        """`hook_of(view, name)`: the hook that has the last word there."""
        self._hook_of = hook_of
        self._node_id = node_id
        self._clock = clock
        self._turn = turn
        self._replication = replication
        self._image = image
        self._memory = Memory(cache_bytes)
        self._readers: dict[tuple[UUID, int], ViewReader] = {}

    def reader(self, view: TopicState, source: Partition) -> ViewReader:
        """Of the view's partition over that one of its source. Refused: nobody can tell what it
        shows."""
        settings = self._image().configs(TOPIC_RESOURCE, view.name)
        text, name = settings.get(VIEW_WHERE, ""), settings.get(VIEW_HOOK, "")
        hook = self._hook_of(view.name, name) if name else None
        key = (view.id, source.topic_partition.partition)
        known = self._readers.get(key)
        if known is not None:
            if known.source is source and known.asked == (text, hook):
                return known
            known.close()
        try:
            where = compile_expression(text) if text or hook is None else None
        except InvalidExpression as invalid:  # of another server's controller
            raise Refused(ErrorCode.INVALID_CONFIG, f"'{view.name}': {invalid}") from None
        condition: Condition | None = where
        if hook is not None:
            from kafkapy.broker.hooks.views import HookedView  # few views have one

            condition = HookedView(where, hook)
        assert condition is not None, "an expression, or a hook"
        place = self._place(view, source) if known is None else known.place
        reader = ViewReader(
            place,
            source,
            condition,
            self._memory,
            self._clock,
            self._turn,
            self._replication.journal,
        )
        reader.asked = (text, hook)
        self._readers[key] = reader
        return reader

    def _place(self, view: TopicState, source: Partition) -> Partition:
        return Partition(
            TopicPartition(view.name, source.topic_partition.partition),
            view.id,
            self._node_id,
            source.log,
            source.disk_failed,
            self._replication,
        )

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        """Views that are gone, or show something else: whoever waits for them reads again."""
        if not self._readers:
            return
        changed = {name for kind, name in delta.configs if kind == TOPIC_RESOURCE}
        for key, reader in list(self._readers.items()):
            if {key[0], reader.source.topic_id} - image.topics_by_id.keys():
                del self._readers[key]
                reader.close()
            elif reader.place.topic_partition.topic in changed:
                reader.close()  # whoever waits stays at its place, and gets another reader
