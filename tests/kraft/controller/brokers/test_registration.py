"""Registration of brokers and controllers."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.brokers.registration import ControllerRegistered, RegisterController
from kafkapy.kraft.records.metadata import Endpoint, FeatureRange, RegisterBrokerRecord
from tests.kraft.controller.fakes import FEATURES, Cluster, directory_of


def test_a_brokers_epoch_is_the_offset_of_its_registration() -> None:
    cluster = Cluster()
    offset = cluster.log.next_offset
    assert cluster.register(1, rack="r") == offset
    record = cluster.log.records[offset]
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_id, record.rack, record.fenced) == (1, "r", True)
    assert record.log_dirs == (directory_of(1),)


def test_the_same_incarnation_amends_its_registration() -> None:
    cluster = Cluster()
    event = cluster.registration(1)
    epoch = cluster.ask(event).epoch
    cluster.unfence(1)
    amended = cluster.registration(1, incarnation_id=event.incarnation_id, rack="new")
    assert cluster.ask(amended).epoch == epoch
    broker = cluster.image.brokers[1]
    assert (broker.rack, broker.fenced) == ("new", False)


def test_another_incarnation_must_wait_for_the_session_to_end() -> None:
    cluster = Cluster(brokers=1)
    again = cluster.registration(1)
    assert cluster.refusal(again) is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    cluster.clock.advance(9_000)
    assert cluster.ask(again).epoch == cluster.image.brokers[1].epoch


def test_a_new_controller_lets_a_broker_in_that_it_never_heard_of() -> None:
    cluster = Cluster(brokers=1)
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), ())
    cluster.register(1)


def test_a_new_incarnation_loses_its_places_in_isrs() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1, 2))
    cluster.wait(10_000, silent=(2,))
    cluster.unfence(2)
    epoch = cluster.image.brokers[1].epoch
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), ())
    cluster.register(1, previous_epoch=epoch)
    assert cluster.partition("t").leader == -1
    assert cluster.partition("t").elr == (1,)


def test_after_an_unclean_shutdown_it_is_not_eligible_either() -> None:
    cluster = Cluster(brokers=1)
    cluster.create("t", (1,))
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), ())
    cluster.register(1, previous_epoch=-1)
    state = cluster.partition("t")
    assert (state.leader, state.elr, state.last_known_elr) == (-1, (), (1,))
    cluster.unfence(1)
    assert cluster.partition("t").leader == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"is_migrating": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"log_dirs": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (UUID(int=1),)}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (directory_of(1),) * 2}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (directory_of(9),)}, ErrorCode.INVALID_REGISTRATION),
        ({"features": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"features": FEATURES[:1]}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {
                "features": (
                    FeatureRange(
                        name="metadata.version", min_supported_version=7, max_supported_version=29
                    ),
                    *FEATURES[1:],
                )
            },
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_who_cannot_be_registered_is_told_why(fields: dict[str, Any], code: ErrorCode) -> None:
    cluster = Cluster()
    cluster.register(9)
    assert cluster.refusal(cluster.registration(1, **fields)) is code
    assert 1 not in cluster.image.brokers


def test_a_feature_that_nobody_here_knows_may_be_offered() -> None:
    cluster = Cluster()
    extra = FeatureRange(name="future.version", min_supported_version=0, max_supported_version=3)
    cluster.register(1, features=(*FEATURES, extra))
    demanding = FeatureRange(
        name="future.version", min_supported_version=1, max_supported_version=3
    )
    refused = cluster.registration(2, features=(*FEATURES, demanding))
    assert cluster.refusal(refused) is ErrorCode.UNSUPPORTED_VERSION


def test_a_controller_is_registered_with_where_it_listens() -> None:
    cluster = Cluster()
    endpoint = Endpoint(name="CONTROLLER", host="h", port=9093, security_protocol=0)
    event = RegisterController(3000, UUID(int=5), (endpoint,), FEATURES)
    assert cluster.ask(event) == ControllerRegistered()
    assert cluster.image.controllers[3000].endpoints == (endpoint,)
