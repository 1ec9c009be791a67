"""The table of APIs, walked by nobody and by somebody with each single permission: they are
answered as by Apache Kafka 4.3.1, whose answers are recorded (compat_tests/differ/permissions.py).
"""

from typing import Any

from compat_tests.differ import permissions
from compat_tests.differ.record_permissions import all_answers, recorded
from compat_tests.differ.side import Side, newest
from kafkapy.broker.requests.apis import APIS
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

# A heartbeat, a session: they ask nothing that the walk could not.
_WALKED = {line.split(" ")[0] for line in recorded()}


def test_everybody_is_answered_as_by_apache_kafka() -> None:
    with Broker(permissions.PROPERTIES) as broker:
        answers = all_answers(broker.bootstrap)
    found = permissions.differences(recorded(), answers)
    assert not found, "\n".join(["", *found])


def test_who_only_says_that_it_is_a_replica_gets_no_session_of_one() -> None:
    with Broker(permissions.PROPERTIES) as broker:
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


def test_every_api_that_a_broker_serves_is_walked_or_needs_what_the_table_says() -> None:
    """What stands there in words is asked for in a handler: the walk shows that it is."""
    unwalked = [
        api.key.name
        for api in APIS
        if api.on_broker and isinstance(api.permission, str) and api.key.name not in _WALKED
    ]
    assert unwalked == []


def test_what_only_controllers_serve_is_for_nodes_alone() -> None:
    for api in APIS:
        if not api.on_broker:
            assert [str(need) for need in api.permission] == ["CLUSTER_ACTION on CLUSTER"], api.key
