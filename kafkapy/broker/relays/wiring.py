"""The relays of one broker: which of the partitions that it leads have one, now.

    leadership won, topic configured ----> a relay is started
    lost, settings taken away or changed -> it is stopped; changed ones start another

Partitions whose topic names no relay are looked up once, when their leadership or their topic's
settings change, and pay nothing beside that.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.node.settings import peer_settings
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.peers.broker_connections import BrokerConnections, OtherBrokers
from kafkapy.broker.relays.calls import NodeCalls
from kafkapy.broker.relays.relay import Relay
from kafkapy.broker.relays.settings import RELAY_TO, rule_of
from kafkapy.broker.transactions.wiring import TRANSACTION_VERSION
from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Journal, OtherNodes
from kafkapy.core.turn import Turn
from kafkapy.hooks.guarded import Guarded
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.relays.rule import Rule, why_not
from kafkapy.txn.transaction import TV_2

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

# Entries that all relays of a node keep in memory; one takes some 40 bytes, and there may be half
# as many again.
MOST_WAITING: Final = 600_000
LEAST_WAITING: Final = 2_000


class RelayWiring:
    """Also what each relay asks of its broker (`relay.Surroundings`)."""

    def __init__(
        self,
        *,
        node: "Node",
        clock: Clock,
        journal: Journal,
        other_nodes: OtherNodes,
        turn: Turn,
        listener: str,
        image: Callable[[], MetadataImage],
        topic_configs: TopicConfigs,
        partitions: Partitions,
        create_topic: Callable[[str], object],
        disk_failed: Callable[[DiskFailed], None],
        hook_of: Callable[[str, str], Guarded],
    ) -> None:
        self.hook_of = hook_of
        self.clock = clock
        self.journal = journal
        self.create_topic = create_topic
        self.disk_failed = disk_failed
        connections = BrokerConnections(
            node.network,
            clock,
            node.rng,
            image,
            listener=listener,
            settings=peer_settings(node.config, "relay", node.logins),
        )
        self._own = OtherBrokers(connections, clock)
        self.calls = NodeCalls(
            node,
            other_nodes,
            self._own,
            turn,
            client_id=f"relay-{node.node_id}",
            listener=listener,
        )
        self.relays: dict[TopicPartition, Relay] = {}
        self._current_image = image
        self._topic_configs = topic_configs
        self._partitions = partitions
        self._is_on = False

    @property
    def image(self) -> MetadataImage:
        return self._current_image()

    def start(self) -> None:
        """This broker serves: those that were asked for begin."""
        self._is_on = True
        for (kind, name), overrides in list(self.image.all_configs.items()):
            if kind == TOPIC_RESOURCE and overrides.get(RELAY_TO):
                self._settle(name)

    def close(self) -> None:
        self._is_on = False
        for relay in self.relays.values():
            relay.stop()
        self.relays.clear()
        self._own.close()

    def follow(self, delta: Delta) -> None:
        for kind, name in delta.configs:
            if kind == TOPIC_RESOURCE:
                self._settle(name)
        if delta.topics_created:
            self._begin_again({topic.name for topic in delta.topics_created.values()})

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        relay = self.relays.pop(partition.topic_partition, None)
        if relay is not None:
            relay.stop()  # also of the epoch before
        if is_leader:
            self._start(partition)

    def most_waiting(self) -> int:
        return max(LEAST_WAITING, MOST_WAITING // max(len(self.relays), 1))

    def why_not(self, partition: Partition, rule: Rule) -> str | None:
        name = partition.topic_partition.topic
        if self.image.features.get(TRANSACTION_VERSION, 0) < TV_2:
            return f"relays need {TRANSACTION_VERSION} 2"
        if partition.is_internal:
            return "internal topics have no relays"
        return why_not(rule, name) or self._circle(name)

    def _circle(self, name: str) -> str | None:
        """Records that never wait would go round for ever."""
        chains: list[tuple[str, ...]] = [(name,)]
        seen = {name}
        while chains:
            chain = chains.pop()
            rule = self._rule(chain[-1])
            for target in () if rule is None else rule.targets_at_once:
                if target == name:
                    return f"a circle: {' -> '.join((*chain, target))}"
                if target not in seen:
                    seen.add(target)
                    chains.append((*chain, target))
        return None

    def _settle(self, name: str) -> None:
        """By the topic's settings as they are now."""
        rule = self._rule(name)
        for partition in self._led(name):
            relay = self.relays.get(partition.topic_partition)
            if relay is not None and relay.rule != rule:
                relay.stop()
                del self.relays[partition.topic_partition]
                relay = None
            if relay is None and rule is not None:
                self._start(partition)

    def _begin_again(self, targets: Container[str]) -> None:
        """What waits for one of them need not wait any more; and where it was another one of that
        name before, there is no place in this one."""
        for relay in [one for one in self.relays.values() if one.rule.target in targets]:
            relay.stop()
            self._start(relay.partition)

    def _led(self, name: str) -> Iterator[Partition]:
        topic = self.image.topics_by_name.get(name)
        for index in () if topic is None else topic.partitions:
            partition = self._partitions.get(name, index)
            if partition is not None and partition.is_leader:
                yield partition

    def _start(self, partition: Partition) -> None:
        rule = self._rule(partition.topic_partition.topic) if self._is_on else None
        if rule is not None:
            relay = self.relays[partition.topic_partition] = Relay(self, partition, rule)
            relay.start()

    def _rule(self, name: str) -> Rule | None:
        overrides: Mapping[str, str] = self.image.configs(TOPIC_RESOURCE, name)
        if RELAY_TO not in overrides:
            return None
        value: Callable[[str], Any] = partial(self._topic_configs.value, overrides=overrides)
        return rule_of(overrides, value)
