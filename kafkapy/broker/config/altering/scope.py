"""For whom a setting of brokers can be altered while they run: for nobody, one, or all."""

from typing import Final

from kafkapy.broker.config.altering.synonyms import base_name
from kafkapy.broker.config.table.broker_keys import key_of
from kafkapy.broker.config.table.key import Dynamic

# Settings of a listener, but those of all listeners together may be set for all brokers.
_OF_ALL_LISTENERS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)


def is_static(name: str) -> bool:
    """That it is only ever read from server.properties."""
    key = key_of(name)
    is_prefixed = base_name(name) != name
    return key is not None and key.dynamic is Dynamic.READ_ONLY and not is_prefixed


def is_per_broker(name: str) -> bool:
    """That it can be set for one broker only, and not for all."""
    base = base_name(name)
    if base != name:
        return base not in _OF_ALL_LISTENERS
    key = key_of(name)
    return key is not None and key.dynamic is Dynamic.PER_BROKER
