"""IncrementalAlterConfigs in bytes, answer by answer against Apache Kafka."""

from typing import Any

import pytest

from kafkapy.broker.handlers import incremental_alter_configs
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.core.errors import ErrorCode
from tests.broker.config.kafka import KAFKA, is_refused_here
from tests.broker.handlers.admin_node import AdminNode

KEY = 44
SET, DELETE, APPEND, SUBTRACT = range(4)

# kafkapy has no named loggers, and does without the Java exceptions in Kafka's sentences.
_OTHER_WORDS = ("requirement failed: controller", "Invalid value org.apache.kafka")


def _alter(
    node: AdminNode, kind: int, name: str, changes: Any, *, version: int = 1, **fields: Any
) -> Any:
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configs": [
            {"name": key, "config_operation": operation, "value": value}
            for key, operation, value in changes
        ],
    }
    body = {"resources": [resource], "validate_only": False} | fields
    (result,) = node.request(incremental_alter_configs, KEY, version, **body).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        row
        for row in KAFKA["incremental_alter"]
        if row[0][0] != 8 and not (row[1] == "none" and is_refused_here(row[0]))
    ],
)
def test_changes_are_answered_as_kafka_answers_them(
    request_: Any, code: str, message: str | None
) -> None:
    node = AdminNode()
    node.cluster.create("orders", (1,), (1,))
    result = _alter(node, *request_, validate_only=True)
    assert ErrorCode(result.error_code).name.lower() == code
    if message is None or not message.startswith(_OTHER_WORDS):
        assert result.error_message == message


@pytest.mark.parametrize("version", [0, 1])
def test_a_change_acts(version: int) -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))
    _alter(node, 2, "t", [("cleanup.policy", APPEND, "compact")], version=version)
    assert node.image.configs(2, "t") == {"cleanup.policy": "delete,compact"}
    _alter(node, 2, "t", [("cleanup.policy", SUBTRACT, "delete")], version=version)
    assert node.image.configs(2, "t") == {"cleanup.policy": "compact"}
    _alter(node, 2, "t", [("cleanup.policy", DELETE, None)], version=version)
    assert node.image.configs(2, "t") == {}
    _alter(node, 4, "", [("message.max.bytes", SET, "99")], version=version)
    assert node.image
    assert node.config.message_max_bytes == 99


def test_one_resource_may_fail_while_another_succeeds() -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))

    def resource(name: str) -> dict[str, Any]:
        config = {"name": "flush.ms", "config_operation": SET, "value": "1"}
        return {"resource_type": 2, "resource_name": name, "configs": [config]}

    answer = node.request(
        incremental_alter_configs,
        KEY,
        1,
        resources=[resource("t"), resource("nope"), resource("twice"), resource("twice")],
        validate_only=False,
    )
    assert {one.resource_name: ErrorCode(one.error_code) for one in answer.responses} == {
        "t": ErrorCode.NONE,
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "twice": ErrorCode.INVALID_REQUEST,
    }


def test_without_a_controller_every_resource_says_so() -> None:
    node = AdminNode()
    node.controller.resign()
    for name in ("t", "bad/name"):
        result = _alter(node, 2, name, [("flush.ms", SET, "1")])
        assert result.error_code == ErrorCode.NOT_CONTROLLER


def test_files_are_not_looked_at_for_somebody_who_may_not_alter_the_broker() -> None:
    def look(after: object, altered: object) -> None:
        raise AssertionError("it is looked at files for somebody who may not")

    node = AdminNode()
    node.authorizer = Authorizer((), allows_without_acl=False, journal=node.journal)
    node.config.check_files = look
    change = [("listener.name.plaintext.ssl.keystore.location", SET, "/dev/null")]
    code = _alter(node, 4, "1", change).error_code
    assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("name", ["", "1"])
@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
@pytest.mark.parametrize("key", ["log.dirs", "process.roles"])
def test_a_list_that_is_read_at_the_start_alone_does_not_grow(
    name: str, operation: int, key: str
) -> None:
    node = AdminNode()
    result = _alter(node, 4, name, [(key, operation, "controller")])
    assert ErrorCode(result.error_code) is ErrorCode.INVALID_REQUEST
    assert result.error_message == f"Cannot update these configs dynamically: [{key}]"


@pytest.mark.parametrize("name", ["", "1"])
def test_what_a_list_would_be_is_judged_and_not_what_is_appended(name: str) -> None:
    node = AdminNode()
    result = _alter(node, 4, name, [("log.cleanup.policy", APPEND, "foo")])
    assert ErrorCode(result.error_code) is ErrorCode.INVALID_REQUEST
    assert result.error_message == (
        "Invalid value foo for configuration log.cleanup.policy: "
        "String must be one of: compact, delete"
    )
    assert not _alter(node, 4, name, [("log.cleanup.policy", APPEND, "compact")]).error_code
    assert node.image
    assert "compact" in node.config.log_cleanup_policy
    assert not _alter(node, 4, name, [("log.cleanup.policy", SUBTRACT, "delete")]).error_code
    assert node.image
    assert "delete" not in node.config.log_cleanup_policy


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1", "Missing entries : /nowhere"),
        ("", "Cannot update these configs at default cluster level"),
    ],
)
def test_directories_are_cordoned_by_appending_as_by_setting(name: str, message: str) -> None:
    node = AdminNode()
    result = _alter(node, 4, name, [("cordoned.log.dirs", APPEND, "/nowhere")])
    assert ErrorCode(result.error_code) is ErrorCode.INVALID_REQUEST
    assert message in result.error_message


def test_a_number_that_is_none_is_no_bug() -> None:
    result = _alter(AdminNode(), 16, "m", [("interval.ms", SET, "--5")])
    assert ErrorCode(result.error_code) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_lists_of_subscriptions_are_set_as_a_whole(operation: int) -> None:
    result = _alter(AdminNode(), 16, "m", [("metrics", operation, "a,b")])
    assert ErrorCode(result.error_code) is ErrorCode.INVALID_CONFIG
    assert result.error_message.endswith("to key metrics because its type is not LIST.")
