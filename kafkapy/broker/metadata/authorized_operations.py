"""Which operations make sense for what, as the bit fields of Metadata and its kin have them.

A bit stands at the operation's code. What of it a client may do says the authorizer
(security/authorizer/asking.py).
"""

from collections.abc import Iterable
from typing import Final

from kafkapy.kraft.acls import Operation, ResourceType

# Told when the client did not ask.
NOT_ASKED: Final = -(2**31)

_SENSIBLE: Final = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}


def sensible_on(resource_type: ResourceType) -> tuple[Operation, ...]:
    return _SENSIBLE[resource_type]


def bits(operations: Iterable[int]) -> int:
    return sum(1 << operation for operation in operations)
