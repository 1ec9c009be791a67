"""ListConfigResources, v0-1 (KIP-1142). v0 lists client metrics subscriptions only."""

from typing import TYPE_CHECKING

from kafkapy.broker.config.resources import Resource
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest

    from kafkapy.broker.requests.needs import HasImage

_LISTED = (
    Resource.TOPIC,
    Resource.BROKER,
    Resource.BROKER_LOGGER,
    Resource.CLIENT_METRICS,
    Resource.GROUP,
)


def handle(node: "HasImage", call: "Call[ListConfigResourcesRequest]") -> Answer:
    asked = optional(call.body, "resource_types", (Resource.CLIENT_METRICS,)) or _LISTED
    if any(kind not in _LISTED for kind in asked):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    return {
        "throttle_time": 0,
        "error_code": 0,
        "config_resources": [
            {"resource_name": name, "resource_type": kind}
            for kind in dict.fromkeys(asked)
            for name in _names(node, Resource(kind))
        ],
    }


def _names(node: "HasImage", kind: Resource) -> list[str]:
    image = node.image
    if kind is Resource.TOPIC:
        return list(image.topics_by_name)
    if kind in (Resource.BROKER, Resource.BROKER_LOGGER):
        return [str(broker) for broker in image.brokers]
    return [name for resource, name in image.all_configs if resource == kind]
