"""The table of APIs, walked by nobody and by somebody with each single permission: they are
answered as by Apache Kafka 4.3.1, whose answers are recorded (compat_tests/differ/permissions.py).
"""

from typing import Any

import pytest

from compat_tests.differ import permissions
from compat_tests.differ.record_permissions import EVERY_API, WALKS, Walk
from compat_tests.differ.side import Side, newest
from kafkapy.broker.requests.apis import APIS
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

_WALKED = {line.split(" ")[0] for walk in WALKS.values() for line in walk.recorded()}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_everybody_is_answered_as_by_apache_kafka(walk: Walk) -> None:
    with Broker(walk.properties) as broker:
        answers = walk.answers(broker.bootstrap)
    found = permissions.differences(walk.recorded(), answers)
    assert not found, "\n".join(["", *found])


def test_who_only_says_that_it_is_a_replica_gets_no_session_of_one() -> None:
    with Broker(EVERY_API.properties) as broker:
        permissions.begin(broker.bootstrap)
        broker.create_topic("orders")
        version = newest(ApiKey.FETCH)
        guest = Side(broker.bootstrap, ApiKey.FETCH, version, "guest", permissions.GUEST)
        topic_id = broker._call(lambda role: role.image.topics_by_name["orders"].id)
        row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
        topics = [{"topic_id": topic_id, "partitions": [row]}]
        body: dict[str, Any] = {"max_wait": 0, "min_bytes": 0, "max_bytes": 1000}
        body["replica_state"] = {"replica_id": 2, "replica_epoch": -1}
        try:
            for epoch in (-1, 0):
                answer = guest.call(
                    ApiKey.FETCH, {**body, "session_epoch": epoch, "topics": topics}
                )
                (found,) = answer.responses[0].partitions
                assert found.error_code.name == "TOPIC_AUTHORIZATION_FAILED"
        finally:
            guest.close()


def test_every_api_that_a_broker_serves_is_walked() -> None:
    """Who logs in asks for no permission of the authorizer's."""
    unwalked = {api.key for api in APIS if api.on_broker and api.key.name not in _WALKED}
    assert unwalked == {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}


def test_what_only_controllers_serve_is_for_nodes_alone() -> None:
    for api in APIS:
        if not api.on_broker:
            assert [str(need) for need in api.permission] == ["CLUSTER_ACTION on CLUSTER"], api.key
