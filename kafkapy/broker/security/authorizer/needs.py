"""What an API needs, as data in the table of APIs, and the question that follows from it.

    Need: operation, resource type, the request's field that names the resource

Whoever lacks one is refused with the code of that type of resource, and the handler is not asked.
"""

from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.requests.request import Call
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.core.data import dataclass
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasAuthorizer

_NO_FIELD: Final = ""


@dataclass(frozen=True, slots=True)
class Need:
    operation: Operation
    resource_type: ResourceType
    field: str

    def __str__(self) -> str:
        return f"{self.operation.name} on {self.resource_type.name}"


# All of them; or, in words, what the handler asks for.
Permission = tuple[Need, ...] | str


def on_cluster(operation: Operation) -> Need:
    return Need(operation, ResourceType.CLUSTER, _NO_FIELD)


def on_group(operation: Operation) -> Need:
    return Need(operation, ResourceType.GROUP, "group_id")


def on_transactional_id(operation: Operation) -> Need:
    return Need(operation, ResourceType.TRANSACTIONAL_ID, "transactional_id")


def check(node: "HasAuthorizer", permission: Permission, call: "Call[Any]") -> None:
    """Refused if the client lacks what its request needs as a whole."""
    if isinstance(permission, str):
        return
    for need in permission:
        name = CLUSTER_NAME if need.field == _NO_FIELD else getattr(call.body, need.field)
        require(node, call, need.operation, need.resource_type, name)
