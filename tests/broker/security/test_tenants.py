"""Somebody who may do everything with what begins with his prefix, and nothing else, tries to reach
what is another's by what kafkapy adds to topics."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest

from compat_tests.differ import permissions
from compat_tests.differ.side import Side, newest
from compat_tests.waiting import wait_for
from kafkapy.kraft.acls import Operation, PatternType, ResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker

K = ApiKey
REFUSED = "TOPIC_AUTHORIZATION_FAILED"
SET, DELETE = 0, 1


class Tenant:
    """`admin` may do everything."""

    def __init__(self, broker: Broker) -> None:
        permissions.begin(broker.bootstrap)
        self.admin = self._side(broker, permissions.ADMINISTRATOR)
        self.green = self._side(broker, permissions.GUEST)
        self.allow("green-", Operation.ALL, PatternType.PREFIXED)
        self.create(self.admin, "blue-secrets")

    @staticmethod
    def _side(broker: Broker, host: str) -> Side:
        return Side(broker.bootstrap, K.METADATA, newest(K.METADATA), "tenant", host)

    def close(self) -> None:
        self.admin.close()
        self.green.close()

    def allow(
        self, topic: str, operation: Operation, pattern: PatternType = PatternType.LITERAL
    ) -> None:
        row = permissions._acl(ResourceType.TOPIC, topic, pattern, permissions.GUEST, operation)
        answer = self.admin.call(K.CREATE_ACLS, {"creations": [row]})
        assert not answer.results[0].error_code.value

    def create(self, who: Side, name: str, **settings: str) -> str:
        row = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": []}
        configs = [{"name": dots(key), "value": value} for key, value in settings.items()]
        body = {"topics": [{**row, "configs": configs}], "timeout": 5000, "validate_only": False}
        return self._code(who.call(K.CREATE_TOPICS, body).topics[0])

    def alter(self, who: Side, topic: str, **settings: str | None) -> str:
        configs = [
            {"name": dots(key), "value": value, "config_operation": SET if value else DELETE}
            for key, value in settings.items()
        ]
        return self._configs(who, K.INCREMENTAL_ALTER_CONFIGS, topic, configs)

    def replace(self, who: Side, topic: str, **settings: str) -> str:
        configs = [{"name": dots(key), "value": value} for key, value in settings.items()]
        return self._configs(who, K.ALTER_CONFIGS, topic, configs)

    def _configs(self, who: Side, api: ApiKey, topic: str, configs: list[Any]) -> str:
        row = {"resource_type": 2, "resource_name": topic, "configs": configs}
        answer = who.call(api, {"resources": [row], "validate_only": False})
        return self._code(answer.responses[0])

    def topic_id(self, name: str) -> UUID:
        answer = self.admin.call(K.METADATA, {"topics": [{"name": name}]})
        found: UUID = answer.topics[0].topic_id
        return found

    def assigned(self, group: str, pattern: str, names: Mapping[UUID, str]) -> set[str]:
        """What the only member of a group gets."""
        body: dict[str, Any] = {"group_id": group, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ"}
        body |= {"rebalance_timeout": 10_000, "topic_partitions": []}
        body |= {"subscribed_topic_names": None, "subscribed_topic_regex": pattern}
        found: set[str] = set()
        epoch = 0

        def has_some() -> bool:
            nonlocal epoch
            answer = self.green.call(K.CONSUMER_GROUP_HEARTBEAT, {**body, "member_epoch": epoch})
            if answer.error_code.value == 0:
                epoch = answer.member_epoch
                if answer.assignment is not None:
                    rows = answer.assignment.topic_partitions
                    found.update(names[one.topic_id] for one in rows)
            return bool(found)

        wait_for("the member has partitions", has_some)
        return found

    @staticmethod
    def _code(row: Any) -> str:
        code: str = row.error_code.name
        return code.upper()


def dots(name: str) -> str:
    return name.replace("_", ".")


@pytest.fixture
def tenant() -> Iterator[Tenant]:
    with Broker({**permissions.PROPERTIES, "allow.everyone.if.no.acl.found": "true"}) as broker:
        tenant = Tenant(broker)
        yield tenant
        tenant.close()


VIEW = {"kafkapy_view_of": "blue-secrets", "kafkapy_view_where": "true"}


def test_nobody_makes_a_view_of_what_he_may_not_read(tenant: Tenant) -> None:
    assert tenant.create(tenant.green, "green-view", **VIEW) == REFUSED
    nothing = {**VIEW, "kafkapy_view_of": "blue-nothing"}
    assert tenant.create(tenant.green, "green-view", **nothing) == REFUSED
    tenant.allow("blue-secrets", Operation.READ)
    assert tenant.create(tenant.green, "green-view", **VIEW) == "NONE"


def test_nobody_widens_a_view_of_what_he_may_not_read(tenant: Tenant) -> None:
    part = {**VIEW, "kafkapy_view_where": "key = 'green'"}
    assert tenant.create(tenant.admin, "green-part", **part) == "NONE"
    assert tenant.alter(tenant.green, "green-part", kafkapy_view_where="true") == REFUSED
    assert tenant.replace(tenant.green, "green-part", **VIEW) == REFUSED
    assert tenant.alter(tenant.admin, "green-part", kafkapy_view_where="true") == "NONE"


def test_nobody_relays_to_where_he_may_not_write(tenant: Tenant) -> None:
    assert tenant.create(tenant.green, "green-in", kafkapy_relay_to="blue-secrets") == REFUSED
    assert tenant.create(tenant.green, "green-in") == "NONE"
    assert tenant.alter(tenant.green, "green-in", kafkapy_relay_to="blue-secrets") == REFUSED
    assert tenant.replace(tenant.green, "green-in", kafkapy_relay_to="blue-secrets") == REFUSED


def test_nobody_relays_more_to_where_he_may_not_write(tenant: Tenant) -> None:
    """A condition of somebody who may is as good as his relay."""
    relay = {"kafkapy_relay_to": "blue-secrets", "kafkapy_relay_where": "key = 'fine'"}
    assert tenant.create(tenant.admin, "green-in", **relay) == "NONE"
    assert tenant.alter(tenant.green, "green-in", kafkapy_relay_where=None) == REFUSED
    assert tenant.alter(tenant.green, "green-in", kafkapy_relay_where="true") == REFUSED
    assert tenant.replace(tenant.green, "green-in", kafkapy_relay_to="blue-secrets") == REFUSED
    assert tenant.alter(tenant.green, "green-in", retention_ms="1000000") == "NONE"
    # What goes nowhere any more does nobody harm.
    nothing = dict.fromkeys(relay)
    assert tenant.alter(tenant.green, "green-in", **nothing) == "NONE"


def test_a_pattern_finds_nothing_that_its_member_may_not_see(tenant: Tenant) -> None:
    """As by Apache Kafka, members are given what they may describe of what matches."""
    assert tenant.create(tenant.green, "green-orders") == "NONE"
    row = permissions._acl(
        ResourceType.GROUP, "green-", PatternType.PREFIXED, permissions.GUEST, Operation.READ
    )
    tenant.admin.call(K.CREATE_ACLS, {"creations": [row]})
    ids = {tenant.topic_id(name): name for name in ("green-orders", "blue-secrets")}
    assert tenant.assigned("green-group", "green-.*|blue-.*", ids) == {"green-orders"}
    tenant.allow("blue-secrets", Operation.DESCRIBE)
    assert tenant.assigned("green-others", "green-.*|blue-.*", ids) == set(ids.values())
