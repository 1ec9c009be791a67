"""The settings of a broker that lives as long as a test: ready at once, small, its own.

Everything else is Apache Kafka's default, so that what passes here passes there.
"""

from collections.abc import Mapping
from typing import Final

from kafkapy.broker.config.broker_config import BrokerConfig

_SETTINGS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Fifty partitions of each internal topic is what makes a first group or transaction slow.
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    # A test knows its consumers: nobody else is coming.
    "group.initial.rebalance.delay.ms": "0",
    # No records for followers that are not there: an idle broker writes nothing.
    "metadata.max.idle.interval.ms": "0",
}


def configured(directory: str, address: str, settings: Mapping[str, str]) -> BrokerConfig:
    config = BrokerConfig(
        {
            **_SETTINGS,
            "listeners": f"PLAINTEXT://{address},CONTROLLER://127.0.0.1:0",
            "log.dirs": directory,
            **settings,
        }
    )
    if config.unknown:
        # Kafka ignores these; a test that sets one believes that something changes.
        raise ValueError(f"Kafka has no broker setting called {', '.join(config.unknown)}")
    return config
