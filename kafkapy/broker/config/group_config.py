"""Settings of one group (ConfigResource GROUP): bounded by the broker's min and max keys."""

from collections.abc import Mapping
from typing import Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.resolve import inherited
from kafkapy.broker.config.table.key import Value
from kafkapy.broker.config.table.keys.group import GroupConfigKeys
from kafkapy.broker.config.table.values import ConfigError, parse
from kafkapy.core.errors import ErrorCode, Refused

# Key of a group -> the broker's lower and upper bound, as far as there are such keys.
BOUNDS: Final[Mapping[str, tuple[str | None, str | None]]] = {
    "consumer.session.timeout.ms": (
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    "consumer.heartbeat.interval.ms": (
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    "consumer.assignment.interval.ms": (
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    "share.session.timeout.ms": (
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    "share.heartbeat.interval.ms": (
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    "share.assignment.interval.ms": (
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    "share.record.lock.duration.ms": (
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    "share.delivery.count.limit": (
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    "share.partition.max.record.locks": (
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    "streams.session.timeout.ms": (
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
    "streams.heartbeat.interval.ms": (
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    "streams.assignment.interval.ms": (
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
}
_KINDS: Final = ("consumer", "share", "streams")


def group_value(name: str, overrides: Mapping[str, str], broker: BrokerConfig) -> Value:
    """The setting in force of a group with these overrides. What lies outside of the
    broker's bounds (they may have changed since) counts as the nearer bound."""
    key = GroupConfigKeys.table[name]
    text = overrides.get(name)
    if text is not None:
        try:
            return _clamped(name, parse(key, text), broker)
        except ConfigError:
            pass
    return parse(key, inherited(key, broker.layers).value)


def check_group(name: str, values: Mapping[str, str], broker: BrokerConfig) -> None:
    """Refused(INVALID_CONFIG) unless a group may have these settings."""
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    for key in values:
        if key not in GroupConfigKeys.table:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {key}")
    try:
        given = {key: parse(GroupConfigKeys.table[key], text) for key, text in values.items()}
    except ConfigError as bad:
        raise Refused(ErrorCode.INVALID_CONFIG, str(bad)) from None
    for key, value in given.items():
        _check_bounds(key, value, broker)
    if str(given.get("errors.deadletterqueue.topic.name", "")).startswith("__"):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
        )
    for kind in _KINDS:
        _check_heartbeat(kind, values, broker)


def _check_bounds(key: str, value: Value, broker: BrokerConfig) -> None:
    assert not isinstance(value, str | tuple) or key not in BOUNDS, (key, value)
    least, most = _limits(key, broker)
    low_name, high_name = BOUNDS.get(key, (None, None))
    if least is not None and isinstance(value, int) and value < least:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"{key} must be greater than or equal to {low_name}"
        )
    if most is not None and isinstance(value, int) and value > most:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{key} must be less than or equal to {high_name}")


def _check_heartbeat(kind: str, values: Mapping[str, str], broker: BrokerConfig) -> None:
    session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    timeout = group_value(session, values, broker)
    interval = group_value(heartbeat, values, broker)
    assert isinstance(timeout, int), timeout
    assert isinstance(interval, int), interval
    if timeout <= interval:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{session} must be greater than {heartbeat}")


def _limits(key: str, broker: BrokerConfig) -> tuple[int | None, int | None]:
    def limit(name: str | None) -> int | None:
        value = None if name is None else broker.value(name)
        return value if isinstance(value, int) else None

    low_name, high_name = BOUNDS.get(key, (None, None))
    return limit(low_name), limit(high_name)


def _clamped(key: str, value: Value, broker: BrokerConfig) -> Value:
    least, most = _limits(key, broker)
    if isinstance(value, int) and not isinstance(value, bool):
        if least is not None:
            value = max(value, least)
        if most is not None:
            value = min(value, most)
    return value
