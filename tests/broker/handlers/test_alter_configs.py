"""AlterConfigs, the legacy one, in bytes and against Apache Kafka."""

from typing import Any

import pytest

from kafkapy.broker.handlers import alter_configs
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.core.errors import ErrorCode
from tests.broker.config.kafka import KAFKA
from tests.broker.handlers.admin_node import AdminNode

KEY = 33


def _alter(
    node: AdminNode, kind: int, name: str, pairs: Any, *, version: int = 2, **fields: Any
) -> Any:
    configs = [{"name": key, "value": value} for key, value in pairs]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    body = {"resources": [resource], "validate_only": False} | fields
    (result,) = node.request(alter_configs, KEY, version, **body).responses
    return result


@pytest.mark.parametrize(("request_", "code", "message"), KAFKA["legacy_alter"])
def test_changes_are_answered_as_kafka_answers_them(
    request_: Any, code: str, message: str | None
) -> None:
    node = AdminNode()
    node.cluster.create("orders", (1,), (1,))
    result = _alter(node, *request_, validate_only=True)
    assert (ErrorCode(result.error_code).name.lower(), result.error_message) == (code, message)


@pytest.mark.parametrize("version", range(3))
def test_what_is_not_named_is_unset(version: int) -> None:
    node = AdminNode()
    node.cluster.create("t", (1,), retention_ms="5", flush_ms="6")
    _alter(node, 2, "t", [("flush.ms", "7")], version=version)
    assert node.image.configs(2, "t") == {"flush.ms": "7"}


def test_without_a_controller_every_resource_says_so() -> None:
    node = AdminNode()
    node.controller.resign()
    assert _alter(node, 2, "t", [("flush.ms", "1")]).error_code == ErrorCode.NOT_CONTROLLER


def test_files_are_not_looked_at_for_somebody_who_may_not_alter_the_broker() -> None:
    def look(after: object, altered: object) -> None:
        raise AssertionError("it is looked at files for somebody who may not")

    node = AdminNode()
    node.authorizer = Authorizer((), allows_without_acl=False, journal=node.journal)
    node.config.check_files = look
    change = [("listener.name.plaintext.ssl.keystore.location", "/dev/null")]
    code = _alter(node, 4, "1", change).error_code
    assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
