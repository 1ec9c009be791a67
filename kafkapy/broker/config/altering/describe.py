"""What DescribeConfigs says of a setting: value, where it comes from, what else was given.

Sensitive values are never shown. Synonyms are listed from the first that carries the
setting's own name, as Kafka does: a retention that only log.retention.hours gives has a
value but no source of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.client_metrics import ClientMetricsKeys
from kafkapy.broker.config.group_config import group_value
from kafkapy.broker.config.resolve import FoundValue, Source, broker_values
from kafkapy.broker.config.table.broker_keys import OWN, BrokerKeys, key_of
from kafkapy.broker.config.table.key import ConfigType, Dynamic, Key, Section
from kafkapy.broker.config.table.keys.group import GroupConfigKeys
from kafkapy.broker.config.table.keys.topic import TopicKeys
from kafkapy.broker.config.table.values import ConfigError, parse, to_text
from kafkapy.broker.config.topic_config import topic_value
from kafkapy.core.data import dataclass

# Quotas that exist only once somebody set them (the replication throttles).
HIDDEN_UNLESS_SET: Final = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    value: str | None
    source: Source
    kind: ConfigType
    is_read_only: bool
    is_sensitive: bool
    documentation: str
    synonyms: tuple[FoundValue, ...]


def describe_broker(config: BrokerConfig) -> list[Described]:
    """Everything this broker was given, and every key of the table."""
    given = {name for layer in config.layers for name in layer}
    hidden = {
        name
        for name, key in BrokerKeys.table.items()
        if key.is_internal or name in HIDDEN_UNLESS_SET or name in OWN
    }
    names = (set(BrokerKeys.table) - hidden) | given
    return [_broker_entry(config, name) for name in sorted(names)]


def describe_cluster(config: BrokerConfig) -> list[Described]:
    """The dynamic settings of all brokers (ConfigResource BROKER, name "")."""
    return [_cluster_entry(config, name) for name in sorted(config.cluster_dynamic)]


def describe_topic(config: BrokerConfig, overrides: Mapping[str, str]) -> list[Described]:
    entries = []
    for name in _shown(TopicKeys, overrides):
        key = TopicKeys.table.get(name)
        value = overrides.get(name) if key is None else topic_value(name, overrides, config)
        synonym = key.synonyms[0] if key is not None and key.synonyms else None
        found = list(broker_values(synonym, config.layers)) if synonym is not None else []
        found = _from_own_name(found, synonym)
        entries.append(_entry(name, key, value, overrides, Source.TOPIC, found))
    return entries


def describe_group(config: BrokerConfig, overrides: Mapping[str, str]) -> list[Described]:
    entries = []
    for name in _shown(GroupConfigKeys, overrides):
        key = GroupConfigKeys.table.get(name)
        value = overrides.get(name) if key is None else group_value(name, overrides, config)
        if key is not None and key.synonyms:
            found = list(broker_values(key.synonyms[0], config.layers))
        else:
            found = [FoundValue(name, to_text(key.default_value if key else None), Source.DEFAULT)]
        entries.append(_entry(name, key, value, overrides, Source.GROUP, found))
    return entries


def describe_client_metrics(overrides: Mapping[str, str]) -> list[Described]:
    entries = []
    for name in _shown(ClientMetricsKeys, overrides):
        key = ClientMetricsKeys.table.get(name)
        value = overrides.get(name, to_text(key.default_value) if key else None)
        entries.append(_entry(name, key, value, overrides, Source.CLIENT_METRICS, []))
    return entries


def _shown(section: type[Section], overrides: Iterable[str]) -> list[str]:
    visible = {name for name, key in section.table.items() if not key.is_internal}
    return sorted(visible | set(overrides))


def _entry(
    name: str,
    key: Key[Any] | None,
    value: Any,
    overrides: Mapping[str, str],
    source: Source,
    inherited: list[FoundValue],
) -> Described:
    is_sensitive = key is not None and key.is_sensitive
    text = None if is_sensitive else to_text(value)
    synonyms = ([FoundValue(name, text, source)] if name in overrides else []) + inherited
    return Described(
        name=name,
        value=text,
        source=synonyms[0].source if synonyms else Source.DEFAULT,
        kind=ConfigType.UNKNOWN if key is None else key.kind,
        is_read_only=False,
        is_sensitive=is_sensitive,
        documentation="" if key is None else key.documentation,
        synonyms=tuple(synonyms),
    )


def _broker_entry(config: BrokerConfig, name: str) -> Described:
    key = key_of(name)
    # A key that nobody knows may hold a password: Kafka does not show it either.
    is_sensitive = key is None or key.is_sensitive
    found = _from_own_name(list(broker_values(name, config.layers)), name)
    if name in HIDDEN_UNLESS_SET:  # and have no default to tell then
        found = [one for one in found if one.source is not Source.DEFAULT]
    if is_sensitive:
        found = [one._replace(value=None) for one in found]
    value = None if is_sensitive else _value_in_force(config, name)
    return Described(
        name=name,
        value=value,
        source=found[0].source if found else Source.DEFAULT,
        kind=ConfigType.UNKNOWN if key is None else key.kind,
        is_read_only=key is None or key.dynamic is Dynamic.READ_ONLY or name != key.name,
        is_sensitive=is_sensitive,
        documentation="" if key is None else key.documentation,
        synonyms=tuple(found),
    )


def _cluster_entry(config: BrokerConfig, name: str) -> Described:
    entry = _broker_entry(config, name)
    found = tuple(one for one in entry.synonyms if one.source is Source.CLUSTER)
    return Described(
        name=name,
        value=None if entry.is_sensitive else config.cluster_dynamic[name],
        source=found[0].source if found else Source.DEFAULT,
        kind=entry.kind,
        is_read_only=entry.is_read_only,
        is_sensitive=entry.is_sensitive,
        documentation=entry.documentation,
        synonyms=found,
    )


def _value_in_force(config: BrokerConfig, name: str) -> str | None:
    if name in BrokerKeys.table:
        return to_text(config.value(name))
    for layer in config.layers:
        if name in layer:
            key = key_of(name)
            if key is None:
                return layer[name]
            try:
                return to_text(parse(key, layer[name]))
            except ConfigError:
                return layer[name]
    return None


def _from_own_name(found: list[FoundValue], name: str | None) -> list[FoundValue]:
    for position, one in enumerate(found):
        if one.name == name:
            return found[position:]
    return []
