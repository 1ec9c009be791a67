"""The broker's configuration: one object, read as plain typed attributes.

    dynamic, this broker  >  dynamic, whole cluster  >  server.properties  >  default

`config.num_partitions` is the setting in force. `alter` takes what the metadata log says
and rewrites the attributes in place, so whoever holds the object sees the change; who must
act on one asks `when_altered`. Text as it was given stays in the layers for DescribeConfigs.
"""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from kafkapy.broker.config.altering.scope import is_per_broker, is_static
from kafkapy.broker.config.altering.synonyms import LISTENER_PREFIX, broker_synonyms, scale_ms
from kafkapy.broker.config.combinations import check_together
from kafkapy.broker.config.listeners import Endpoint, Listeners
from kafkapy.broker.config.properties import parse_properties
from kafkapy.broker.config.resolve import Layers
from kafkapy.broker.config.table.broker_keys import BrokerKeys, is_known, key_of
from kafkapy.broker.config.table.key import Key, NoDefault, Value
from kafkapy.broker.config.table.refusals import refuse_unbuilt
from kafkapy.broker.config.table.values import ConfigError, parse

Layer = Mapping[str, str]
Altered = Callable[[frozenset[str]], None]


def _nobody_reads(after: "BrokerConfig", altered: Collection[str]) -> None:
    pass


class BrokerConfig(BrokerKeys):
    """Built from the text of server.properties, or from a mapping of names to texts.

    ConfigError says which value cannot be, or promises what is not built (refusals.py).
    `unknown` lists the names nobody knows.
    """

    def __init__(self, properties: Layer, *, takes_unbuilt: bool = False) -> None:
        """`takes_unbuilt`: for simulated worlds, in which what is refused is being built."""
        self.static: Layer = MappingProxyType(_with_both_ids(properties))
        self.cluster_dynamic: Layer = MappingProxyType({})
        self.broker_dynamic: Layer = MappingProxyType({})
        self.unknown = tuple(name for name in self.static if not is_known(name))
        self._when_altered: list[Altered] = []
        # ConfigError if files that these settings name, with these altered, cannot be used. Who
        # reads them says so here: nothing of `broker` opens any.
        self.check_files: Callable[[BrokerConfig, Collection[str]], None] = _nobody_reads
        for name, text in self.static.items():
            if (key := key_of(name)) is not None:
                parse(key, text)
        self._settle()
        self.listening: Listeners = Listeners(self)
        check_together(self, self.static)
        if self.listening.is_secured:
            _check_secured(self)
        if not takes_unbuilt:
            refuse_unbuilt(self, BrokerKeys, self.static)

    @classmethod
    def from_text(cls, text: str) -> "BrokerConfig":
        return cls(parse_properties(text))

    def alter(self, *, cluster: Layer, broker: Layer) -> frozenset[str]:
        """Put the dynamic layers in force; the names of the keys whose value changed, and those
        of listeners' own settings that did.

        The controller judged these values; one that this broker cannot read, or that cannot be
        altered while it runs (another version wrote it) counts as not set.
        """
        own_before = self._of_listeners()
        self.cluster_dynamic = MappingProxyType(_in_force(cluster, is_for_all=True))
        self.broker_dynamic = MappingProxyType(_in_force(broker, is_for_all=False))
        before = {name: self.value(name) for name in self.table}
        self._settle()
        changed = frozenset(name for name, old in before.items() if self.value(name) != old)
        own = self._of_listeners()
        changed |= {name for name in own_before | own if own_before.get(name) != own.get(name)}
        if changed:
            for then in self._when_altered:
                then(changed)
        return changed

    def when_altered(self, then: Altered) -> None:
        self._when_altered.append(then)

    def value(self, name: str) -> Value:
        """The setting in force of the key that Kafka calls `name`."""
        value: Value = self.__dict__[self.table[name].attribute]
        return value

    def listener_value(self, listener: str, name: str, mechanism: str | None = None) -> Value:
        """`name` as the listener (and its SASL mechanism) has it, else as all have it."""
        prefix = f"listener.name.{listener.lower()}."
        for candidate in (f"{prefix}{(mechanism or '').lower()}.{name}", f"{prefix}{name}"):
            for layer in self.layers:
                if candidate in layer:
                    return parse(self.table[name], layer[candidate])
        return self.value(name)

    @property
    def layers(self) -> Layers:
        """What was given, first what wins."""
        return Layers(self.broker_dynamic, self.cluster_dynamic, self.static)

    def time_ms(self, name: str) -> int | None:
        """The time that `name` and its synonyms say, in ms: `log.retention.ms` is also
        said by log.retention.minutes and log.retention.hours."""
        for synonym in broker_synonyms(name):
            value = self.value(synonym)
            if isinstance(value, int):
                return value * scale_ms(synonym)
        return None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The listeners of this node, the controller's among them."""
        return self.listening.all

    @property
    def data_directories(self) -> tuple[str, ...]:
        return self.log_dirs if self.log_dirs is not None else self.log_dir

    @property
    def metadata_directory(self) -> str:
        return self.metadata_log_dir or self.data_directories[0]

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles

    def _of_listeners(self) -> dict[str, str]:
        """Settings with a listener's prefix, as texts."""
        return {
            name: text
            for layer in reversed(self.layers)
            for name, text in layer.items()
            if name.startswith(LISTENER_PREFIX)
        }

    def _settle(self) -> None:
        for key in self.table.values():
            self.__dict__[key.attribute] = self._resolved(key)

    def _resolved(self, key: Key[Any]) -> Value:
        for layer in self.layers:
            if key.name in layer:
                return parse(key, layer[key.name])
        if isinstance(key.default, NoDefault):
            raise ConfigError(key.name, None, "it must be set; it has no default.")
        value: Value = key.default
        return value


def _check_secured(config: BrokerConfig) -> None:
    """Imported where it is needed alone: a start in plain text does not pay for it."""
    from kafkapy.broker.config.security.listener_security import check_secured
    from kafkapy.broker.config.security.tls import check_tls

    check_secured(config)
    check_tls(config)


def _in_force(layer: Layer, *, is_for_all: bool) -> dict[str, str]:
    readable = {}
    for name, text in layer.items():
        if is_static(name) or (is_for_all and is_per_broker(name)):
            continue
        key = key_of(name)
        if key is not None:
            try:
                parse(key, text)
            except ConfigError:
                continue
        readable[name] = text
    return readable


def _with_both_ids(properties: Layer) -> dict[str, str]:
    """node.id and broker.id are two names of one thing; each stands in for the other."""
    given = dict(properties)
    node_id, broker_id = given.get("node.id"), given.get("broker.id")
    if node_id is not None and broker_id is not None and node_id.strip() != broker_id.strip():
        raise ConfigError("broker.id", broker_id, f"it must equal node.id, which is {node_id}.")
    if node_id is not None:
        given["broker.id"] = node_id
    elif broker_id is not None:
        given["node.id"] = broker_id
    return given
