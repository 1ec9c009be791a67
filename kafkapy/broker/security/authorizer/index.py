"""ACLs in the order in which they are asked: by resource type, then by pattern.

    literal   (type, name) --> entries     asked for the resource's name and for "*"
    prefixed  (type, prefix) --> entries   asked for each beginning of the name that has some

A question costs as many lookups as there are lengths of prefixes, however many ACLs there are.
"""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.broker.security.authorizer.hosts import canonical_host, canonical_network
from kafkapy.kraft.acls import (
    ANYBODY,
    NETWORKS_AS_HOSTS,
    WILDCARD,
    Acl,
    Network,
    Operation,
    PatternType,
    Permission,
    acl_of,
)
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import METADATA_VERSION, MetadataImage

# To allow one of these is to allow the other too; to deny it is not.
IMPLIES: Final[dict[int, frozenset[int]]] = {
    Operation.DESCRIBE: frozenset(
        {
            Operation.DESCRIBE,
            Operation.READ,
            Operation.WRITE,
            Operation.DELETE,
            Operation.ALTER,
        }
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}


class Entry(NamedTuple):
    """One ACL, ready to be asked: by canonical hosts. `network` where its own is one."""

    acl: Acl
    host: str
    network: Network | None

    def is_of(self, principal: str, host: str) -> bool:
        acl = self.acl
        if acl.principal not in (principal, ANYBODY):
            return False
        if self.host in (WILDCARD, host):
            return True
        return self.network is not None and ip_address(host) in self.network

    def is_about(self, operation: int) -> bool:
        acl = self.acl
        if acl.operation in (operation, Operation.ALL):
            return True
        allows = acl.permission == Permission.ALLOW
        return allows and acl.operation in IMPLIES.get(operation, ())


Key = tuple[int, str]


class AclIndex:
    """The ACLs of the committed metadata."""

    def __init__(self) -> None:
        self._by_id: dict[UUID, Entry] = {}
        self._literal: dict[Key, dict[UUID, Entry]] = {}
        self._prefixed: dict[Key, dict[UUID, Entry]] = {}
        # Lengths of prefixes, the longest first, by resource type.
        self._lengths: dict[int, tuple[int, ...]] = {}

    def follow(self, image: MetadataImage, delta: Delta) -> bool:
        """Take in what changed; whether anything did."""
        changed = delta.acls
        if METADATA_VERSION in delta.features:  # a host may be a network now
            changed = {*self._by_id, *image.acls}
        if not changed:
            return False
        has_networks = image.metadata_version >= NETWORKS_AS_HOSTS
        for id_ in changed:
            self._remove(id_)
            record = image.acls.get(id_)
            if record is not None:
                acl = acl_of(record)
                network = canonical_network(acl.host) if has_networks else None
                self._add(id_, Entry(acl, canonical_host(acl.host), network))
        self._measure()
        return True

    def __iter__(self) -> Iterator[Acl]:
        return (entry.acl for entry in self._by_id.values())

    def about(self, resource_type: int, name: str) -> Iterator[Entry]:
        """Every entry whose pattern covers that resource."""
        yield from self._literal.get((resource_type, name), _NONE).values()
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self._prefixed.get((resource_type, name[:length]), _NONE).values()
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), _NONE).values()

    def of_type(self, resource_type: int) -> Iterator[Entry]:
        return (one for one in self._by_id.values() if one.acl.resource_type == resource_type)

    def _table(self, acl: Acl) -> dict[Key, dict[UUID, Entry]]:
        return self._prefixed if acl.pattern_type == PatternType.PREFIXED else self._literal

    def _add(self, id_: UUID, entry: Entry) -> None:
        self._by_id[id_] = entry
        key = (entry.acl.resource_type, entry.acl.resource_name)
        self._table(entry.acl).setdefault(key, {})[id_] = entry

    def _remove(self, id_: UUID) -> None:
        entry = self._by_id.pop(id_, None)
        if entry is None:
            return
        table = self._table(entry.acl)
        key = (entry.acl.resource_type, entry.acl.resource_name)
        del table[key][id_]
        if not table[key]:
            del table[key]

    def _measure(self) -> None:
        lengths: dict[int, set[int]] = {}
        for resource_type, prefix in self._prefixed:
            lengths.setdefault(resource_type, set()).add(len(prefix))
        self._lengths = {
            kind: tuple(sorted(found, reverse=True)) for kind, found in lengths.items()
        }


_NONE: Final[dict[UUID, Entry]] = {}
