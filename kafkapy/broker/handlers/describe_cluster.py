"""DescribeCluster, v0-2. v1 the endpoint type (brokers or controllers), v2 fenced brokers."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.metadata.authorized_operations import NOT_ASKED
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import cluster_operations
from kafkapy.core.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_cluster.v2.request import DescribeClusterRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasCluster, HasNodeId

    class Needs(HasAuthorizer, HasCluster, HasNodeId, Protocol):
        @property
        def controller_id(self) -> int: ...


BROKERS, CONTROLLERS = 1, 2


def handle(node: "Needs", call: "Call[DescribeClusterRequest]") -> Answer:
    endpoint_type = optional(call.body, "endpoint_type", BROKERS)
    expected = CONTROLLERS if call.peer.is_controller_listener else BROKERS
    if endpoint_type not in (BROKERS, CONTROLLERS):
        raise Refused(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
        )
    if endpoint_type != expected and call.version == 0:
        # Who asks cannot know of the other kind.
        raise Refused(ErrorCode.INVALID_REQUEST, "Controllers are asked from v1 on")
    if endpoint_type != expected:
        raise Refused(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of the wrong type",
        )
    operations = NOT_ASKED
    if call.body.include_cluster_authorized_operations:
        operations = cluster_operations(node, call)
    return {
        "throttle_time": 0,
        "error_code": 0,
        "error_message": None,
        "endpoint_type": endpoint_type,
        "cluster_id": node.cluster_id,
        "controller_id": node.controller_id if endpoint_type == CONTROLLERS else node.node_id,
        "brokers": _brokers(node, call, endpoint_type),
        "cluster_authorized_operations": operations,
    }


def _brokers(
    node: "Needs", call: "Call[DescribeClusterRequest]", endpoint_type: int
) -> list[dict[str, Any]]:
    if endpoint_type == CONTROLLERS:
        found = node.cluster.controllers(call.peer.listener)
    else:
        with_fenced = optional(call.body, "include_fenced_brokers", False)
        found = node.cluster.brokers(call.peer.listener, with_fenced=with_fenced)
    return [
        {
            "broker_id": one.node_id,
            "host": one.host,
            "port": one.port,
            "rack": one.rack,
            "is_fenced": one.is_fenced,
        }
        for one in found
    ]
