"""Requests that a broker judges in part before the controller decides on the rest.

    (Incremental)AlterConfigs --> of brokers: this one knows its own settings --> refused here
                             \\-> all the rest, forwarded --> the two answers are one

What is refused is left out of what is forwarded, so that nobody writes it down. Who may not alter
a broker is refused here already, before its settings and files are looked at; the controller asks
again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.config.altering.alter import check_incremental, check_legacy, is_of_brokers
from kafkapy.broker.controller.answers import decoded
from kafkapy.broker.controller.ask import verdict
from kafkapy.broker.requests.request import Answer, Call, Encoded, Fields, Later, Resolved
from kafkapy.broker.security.authorizer.asking import require_for_configs
from kafkapy.core.errors import Refused
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.configs import Alteration
from kafkapy.kraft.image.delta import ConfigResource
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.messages import decode_request, encode_request

if TYPE_CHECKING:
    from kafkapy.broker.node.broker_role import BrokerRole

_Refusals = dict[ConfigResource, Refused]
_CONFIG_FIELDS: Final = ("name", "value", "config_operation")  # the legacy request has no operation


def forward(broker: "BrokerRole", request: memoryview, call: Call[Any]) -> Answer:
    refused = _refusals(broker, call)
    if not refused:
        return broker.link.forward(request, call)
    rows = [
        {**verdict(why), "resource_type": kind, "resource_name": name}
        for (kind, name), why in refused.items()
    ]
    rest = [_fields(one) for one in call.body.resources if _name(one) not in refused]
    if not rest:
        return {"throttle_time": 0, "responses": rows}
    _, body_at = read_request_header(request)
    body = {"resources": rest, "validate_only": call.body.validate_only}
    raw = memoryview(bytes(request[:body_at]) + encode_request(call.api_key, call.version, body))
    call.body = decode_request(call.api_key, call.version, raw[body_at:])
    answer = broker.link.forward(raw, call)
    if not isinstance(answer, Later):
        return _joined(call, rows, answer)
    promise = Later()
    answer.when_resolved(lambda later: promise.resolve(_joined(call, rows, later.answer)))
    return promise


def _name(resource: Any) -> ConfigResource:
    return resource.resource_type, resource.resource_name


def _fields(resource: Any) -> Fields:
    kind, name = _name(resource)
    configs = [
        {name: getattr(one, name) for name in _CONFIG_FIELDS if hasattr(one, name)}
        for one in resource.configs
    ]
    return {"resource_type": kind, "resource_name": name, "configs": configs}


def _refusals(broker: "BrokerRole", call: Call[Any]) -> _Refusals:
    """Of a resource that is named twice the controller tells."""
    named = Counter(map(_name, call.body.resources))
    refused: _Refusals = {}
    for one in call.body.resources:
        resource = _name(one)
        if is_of_brokers(resource) and named[resource] == 1:
            try:
                _check(broker, call, resource, one)
            except Refused as why:
                refused[resource] = why
    return refused


def _check(broker: "BrokerRole", call: Call[Any], resource: ConfigResource, asked: Any) -> None:
    def permit() -> None:
        require_for_configs(broker, call, Operation.ALTER_CONFIGS, *resource)

    if call.api_key == ApiKey.ALTER_CONFIGS:
        pairs = [(one.name, one.value) for one in asked.configs]
        check_legacy(broker.config, resource, pairs, permit=permit)
    else:
        alterations = [
            Alteration(one.name, one.config_operation, one.value) for one in asked.configs
        ]
        check_incremental(broker.config, resource, alterations, permit=permit)


def _joined(call: Call[Any], rows: Sequence[Fields], answer: Resolved) -> Resolved:
    if isinstance(answer, Mapping):
        return {**answer, "responses": [*rows, *answer["responses"]]}
    if not isinstance(answer, Encoded):
        return answer
    told = decoded(call, answer)
    return {
        "throttle_time": told.throttle_time,
        "responses": [
            *rows,
            *(
                {
                    "error_code": one.error_code,
                    "error_message": one.error_message,
                    "resource_type": one.resource_type,
                    "resource_name": one.resource_name,
                }
                for one in told.responses
            ),
        ],
    }
