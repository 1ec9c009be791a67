"""DescribeUserScramCredentials, v0: who has a credential of which mechanism, and nothing of it."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.acls import Operation
from kafkapy.protocol.error_messages import ERROR_MESSAGES

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_user_scram_credentials.v0.request import (
        DescribeUserScramCredentialsRequest,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasImage

    class Needs(HasAuthorizer, HasImage, Protocol): ...


def handle(node: "Needs", call: "Call[DescribeUserScramCredentialsRequest]") -> Answer:
    if not allows_on_cluster(node, call, Operation.DESCRIBE):
        return _denied([one.name for one in call.body.users or ()])
    known: dict[str, list[dict[str, Any]]] = {}
    for (user, mechanism), one in sorted(node.image.scram.items()):
        known.setdefault(user, []).append({"mechanism": mechanism, "iterations": one.iterations})
    asked = Counter(one.name for one in call.body.users or ()) or Counter(known.keys())
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "results": [_result(user, count, known.get(user)) for user, count in asked.items()],
    }


def _denied(users: list[str]) -> dict[str, Any]:
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    error = {"error_code": code, "error_message": ERROR_MESSAGES[code]}
    rows = [{"user": user, **error, "credential_infos": ()} for user in users]
    return {"throttle_time": 0, **error, "results": rows}


def _result(user: str, count: int, infos: list[dict[str, Any]] | None) -> dict[str, Any]:
    code, message = ErrorCode.NONE, None
    if count > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = (
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    elif infos is None:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {user}"
    return {
        "user": user,
        "error_code": code,
        "error_message": message,
        "credential_infos": () if code else infos,
    }
