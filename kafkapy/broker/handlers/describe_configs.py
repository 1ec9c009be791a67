"""DescribeConfigs, v1-4. v1 synonyms, v3 types and documentation.

kafkapy has no named loggers: BROKER_LOGGER describes nothing.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.config.altering.describe import (
    Described,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import require_for_configs
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.topics.names import check_name

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_configs.v4.request import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasImage, HasNodeId

    class Needs(HasAuthorizer, HasConfig, HasImage, HasNodeId, Protocol): ...


def handle(node: "Needs", call: "Call[DescribeConfigsRequest]") -> Answer:
    return {
        "throttle_time": 0,
        "results": [_result(node, call, asked) for asked in call.body.resources],
    }


def _result(
    node: "Needs", call: "Call[DescribeConfigsRequest]", asked: "DescribeConfigsResource"
) -> Fields:
    refused = None
    entries: list[Described] = []
    try:
        require_for_configs(
            node, call, Operation.DESCRIBE_CONFIGS, asked.resource_type, asked.resource_name
        )
        entries = _described(node, asked.resource_type, asked.resource_name)
    except Refused as why:
        refused = why
    wanted = asked.configuration_keys
    with_synonyms = call.body.include_synonyms
    with_documentation = optional(call.body, "include_documentation", False)
    return {
        "error_code": ErrorCode.NONE if refused is None else refused.code,
        "error_message": "" if refused is None else refused.message or "",
        "resource_type": asked.resource_type,
        "resource_name": asked.resource_name,
        "configs": [
            {
                "name": one.name,
                "value": one.value,
                "read_only": one.is_read_only,
                "config_source": one.source,
                "is_sensitive": one.is_sensitive,
                "synonyms": [
                    {"name": name, "value": value, "source": source}
                    for name, value, source in (one.synonyms if with_synonyms else ())
                ],
                "config_type": one.kind,
                "documentation": one.documentation if with_documentation else None,
            }
            for one in entries
            if not wanted or one.name in wanted
        ],
    }


def _described(node: "Needs", kind: int, name: str) -> list[Described]:
    overrides = node.image.configs(kind, name)
    match kind:
        case Resource.TOPIC:
            check_name(name)
            if name not in node.image.topics_by_name:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return describe_topic(node.config, overrides)
        case Resource.BROKER:
            if not name:
                return describe_cluster(node.config)
            _check_is_me(node, name, f"expected {node.node_id} or empty string, but received")
            return describe_broker(node.config)
        case Resource.BROKER_LOGGER:
            if not name:
                raise Refused(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            _check_is_me(node, name, f"expected {node.node_id} but received")
            return []
        case Resource.CLIENT_METRICS:
            if not name:
                raise Refused(
                    ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"
                )
            return describe_client_metrics(overrides)
        case Resource.GROUP:
            if not name:
                raise Refused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return describe_group(node.config, overrides)
        case _:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {kind}")


def _check_is_me(node: "Needs", name: str, expected: str) -> None:
    try:
        broker_id = int(name)
    except ValueError:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        ) from None
    if broker_id != node.node_id:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, {expected} {name}")
