"""What a cluster of so many nodes is told, so that it may lose one of them.

For clusters that we start ourselves: local ones, those of tests, a node alone. Kafka's own
defaults, three replicas of its topics, need three brokers.
"""


def of_own_topics(brokers: int) -> dict[str, str]:
    """Of the offsets, the transactions and the share groups."""
    replicas, in_sync = _counts(brokers)
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def of_all_topics(brokers: int) -> dict[str, str]:
    """Everything is there as often as it can be, three times at most."""
    replicas, in_sync = _counts(brokers)
    return {
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        **of_own_topics(brokers),
    }


def _counts(brokers: int) -> tuple[str, str]:
    return str(min(3, brokers)), str(2 if brokers > 2 else 1)
