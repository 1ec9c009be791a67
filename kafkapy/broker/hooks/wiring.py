"""The hooks of one broker: which of its partitions have one, now.

    leadership won, topic configured ----> what is produced there goes through its hook
    lost, setting taken away ------------> it goes as it would without
    any setting of the topic altered ----> another chance for a hook that was switched off

A topic's hook is called, and switched off, for all of the topic's partitions on this node together.
Partitions whose topic names none are looked up once, when their leadership or their topic's
settings change, and pay nothing beside that.
"""

from collections.abc import Callable
from functools import partial

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.hooks.appends import AppendTeller
from kafkapy.broker.hooks.of_node import guarded
from kafkapy.broker.hooks.produce import ProduceGate, Room
from kafkapy.broker.hooks.sealed import SEALED, SealedGate
from kafkapy.broker.partitions.needs import HasHook
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Journal
from kafkapy.core.turn import Turn
from kafkapy.hooks.api import AppendHook, Place, ProduceHook, RelayHook, ViewHook
from kafkapy.hooks.guarded import Guarded
from kafkapy.hooks.source import HookSource
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.views import VIEW_HOOK

HOOK_PRODUCE = "kafkapy.hook.produce"
HOOK_APPEND = "kafkapy.hook.append"
HOOK_RELAY = "kafkapy.hook.relay"


class HookWiring:
    def __init__(
        self,
        *,
        source: HookSource,
        config: BrokerConfig,
        clock: Clock,
        journal: Journal,
        image: Callable[[], MetadataImage],
        partitions: Partitions,
        turn: Turn,
    ) -> None:
        self._source = source
        self._config = config
        self._clock = clock
        self._journal = journal
        self._image = image
        self._partitions = partitions
        self._room = Room()
        self._turn = turn
        self._tellers: dict[TopicPartition, AppendTeller] = {}
        # By setting and topic.
        self._hooks: dict[tuple[str, str], Guarded] = {}

    def snapshot(self) -> list[tuple[str, Guarded]]:
        """Those that are in use, each with the setting that names it; at once, so that another
        thread may ask for it too (kafkapy/http)."""
        return [(setting, hook) for (setting, _), hook in list(self._hooks.items())]

    def guarded(self, setting: str, topic: str, name: str, kind: type, method: str) -> Guarded:
        """The hook `name` of the topic, as it is named by `setting`."""
        known = self._hooks.get((setting, topic))
        if known is None or known.name != name:
            known = self._hooks[setting, topic] = guarded(
                self._config, self._source, self._journal, name, kind, method, topic
            )
        return known

    def of_view(self, view: str, name: str) -> Guarded:
        return self.guarded(VIEW_HOOK, view, name, ViewHook, "shows")

    def of_relay(self, topic: str, name: str) -> Guarded:
        return self.guarded(HOOK_RELAY, topic, name, RelayHook, "relayed")

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        changed = {name for kind, name in delta.configs if kind == TOPIC_RESOURCE}
        if not changed:
            return
        for setting, topic in [key for key in self._hooks if key[1] in changed]:
            del self._hooks[setting, topic]
        for name in changed:
            topic_state = image.topics_by_name.get(name)
            for index in () if topic_state is None else topic_state.partitions:
                partition = self._partitions.get(name, index)
                if partition is not None and partition.is_leader:
                    self._settle(partition)

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        if is_leader:
            self._settle(partition)
            return
        if partition.hook is not None:
            partition.use_hook(None)
        self._stop_telling(partition)

    def _settle(self, partition: Partition) -> None:
        """By its topic's settings as they are now."""
        settings = self._image().configs(TOPIC_RESOURCE, partition.topic_partition.topic)
        if settings.get(SEALED, "").strip().lower() == "true" and not partition.is_internal:
            partition.use_hook(SealedGate(partition.topic_partition.topic))
        else:
            if isinstance(partition.hook, SealedGate):
                partition.use_hook(None)
            self._settle_produce(partition, settings.get(HOOK_PRODUCE))
        self._settle_append(partition, settings.get(HOOK_APPEND))

    def _settle_append(self, partition: Partition, name: str | None) -> None:
        self._stop_telling(partition)
        topic = partition.topic_partition.topic
        if name:
            hook = self.guarded(HOOK_APPEND, topic, name, AppendHook, "appended")
            teller = AppendTeller(partition, hook, self._turn)
            self._tellers[partition.topic_partition] = teller

    def _stop_telling(self, partition: Partition) -> None:
        teller = self._tellers.pop(partition.topic_partition, None)
        if teller is not None:
            teller.close()

    def _settle_produce(self, partition: Partition, name: str | None) -> None:
        topic = partition.topic_partition.topic
        hook = None
        if name and not partition.is_internal:
            hook = self.guarded(HOOK_PRODUCE, topic, name, ProduceHook, "produced")
        gate = partition.hook
        if isinstance(gate, ProduceGate) and not (hook is None and gate.is_idle):
            gate.hook = hook  # what waits there keeps its place before what comes
        elif hook is not None or gate is not None:
            partition.use_hook(None if hook is None else self._gate(hook, partition))

    def examine(self, partition: Partition) -> HasHook:
        """Something produced to it is to be examined in slices, and what comes meanwhile waits
        behind that."""
        gate = self._gate(None, partition)
        partition.use_hook(gate)
        return gate

    def _gate(self, hook: Guarded | None, partition: Partition) -> ProduceGate:
        return ProduceGate(
            self._clock,
            hook,
            Place(*partition.topic_partition),
            self._room,
            lambda: partition.log.config,
            partial(_leave, partition),
        )


def _leave(partition: Partition, gate: ProduceGate) -> None:
    """Nothing waits there any more, and nothing has to."""
    if partition.hook is gate:
        partition.use_hook(None)
