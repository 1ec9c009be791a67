"""The table of APIs, walked by nobody and by somebody with each single permission: they are
answered as by Apache Kafka 4.3.1, whose answers are recorded (compat_tests/differ/permissions.py).
"""

from compat_tests.differ import permissions
from compat_tests.differ.record_permissions import all_answers, recorded
from kafkapy.broker.requests.apis import APIS
from kafkapy.testing import Broker

# A heartbeat, a session: they ask nothing that the walk could not.
_WALKED = {line.split(" ")[0] for line in recorded()}


def test_everybody_is_answered_as_by_apache_kafka() -> None:
    with Broker(permissions.PROPERTIES) as broker:
        answers = all_answers(broker.bootstrap)
    found = permissions.differences(recorded(), answers)
    assert not found, "\n".join(["", *found])


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
