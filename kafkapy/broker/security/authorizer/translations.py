"""ACLs and filters as the requests about them have them."""

from typing import TYPE_CHECKING, Any

from kafkapy.kraft.acls import Acl, AclFilter

if TYPE_CHECKING:
    from kio.schema.create_acls.v3.request import AclCreation


def filter_from(asked: Any) -> AclFilter:
    """Of DescribeAcls, or one of those of DeleteAcls: their fields are the same."""
    return AclFilter(
        int(asked.resource_type_filter),
        asked.resource_name_filter,
        int(asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        int(asked.operation),
        int(asked.permission_type),
    )


def acl_from(asked: "AclCreation") -> Acl:
    return Acl(
        int(asked.resource_type),
        asked.resource_name,
        int(asked.resource_pattern_type),
        asked.principal,
        asked.host,
        int(asked.operation),
        int(asked.permission_type),
    )
