"""DescribeAcls, v1-3. v2 is flexible, v3 knows the resource type User (KIP-373)."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Hangup
from kafkapy.broker.security.authorizer.translations import filter_from
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Acl, check_filter

if TYPE_CHECKING:
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer


def handle(node: "HasAuthorizer", call: "Call[DescribeAclsRequest]") -> Answer:
    wanted = filter_from(call.body)
    try:
        check_filter(wanted)
    except Refused as unknown:
        return Hangup(str(unknown))  # Kafka cannot read such a request
    if node.authorizer is None:
        raise Refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    found = sorted(acl for acl in node.authorizer.acls if wanted.matches(acl))
    return {
        "throttle_time": 0,
        "error_code": 0,
        "error_message": None,
        "resources": [
            {
                "resource_type": resource_type,
                "resource_name": name,
                "pattern_type": pattern_type,
                "acls": [_entry(acl) for acl in acls],
            }
            for (resource_type, name, pattern_type), acls in groupby(found, lambda acl: acl[:3])
        ],
    }


def _entry(acl: Acl) -> dict[str, Any]:
    return {
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }
