"""Access control entries as they stand in the metadata, and filters over them.

    ACL = resource pattern (type, name, literal or prefixed) + entry (who, from where, what, may)

Numbers are those of Kafka's wire and records (formats/metadata 2). A filter leaves any part
open; MATCH finds every pattern that speaks of a resource of that name. KIP-140, KIP-290.
"""

from enum import IntEnum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.records.metadata import AccessControlEntryRecord

WILDCARD: Final = "*"
ANYBODY: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"
# The metadata.version (4.4) from which a host may be a network (KIP-1276).
NETWORKS_AS_HOSTS: Final = 32

Network = IPv4Network | IPv6Network


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """All of an ACL but its id: two that are equal are one."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class AclFilter(NamedTuple):
    """None, ANY and MATCH leave open what they stand for."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._is_of_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _is_of_pattern(self, acl: Acl) -> bool:
        if self.pattern_type == PatternType.MATCH:
            return self.resource_name is None or speaks_of(acl, self.resource_name)
        if self.pattern_type not in (PatternType.ANY, acl.pattern_type):
            return False
        return self.resource_name in (None, acl.resource_name)


def speaks_of(acl: Acl, name: str) -> bool:
    """Whether the ACL's pattern covers a resource (of its type) of that name."""
    if acl.pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)


def acl_of(record: AccessControlEntryRecord) -> Acl:
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def network_of(host: str) -> Network | None:
    """The network that a host in CIDR notation is; None if it is no such thing."""
    if "/" not in host:
        return None
    try:
        return ip_network(host, strict=False)
    except ValueError:
        return None


def check_new(acl: Acl, metadata_version: int) -> None:
    """Refused unless an ACL like that may be made."""
    _known(ResourceType, acl.resource_type, "resourceType", ResourceType.ANY)
    _known(PatternType, acl.pattern_type, "patternType", PatternType.ANY, PatternType.MATCH)
    _known(Operation, acl.operation, "operation", Operation.ANY)
    _known(Permission, acl.permission, "permissionType", Permission.ANY)
    if not acl.resource_name:
        raise Refused(ErrorCode.INVALID_REQUEST, "A resource needs a name.")
    if ":" not in acl.principal:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"The principal {acl.principal!r} has no colon between its type and its name.",
        )
    if metadata_version >= NETWORKS_AS_HOSTS:
        _check_host(acl.host)


def check_filter(wanted: AclFilter) -> None:
    """Refused if a part of it is a number that nobody knows."""
    _known(ResourceType, wanted.resource_type, "resourceType")
    _known(PatternType, wanted.pattern_type, "patternType")
    _known(Operation, wanted.operation, "operation")
    _known(Permission, wanted.permission, "permissionType")


def _known(kind: type[IntEnum], value: int, what: str, *not_these: int) -> None:
    if value not in kind._value2member_map_ or value in (0, *not_these):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Invalid {what} {value}.")


def _check_host(host: str) -> None:
    if host == WILDCARD or network_of(host) is not None:
        return
    try:
        ip_address(host)
    except ValueError:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"The host {host!r} is no address, network or {WILDCARD}."
        ) from None
