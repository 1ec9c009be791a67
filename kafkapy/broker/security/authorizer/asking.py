"""What handlers ask of the authorizer, if there is one: without, everything is allowed.

`node` is the role that serves the request; a handler needs no more of it than `HasAuthorizer`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkapy.broker.config.resources import Resource
from kafkapy.broker.metadata.authorized_operations import bits, sensible_on
from kafkapy.broker.requests.request import Call
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasAuthorizer

Event = TypeVar("Event")

_REFUSALS: Final = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


def allows(
    node: "HasAuthorizer",
    call: "Call[Any]",
    operation: Operation,
    resource_type: ResourceType,
    name: str,
) -> bool:
    authorizer = node.authorizer
    return authorizer is None or authorizer.allows(call.peer, operation, resource_type, name)


def would_allow(
    node: "HasAuthorizer",
    call: "Call[Any]",
    operation: Operation,
    resource_type: ResourceType,
    name: str,
) -> bool:
    """Where no is no refusal: something is left out, or another way is open."""
    authorizer = node.authorizer
    return authorizer is None or authorizer.would_allow(call.peer, operation, resource_type, name)


def describable(node: "HasAuthorizer", call: "Call[Any]") -> Callable[[str], bool]:
    """Of a topic, whether this client may see it; now and as long as it is asked. Nothing else of
    the call is kept."""
    authorizer, peer = node.authorizer, call.peer
    if authorizer is None:
        return _anything
    return lambda topic: authorizer.would_allow(peer, Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _anything(topic: str) -> bool:
    return True


def allows_on_cluster(node: "HasAuthorizer", call: "Call[Any]", operation: Operation) -> bool:
    return allows(node, call, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def refusal_of(resource_type: ResourceType) -> ErrorCode:
    """What is answered about a resource of that type."""
    return _REFUSALS[resource_type]


def require(
    node: "HasAuthorizer",
    call: "Call[Any]",
    operation: Operation,
    resource_type: ResourceType,
    name: str,
) -> None:
    """Refused, with that type's code."""
    if not allows(node, call, operation, resource_type, name):
        raise Refused(refusal_of(resource_type))


def unless_refused(
    node: "HasAuthorizer",
    call: "Call[Any]",
    operation: Operation,
    resource_type: ResourceType,
    name: str,
    event: Event,
) -> Event | Refused:
    """`event` if it is allowed to ask for it."""
    if allows(node, call, operation, resource_type, name):
        return event
    return Refused(refusal_of(resource_type))


def authorized_operations(
    node: "HasAuthorizer", call: "Call[Any]", resource_type: ResourceType, name: str
) -> int:
    """The bit field of what this client may do, of all that makes sense."""
    sensible = sensible_on(resource_type)
    authorizer = node.authorizer
    if authorizer is None:
        return bits(sensible)
    # Nobody is refused anything here: the journal hears nothing of it.
    return bits(
        one for one in sensible if authorizer.would_allow(call.peer, one, resource_type, name)
    )


def cluster_operations(node: "HasAuthorizer", call: "Call[Any]") -> int:
    """The same of the cluster; nothing for those who may not describe it."""
    if not allows_on_cluster(node, call, Operation.DESCRIBE):
        return 0
    return authorized_operations(node, call, ResourceType.CLUSTER, CLUSTER_NAME)


def require_for_configs(
    node: "HasAuthorizer", call: "Call[Any]", operation: Operation, config_type: int, name: str
) -> None:
    """Settings of topics and groups are theirs, all others the cluster's."""
    if config_type == Resource.TOPIC:
        require(node, call, operation, ResourceType.TOPIC, name)
    elif config_type == Resource.GROUP:
        require(node, call, operation, ResourceType.GROUP, name)
    elif config_type in list(Resource):
        require(node, call, operation, ResourceType.CLUSTER, CLUSTER_NAME)
