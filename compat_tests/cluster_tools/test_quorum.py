"""The cluster, its quorum, its features: asked of brokers and of controllers."""

import re

import pytest

from compat_tests.cluster_tools.conftest import Hold
from compat_tests.cluster_tools.transcript import BROKERS, CONTROLLERS, Told

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-tools")]

QUORUM, FEATURES, CLUSTER = "kafka-metadata-quorum", "kafka-features", "kafka-cluster"
NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def test_the_quorum_is_described(hold: Hold) -> None:
    """Who leads and how far each is are a cluster's own: looked at, not compared."""

    def conversation(told: Told) -> None:
        for whom in ("bootstrap", "controllers"):
            at = ("--bootstrap-server" if whom == "bootstrap" else "--bootstrap-controller",
                  getattr(told.cluster, whom))  # fmt: skip
            status = told.run(QUORUM, *at, "describe", "--status")
            names = re.findall(r"^(\w+):", status, re.MULTILINE)
            voters = re.findall(r'"id": (\d), "endpoints": \["(\w+)://', status)
            rows = told.run(QUORUM, *at, "describe", "--replication").splitlines()
            kinds = sorted(row.split()[-1] for row in rows[1:] if row.strip())
            ends = [int(row.split()[2]) for row in rows[1:] if row.strip()]
            assert min(ends) > 0
            told.said += [whom, *names, *map(str, voters), rows[0], *kinds]
        remove = ("remove-controller", "--controller-id", "3", "--controller-directory-id")
        for to in (BROKERS, CONTROLLERS):
            told.tool(QUORUM, *remove, NO_DIRECTORY, to=to)
            told.tool(QUORUM, *remove, "kafkapyNoSuchVoterAAAA", to=to)

    assert hold(conversation).count("Follower") == 4


def test_features_are_lowered_and_raised(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        told.tool(FEATURES, "describe")
        told.tool(FEATURES, "describe", to=CONTROLLERS)
        told.tool(FEATURES, "version-mapping")
        told.tool(FEATURES, "feature-dependencies", "--feature", "transaction.version=2")
        told.tool(FEATURES, "downgrade", "--feature", "streams.version=0")
        told.until(
            "it is down", FEATURES, "describe",
            says=lambda text: re.search(r"streams.*Level: 0", text) is not None,
        )  # fmt: skip
        told.tool(FEATURES, "describe")
        told.tool(FEATURES, "upgrade", "--feature", "streams.version=1", "--dry-run")
        told.tool(FEATURES, "upgrade", "--feature", "streams.version=1", to=CONTROLLERS)
        for wrong in ("streams.version=7", "nothing.version=7", "transaction.version=1"):
            told.tool(FEATURES, "upgrade", "--feature", wrong)
        told.tool(FEATURES, "upgrade", "--metadata", "3.9")
        told.tool(FEATURES, "upgrade", "--release-version", "4.3")  # kraft.version, too
        told.until(
            "they know", FEATURES, "describe",
            says=lambda text: re.search(r"kraft.*Level: 1", text) is not None,
        )  # fmt: skip
        told.tool(FEATURES, "downgrade", "--release-version", "4.2-IV0")
        told.tool(FEATURES, "describe")
        told.tool(FEATURES, "downgrade", "--feature", "kraft.version=0")

    said = hold(conversation)
    assert "kraft.version was upgraded to 1." in said


def test_brokers_and_controllers_are_listed(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        for to in (BROKERS, CONTROLLERS):
            told.tool(CLUSTER, "cluster-id", to=to)
            told.tool(CLUSTER, "list-endpoints", to=to)
            told.tool(CLUSTER, "unregister", "--id", "9", to=to)
        told.tool(CLUSTER, "list-endpoints", "--include-fenced-brokers")
        # Brokers in any order; the APIs of streams groups are refused by kafkapy (COMPAT.md).
        answer = told.run("kafka-broker-api-versions", BROKERS, told.cluster.bootstrap)
        lines = [line for line in answer.splitlines() if line.startswith("\t")]
        told.said += sorted({line for line in lines if "StreamsGroup" not in line})

    hold(conversation)
