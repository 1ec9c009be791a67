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
from kafkapy.broker.config.resolve import inherited
from kafkapy.broker.config.table.key import Value
from kafkapy.broker.config.table.keys.topic import TopicKeys
from kafkapy.broker.config.table.refusals import refuse_unbuilt
from kafkapy.broker.config.table.values import ConfigError, parse
from kafkapy.broker.relays.settings import problem_of
from kafkapy.core.errors import ErrorCode, Refused
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
            known = self._log_configs[identity] = make_log_config(overrides, self._broker)
        return known

    def value(self, name: str, overrides: Mapping[str, str]) -> Value:
        """The setting in force of one key."""
        return topic_value(name, overrides, self._broker)


def topic_value(name: str, overrides: Mapping[str, str], broker: BrokerConfig) -> Value:
    """The setting in force. An override that cannot be read (another version wrote it)
    counts as not set, and so does a broker's value that no topic may have: a broker's keys are
    not always bounded as those of topics are."""
    key = TopicKeys.table[name]
    if name in overrides:
        try:
            return parse(key, overrides[name])
        except ConfigError:
            pass
    text = inherited(key, broker.layers).value
    try:
        return None if text is None else parse(key, text)
    except ConfigError:
        return key.default_value


def make_log_config(overrides: Mapping[str, str], broker: BrokerConfig) -> LogConfig:
    settings: dict[str, Any] = {
        key.attribute: topic_value(name, overrides, broker)
        for name, key in TopicKeys.table.items()
        if key.attribute in _FIELDS
    }
    settings["cleanup_policy"] = frozenset(settings["cleanup_policy"])
    segment_bytes = topic_value("internal.segment.bytes", overrides, broker)
    if segment_bytes is not None:
        settings["segment_bytes"] = segment_bytes
    return LogConfig(**settings)


def check_topic(values: Mapping[str, str], broker: BrokerConfig, before: Mapping[str, str]) -> None:
    """Refused(INVALID_CONFIG) unless a topic may have these settings; Kafka's sentences.

    What the topic had `before` and promises what is not built stays: it may come from
    another server's data, and nobody asks for it now.
    """
    for name in values:
        if name not in TopicKeys.table:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    try:
        given = {name: parse(TopicKeys.table[name], text) for name, text in values.items()}
    except ConfigError as bad:
        raise Refused(ErrorCode.INVALID_CONFIG, str(bad)) from None
    if given.get("remote.storage.enable"):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured "
            "with remote log storage.",
        )
    new = {name: text for name, text in values.items() if before.get(name) != text}
    try:
        refuse_unbuilt(broker, TopicKeys, new)
    except ConfigError as unbuilt:
        raise Refused(ErrorCode.INVALID_CONFIG, str(unbuilt)) from None
    problem = problem_of(values, lambda name: topic_value(name, values, broker))
    if problem is not None:
        raise Refused(ErrorCode.INVALID_CONFIG, problem)
    topic = make_log_config(values, broker)
    if topic.is_compacted and given.get("kafkapy.retention.follows.share.groups"):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "kafkapy.retention.follows.share.groups deletes what was consumed: it is not for "
            "topics with cleanup.policy=compact.",
        )
    if topic.min_compaction_lag_ms > topic.max_compaction_lag_ms:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "conflict topic config setting min.compaction.lag.ms "
            f"({topic.min_compaction_lag_ms}) > max.compaction.lag.ms "
            f"({topic.max_compaction_lag_ms})",
        )
