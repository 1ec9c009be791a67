"""CreateAcls, v1-3. v2 is flexible, v3 knows the resource type User (KIP-373)."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, explained
from kafkapy.broker.requests.request import Answer, Call, Fields, Hangup
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.broker.security.authorizer.translations import acl_from
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import CLUSTER_NAME, Acl, Operation, ResourceType
from kafkapy.kraft.controller.access.acls import AclsCreated, CreateAcls

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.create_acls.v3.request import CreateAclsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasController

    class Needs(HasAuthorizer, HasController, Protocol): ...


def handle(node: "Needs", call: "Call[CreateAclsRequest]") -> Answer:
    asked = [acl_from(one) for one in call.body.creations]
    for acl in asked:
        if 0 in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission):
            return Hangup(f"an ACL with unknown parts: {acl}")  # Kafka cannot read the request
    if not allows_on_cluster(node, call, Operation.ALTER):
        return _all(asked, Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    if node.authorizer is None:
        return _all(asked, Refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."))
    wrong = {acl: why for acl in asked if (why := _why_not(acl)) is not None}
    good = tuple(acl for acl in asked if acl not in wrong)

    def answer(reply: AclsCreated) -> Fields:
        verdicts = dict(zip(good, reply, strict=True)) | wrong
        return _response([verdicts[acl] for acl in asked])

    return ask(node, CreateAcls(good), answer, lambda refused: _all(asked, refused))


def _why_not(acl: Acl) -> Refused | None:
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return Refused(ErrorCode.INVALID_REQUEST, f"The cluster has one name: {CLUSTER_NAME}")
    if not acl.resource_name:
        return Refused(ErrorCode.INVALID_REQUEST, "A resource needs a name.")
    return None


def _all(asked: list[Acl], refused: Refused) -> Fields:
    return _response([refused] * len(asked))


def _response(verdicts: "list[Refused | None]") -> Fields:
    return {"throttle_time": 0, "results": [explained(one) for one in verdicts]}
