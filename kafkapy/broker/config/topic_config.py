"""From a topic's overrides to the LogConfig that its logs act on.

    override of the topic  >  the broker's synonym (dynamic > static)  >  default

A broker's time may be said in other units: log.retention.hours is retention.ms. Topics
with the same overrides share one LogConfig; it is made anew when the broker's settings
change, because every one of them may be a default here.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.key import Key, NoDefault, Value
from kafkapy.broker.config.keys.topic import TopicKeys
from kafkapy.broker.config.values import ConfigError, parse
from kafkapy.log.config import LogConfig

_FIELDS: Final = frozenset(field.name for field in fields(LogConfig))


class TopicConfigs:
    """Typed settings of topics, given their overrides as text."""

    def __init__(self, broker: BrokerConfig) -> None:
        self._broker = broker
        self._log_configs: dict[frozenset[tuple[str, str]], LogConfig] = {}
        broker.when_altered(lambda changed: self._log_configs.clear())

    def log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        identity = frozenset(overrides.items())
        known = self._log_configs.get(identity)
        if known is None:
            known = self._log_configs[identity] = self._made(overrides)
        return known

    def value(self, name: str, overrides: Mapping[str, str]) -> Value:
        """The setting in force. An override that cannot be read (another version wrote
        it) counts as not set."""
        key = TopicKeys.table[name]
        if name in overrides:
            try:
                return parse(key, overrides[name])
            except ConfigError:
                pass
        return default_value(key, self._broker)

    def _made(self, overrides: Mapping[str, str]) -> LogConfig:
        settings: dict[str, Any] = {
            key.attribute: self.value(name, overrides)
            for name, key in TopicKeys.table.items()
            if key.attribute in _FIELDS
        }
        settings["cleanup_policy"] = frozenset(settings["cleanup_policy"])
        segment_bytes = self.value("internal.segment.bytes", overrides)
        if segment_bytes is not None:
            settings["segment_bytes"] = segment_bytes
        return LogConfig(**settings)


def default_value(key: Key[Any], broker: BrokerConfig) -> Value:
    """What a topic's or group's key is where nobody set it: the broker's synonym."""
    if not key.synonyms:
        assert not isinstance(key.default, NoDefault), key.name
        value: Value = key.default
        return value
    name = key.synonyms[0]
    if len(key.synonyms) == 1:
        return broker.value(name)
    time_ms = broker.time_ms(name)
    return max(time_ms, -1) if name == "log.retention.ms" and time_ms is not None else time_ms
