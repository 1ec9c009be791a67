"""Topics with replicas, and settings of brokers, whoever is asked."""

import pytest

from compat_tests.cluster_tools.conftest import Hold
from compat_tests.cluster_tools.transcript import CONTROLLERS, Told

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-tools")]


def test_topics_have_the_replicas_that_they_are_given(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create = ("kafka-topics", "--create", "--topic")
        told.tool(*create, "placed", "--replica-assignment", "1:2,2:3")
        told.tool(*create, "placed", "--replica-assignment", "1:2,2:3")
        told.tool(*create, "too-many", "--partitions", "2", "--replication-factor", "4")
        told.tool(*create, "unknown", "--replica-assignment", "1:7")
        grow = ("kafka-topics", "--alter", "--topic", "placed", "--partitions")
        told.tool(*grow, "4", "--replica-assignment", "1:2,2:3,3:1,1:3")
        told.tool(*grow, "5", "--replica-assignment", "1:2,2:3,3:1,1:3,2:9")
        told.tool(*grow, "3")
        describe = ("kafka-topics", "--describe", "--topic", "placed")
        told.until("four lead", *describe, says=lambda text: text.count("Leader: none") == 0)
        told.tool(*describe)
        told.tool(*describe, "--at-min-isr-partitions")
        for what in ("under-replicated", "under-min-isr", "unavailable"):
            told.tool(*describe, f"--{what}-partitions")
        told.tool("kafka-topics", "--delete", "--topic", "placed")

    said = hold(conversation)
    assert sum("Replicas: 3,1" in line for line in said) == 2, "when all are told, and at min ISR"


def test_settings_reach_the_broker_that_they_are_for(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        brokers = ("--entity-type", "brokers")
        second, default = (*brokers, "--entity-name", "2"), (*brokers, "--entity-default")
        alter, describe = ("kafka-configs", "--alter"), ("kafka-configs", "--describe")
        told.tool(*alter, *second, "--add-config", "log.cleaner.threads=2")
        told.tool(*alter, *default, "--add-config", "log.retention.ms=77777777")
        told.tool(*alter, *second, "--add-config", "node.id=7")
        told.until("it knows", *describe, *second, says=lambda text: "threads=2" in text)
        told.tool(*describe, *second)
        told.tool(*describe, *second, to=CONTROLLERS)
        told.tool(*describe, *default)
        told.tool(*describe, *brokers, "--entity-name", "9")
        told.tool(*describe, *brokers, "--entity-name", "3")
        # Set where they stay, they are told without a default: they have none.
        third = (*brokers, "--entity-name", "3")
        told.tool(*alter, *third, "--add-config", "leader.replication.throttled.rate=1000")
        told.until("it knows", *describe, *third, says=lambda text: "rate=1000" in text)
        told.tool(*describe, *third)
        told.tool(*alter, *third, "--delete-config", "leader.replication.throttled.rate")
        told.tool(*alter, *second, "--delete-config", "log.cleaner.threads")
        told.tool(*alter, *default, "--delete-config", "log.retention.ms")

    said = hold(conversation)
    assert sum("log.cleaner.threads=2 sensitive=false" in line for line in said) == 2


def test_topics_settings_are_altered_through_controllers_too(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        told.tool("kafka-topics", "--create", "--topic", "set", "--replica-assignment", "3:1:2")
        entity = ("--entity-type", "topics", "--entity-name", "set")
        add = ("kafka-configs", "--alter", *entity, "--add-config")
        told.tool(*add, "retention.ms=12345678", to=CONTROLLERS)
        told.tool(*add, "min.insync.replicas=0", to=CONTROLLERS)
        describe = ("kafka-configs", "--describe", *entity)
        told.until("a broker knows", *describe, says=lambda text: "12345678" in text)
        told.tool(*describe)
        told.tool("kafka-topics", "--describe", "--topics-with-overrides", "--topic", "set")
        quota = ("--entity-type", "users", "--entity-name", "somebody")
        told.tool("kafka-configs", "--alter", *quota, "--add-config", "producer_byte_rate=1000")
        told.until(
            "there is a quota", "kafka-configs", "--describe", *quota,
            says=lambda text: "producer_byte_rate" in text,
        )  # fmt: skip
        told.tool("kafka-configs", "--describe", *quota)

    hold(conversation)
