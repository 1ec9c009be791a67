"""Internal topics of streams groups are made with a member's own rights."""

from collections.abc import Iterator
from typing import Any

import pytest

from compat_tests.differ import permissions
from compat_tests.differ.record_permissions import EVERY_API
from compat_tests.differ.side import Side, newest
from compat_tests.differ.streams_cases import FIRST, beating, counting, joining
from compat_tests.waiting import wait_for
from kafkapy.kraft.acls import Operation, PatternType, ResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

BEAT = ApiKey.STREAMS_GROUP_HEARTBEAT
GROUP = "app"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(EVERY_API.properties) as made:
        permissions.begin(made.bootstrap)
        made.create_topic("orders", 3)
        yield made


def allow(broker: Broker, *rights: tuple[ResourceType, Operation]) -> None:
    admin = Side(broker.bootstrap, BEAT, 0, "admin", permissions.ADMINISTRATOR)
    rows = [
        permissions._acl(kind, "*", PatternType.LITERAL, permissions.GUEST, operation)
        for kind, operation in rights
    ]
    admin.call(ApiKey.CREATE_ACLS, {"creations": rows}, newest(ApiKey.CREATE_ACLS))
    admin.close()


def heard(broker: Broker, body: dict[str, Any]) -> Any:
    guest = Side(broker.bootstrap, BEAT, 0, "guest", permissions.GUEST)
    try:
        return guest.call(BEAT, body)
    finally:
        guest.close()


def test_who_may_not_create_topics_is_told_so_and_none_is_made(broker: Broker) -> None:
    allow(broker, (ResourceType.GROUP, Operation.READ), (ResourceType.TOPIC, Operation.DESCRIBE))
    (status,) = (
        one
        for one in heard(broker, joining(GROUP, counting(GROUP, "orders"))).status
        if one.status_code == 3
    )
    assert status.status_detail.endswith(
        f"; Unauthorized to CREATE on topics {GROUP}-store-changelog."
    )
    assert f"{GROUP}-store-changelog" not in broker._call(lambda role: role.image.topics_by_name)


def test_who_may_create_gets_the_topic_with_the_settings_it_asks_for(broker: Broker) -> None:
    allow(
        broker,
        (ResourceType.GROUP, Operation.READ),
        (ResourceType.TOPIC, Operation.DESCRIBE),
        (ResourceType.TOPIC, Operation.CREATE),
    )
    heard(broker, joining(GROUP, counting(GROUP, "orders")))
    name = f"{GROUP}-store-changelog"

    def partitions() -> int:
        topic = broker._call(lambda role: role.image.topics_by_name.get(name))
        return 0 if topic is None else len(topic.partitions)

    assert wait_for("the changelog is there", partitions) == 3
    configs = broker._call(lambda role: dict(role.image.all_configs))
    assert configs[(2, name)] == {"cleanup.policy": "compact"}
    wait_for(
        "nothing is missing",
        lambda: all(one.status_code != 3 for one in heard(broker, beating(GROUP, FIRST, 1)).status),
    )


def test_a_topology_of_topics_that_it_may_not_see_is_refused_whole(broker: Broker) -> None:
    allow(broker, (ResourceType.GROUP, Operation.READ))
    answer = heard(broker, joining(GROUP, counting(GROUP, "orders")))
    assert answer.error_code.name.upper() == "TOPIC_AUTHORIZATION_FAILED"
