"""Where a setting in force comes from: the layers, asked in Kafka's order.

    topic, group  >  dynamic, this broker  >  dynamic, whole cluster  >  static  >  default

The same order serves the broker's own settings, a topic's, and what DescribeConfigs and
CreateTopics say about them.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from kafkapy.broker.config.altering.synonyms import broker_synonyms, scale_ms
from kafkapy.broker.config.table.broker_keys import BrokerKeys, key_of
from kafkapy.broker.config.table.key import Key
from kafkapy.broker.config.table.values import to_text

Layer = Mapping[str, str]


class Source(IntEnum):
    """DescribeConfigs' config_source."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3
    STATIC = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Layers(NamedTuple):
    """What was given to a broker, as text."""

    broker: Layer
    cluster: Layer
    static: Layer


class FoundValue(NamedTuple):
    name: str
    value: str | None
    source: Source


_SOURCES: Final = (Source.BROKER, Source.CLUSTER, Source.STATIC)


def broker_values(name: str, layers: Layers) -> Iterator[FoundValue]:
    """Every value that the broker's key `name` and its synonyms have, what wins first.

    As Kafka lists them: layer by layer, and in each layer the synonyms in their order.
    """
    names = broker_synonyms(name)
    for source, layer in zip(_SOURCES, layers, strict=True):
        for synonym in names:
            if synonym in layer:
                yield FoundValue(synonym, layer[synonym], source)
    for synonym in names:
        default = default_text(synonym)
        if default is not None:
            yield FoundValue(synonym, default, Source.DEFAULT)


def inherited(key: Key[Any], layers: Layers) -> FoundValue:
    """The value of a topic's or group's key that is not set there, in the key's own unit."""
    for synonym in key.synonyms:
        for source, layer in zip(_SOURCES, layers, strict=True):
            if synonym in layer:
                return FoundValue(key.name, _converted(key, synonym, layer[synonym]), source)
        default = default_text(synonym)
        if default is not None:
            return FoundValue(key.name, _converted(key, synonym, default), Source.DEFAULT)
    return FoundValue(key.name, to_text(key.default_value), Source.DEFAULT)


def default_text(name: str) -> str | None:
    key = key_of(name)
    if key is None or name not in BrokerKeys.table:
        return None
    return to_text(key.default_value)


def _converted(key: Key[Any], synonym: str, text: str) -> str:
    scale = scale_ms(synonym)
    if key.name == "retention.ms":
        return str(max(int(text.strip()) * scale, -1))  # for ever, however it is said
    return text if scale == 1 else str(int(text.strip()) * scale)
