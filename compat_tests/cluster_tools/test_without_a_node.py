"""What the tools say while a broker is away, and once it is given up. Run last: it takes one."""

import signal

import pytest

from compat_tests.cluster_tools.conftest import Hold
from compat_tests.cluster_tools.transcript import BROKERS, CONTROLLERS, Told

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-tools")]

AWAY = 2


def test_a_broker_that_is_away_is_told_and_unregistered(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        create = ("kafka-topics", "--create", "--topic")
        told.tool(*create, "kept", "--replica-assignment", "2:3:1,1:2:3")
        told.tool(*create, "alone", "--replica-assignment", "2")
        describe = ("kafka-topics", "--describe", "--topic")
        told.until("it leads", *describe, "alone", says=lambda text: "Leader: 2" in text)
        told.until("it leads", *describe, "kept", says=lambda text: "Leader: 2" in text)
        told.cluster.stop([AWAY], how=signal.SIGKILL)
        told.until("nobody leads", *describe, "alone", says=lambda text: "Leader: none" in text)
        told.until("another leads", *describe, "kept", says=lambda text: "Leader: 3" in text)
        told.tool(*describe, "kept")
        told.tool(*describe, "alone")
        for what in ("under-replicated", "under-min-isr", "at-min-isr", "unavailable"):
            told.tool(*describe, "kept", f"--{what}-partitions")
            told.tool(*describe, "alone", f"--{what}-partitions")
        told.tool("kafka-cluster", "list-endpoints")
        told.tool("kafka-cluster", "list-endpoints", "--include-fenced-brokers")
        told.tool("kafka-cluster", "list-endpoints", to=CONTROLLERS)
        elect = ("kafka-leader-election", "--topic")
        told.tool(*elect, "kept", "--partition", "0", "--election-type", "preferred")
        told.tool(*elect, "alone", "--partition", "0", "--election-type", "unclean")
        told.tool(*create, "placed-without", "--partitions", "1", "--replication-factor", "3")
        told.tool(*create, "placed-on-it", "--replica-assignment", "2:1")
        told.tool(*describe, "placed-on-it")
        told.tool("kafka-log-dirs", "--describe", "--broker-list", str(AWAY))
        told.tool("kafka-cluster", "unregister", "--id", str(AWAY))
        told.tool("kafka-cluster", "list-endpoints", "--include-fenced-brokers")
        told.tool(*create, "placed-after", "--partitions", "1", "--replication-factor", "3")
        told.tool(*describe, "kept")
        # It comes back by itself, with what it had.
        told.cluster.start([AWAY])
        told.until("it leads again", *describe, "alone", says=lambda text: "Leader: 2" in text)
        told.until(
            "all are in sync", "kafka-topics", "--describe", "--under-replicated-partitions",
            says=lambda text: not text.strip(),
        )  # fmt: skip
        told.tool(*describe, "kept")
        told.tool(*describe, "alone")
        told.tool("kafka-cluster", "list-endpoints", to=BROKERS)

    said = hold(conversation)
    assert any("Leader: none\tReplicas: 2\tIsr: \tElr: 2" in line for line in said)
