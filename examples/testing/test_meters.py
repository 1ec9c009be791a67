"""Three brokers, one of which dies: no reading is lost, and none counts twice."""

from collections.abc import Callable
from contextlib import closing

import pytest
from careless_meters import TrustsTheLeaderAlone, WritesTwice
from meters import Meters

from kafkapy.testing import Cluster

Application = type[Meters]


def readings(kafka: Cluster) -> list[bytes | None]:
    return [one.value for one in kafka.node(kafka.leader("readings")).records("readings")]


def what_a_meter_has_forgotten_is_not_lost_with_a_leader(
    kafka: Cluster, application: Application
) -> None:
    """The leader is cut off from the other brokers, and dies before it is back."""
    kafka.create_topic("readings")
    kafka.wait_until_whole()
    with closing(application(kafka.bootstrap)) as meters:
        meters.take("first")
        kafka.wait_for(lambda: meters.hear() == 1, "the first reading is safe")
        leader = kafka.leader("readings")
        kafka.isolate(leader)
        meters.take("second")
        asked = kafka.node(leader).requests
        kafka.wait_for(lambda: len(asked("Produce")) > 1, "the leader has the second")
        # Either it is taken for safe now, or another leader has to take it.
        kafka.wait_for(
            lambda: meters.hear() == 2 or kafka.leader("readings") != leader,
            "the second is safe, or another leads",
        )
        kafka.kill(leader)
        kafka.wait_for(lambda: kafka.leader("readings") not in (-1, leader), "another leads")
    assert meters.forgotten == [b"first", b"second"]
    assert readings(kafka) == meters.forgotten


def a_reading_counts_once_if_a_leader_dies_before_it_answers(
    kafka: Cluster, application: Application
) -> None:
    kafka.create_topic("readings")
    kafka.wait_until_whole()
    leader = kafka.leader("readings")
    other = next(one for one in kafka.nodes if one != leader)
    kafka.node(leader).faults.on("Produce", topic="readings").lose_answer().once()
    with closing(application(kafka.bootstrap)) as meters:
        meters.take("only")
        kafka.node(other).wait_for("readings", 1)
        kafka.kill(leader)
        kafka.wait_for(lambda: kafka.leader("readings") not in (-1, leader), "another leads")
    assert readings(kafka) == [b"only"]


SCENARIOS = {
    what_a_meter_has_forgotten_is_not_lost_with_a_leader: TrustsTheLeaderAlone,
    a_reading_counts_once_if_a_leader_dies_before_it_answers: WritesTwice,
}
Scenario = Callable[[Cluster, Application], None]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_right_application(kafka_cluster: Cluster, scenario: Scenario) -> None:
    scenario(kafka_cluster, Meters)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_application_is_found_out(kafka_cluster: Cluster, scenario: Scenario) -> None:
    with pytest.raises(AssertionError):
        scenario(kafka_cluster, SCENARIOS[scenario])
