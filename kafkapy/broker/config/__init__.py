"""Kafka's configuration keys as one table, and the configuration read from it."""

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint, Listeners, SecurityProtocol
from kafkapy.broker.config.properties import parse_properties
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.config.topic_config import TopicConfigs

__all__ = [
    "BrokerConfig",
    "ConfigError",
    "Endpoint",
    "Listeners",
    "SecurityProtocol",
    "TopicConfigs",
    "parse_properties",
]
