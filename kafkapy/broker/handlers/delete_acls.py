"""DeleteAcls, v1-3. v2 is flexible, v3 knows the resource type User (KIP-373)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.controller.ask import ask, explained
from kafkapy.broker.requests.request import Answer, Call, Fields, Hangup
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.broker.security.authorizer.translations import filter_from
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Acl, Operation, check_filter
from kafkapy.kraft.controller.access.acls import AclsDeleted, DeleteAcls

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.delete_acls.v3.request import DeleteAclsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasController

    class Needs(HasAuthorizer, HasController, Protocol): ...


def handle(node: "Needs", call: "Call[DeleteAclsRequest]") -> Answer:
    filters = tuple(filter_from(one) for one in call.body.filters)
    for wanted in filters:
        try:
            check_filter(wanted)
        except Refused as unknown:
            return Hangup(str(unknown))  # Kafka cannot read such a request
    if not allows_on_cluster(node, call, Operation.ALTER):
        return _response([Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)] * len(filters))
    if node.authorizer is None:
        disabled = Refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return _response([disabled] * len(filters))
    return ask(
        node, DeleteAcls(filters), _response, lambda refused: _response([refused] * len(filters))
    )


def _response(found: "AclsDeleted | Sequence[Refused]") -> Fields:
    return {"throttle_time": 0, "filter_results": [_result(one) for one in found]}


def _result(found: tuple[Acl, ...] | Refused) -> Fields:
    if isinstance(found, Refused):
        return {**explained(found), "matching_acls": ()}
    return {**explained(None), "matching_acls": [_deleted(acl) for acl in found]}


def _deleted(acl: Acl) -> dict[str, Any]:
    return {
        "error_code": 0,
        "error_message": None,
        "resource_type": acl.resource_type,
        "resource_name": acl.resource_name,
        "pattern_type": acl.pattern_type,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }
