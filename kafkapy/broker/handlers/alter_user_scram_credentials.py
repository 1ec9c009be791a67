"""AlterUserScramCredentials, v0. The client salts the password; what is kept comes of that."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.broker.controller.ask import ask, verdict
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.access.scram import AlterScram, ScramDeletion, ScramUpsertion

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.alter_user_scram_credentials.v0.request import AlterUserScramCredentialsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasController

    class Needs(HasAuthorizer, HasController, Protocol): ...


def handle(node: "Needs", call: "Call[AlterUserScramCredentialsRequest]") -> Answer:
    body = call.body
    event = AlterScram(
        deletions=tuple(ScramDeletion(one.name, one.mechanism) for one in body.deletions),
        upsertions=tuple(
            ScramUpsertion(
                one.name,
                one.mechanism,
                one.iterations,
                bytes(one.salt),
                bytes(one.salted_password),
            )
            for one in body.upsertions
        ),
    )
    names = [one.name for one in event.deletions] + [one.name for one in event.upsertions]
    if not allows_on_cluster(node, call, Operation.ALTER):
        return _response(dict.fromkeys(names, Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
    return ask(
        node,
        event,
        lambda reply: _response(reply.refusals),
        lambda refused: _response(dict.fromkeys(names, refused)),
    )


def _response(refusals: Mapping[str, Refused | None]) -> Fields:
    results: list[dict[str, Any]] = [
        {"user": user, **verdict(refused)} for user, refused in refusals.items()
    ]
    return {"throttle_time": 0, "results": results}
