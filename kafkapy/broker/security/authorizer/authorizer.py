"""Who may do what: Apache Kafka's StandardAuthorizer, by the ACLs of the committed metadata.

    a super user                                  yes
    an ACL denies it, wherever                    no
    an ACL allows it                              yes
    no ACL speaks of the resource                 allow.everyone.if.no.acl.found
    else                                          no

A decision is made once and kept until an ACL changes: then `version` is another and nothing is
known any more. Whoever keeps a decision of ours for itself (the cache of Produce frames) keeps
the version with it and compares. A name that is longer than a topic's can be is kept by its hash:
clients make names up. KIP-11, KIP-290, KIP-801.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.hosts import canonical_host
from kafkapy.broker.security.authorizer.index import AclIndex, Entry
from kafkapy.core.limits import MAX_TOPIC_NAME_LENGTH
from kafkapy.core.seams import Journal
from kafkapy.kraft.acls import (
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage

# Of (who, from where, what, which resource); each takes some 300 bytes, and with the longest of
# names 250 more. Full, it starts over.
MOST_DECISIONS: Final = 100_000
# A name that stands for any resource of a type: super users may, and all where nothing is said.
_ANY_RESOURCE: Final = "hardcode"

SUPER_USER: Final = "super user"
THIS_NODE: Final = "this node"
NO_ACL: Final = "no ACL for this resource"
NO_MATCH: Final = "no ACL matches"

# What is asked; a long name by its hash, which no name equals.
_Question = tuple[str, str, int, int, str | bytes]


class Authorizer:
    """`journal` hears of each refusal once, until ACLs change."""

    def __init__(
        self, super_users: Iterable[str], *, allows_without_acl: bool, journal: Journal
    ) -> None:
        self.version = 1
        self._super_users = frozenset(super_users)
        self._allows_without_acl = allows_without_acl
        self._journal = journal
        self._index = AclIndex()
        self._decided: dict[_Question, bool] = {}
        self._wondered: dict[_Question, bool] = {}

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        if self._index.follow(image, delta):
            self._changed()

    def _changed(self) -> None:
        """What was decided may be decided otherwise now."""
        self.version += 1
        self._decided.clear()
        self._wondered.clear()

    @property
    def acls(self) -> Iterator[Acl]:
        return iter(self._index)

    def allows(self, peer: Peer, operation: int, resource_type: int, name: str) -> bool:
        kept = name if len(name) <= MAX_TOPIC_NAME_LENGTH else _hash(name)
        key = (peer.principal, peer.host, operation, resource_type, kept)
        decided = self._decided.get(key)
        if decided is None:
            if len(self._decided) >= MOST_DECISIONS:
                self._decided.clear()
            decided = self._decided[key] = self._decide(peer, operation, resource_type, name)
        return decided

    def would_allow(self, peer: Peer, operation: int, resource_type: int, name: str) -> bool:
        """As `allows`, where no is no refusal: something is left out, or another way is open."""
        kept = name if len(name) <= MAX_TOPIC_NAME_LENGTH else _hash(name)
        key = (peer.principal, peer.host, operation, resource_type, kept)
        allowed = self._wondered.get(key)
        if allowed is None:
            if len(self._wondered) >= MOST_DECISIONS:
                self._wondered.clear()
            allowed = self._wondered[key] = self._rule(peer, operation, resource_type, name)[0]
        return allowed

    def allows_on_any(self, peer: Peer, operation: int, resource_type: int) -> bool:
        """Whether there may be a resource of that type of which it is allowed: an ACL allows it
        that no denial covers as a whole."""
        if self._rule_of_acls(peer, operation, resource_type, _ANY_RESOURCE)[0]:
            return True
        literal: dict[int, set[str]] = {Permission.DENY: set(), Permission.ALLOW: set()}
        prefixed: dict[int, set[str]] = {Permission.DENY: set(), Permission.ALLOW: set()}
        host = canonical_host(peer.host)
        for entry in self._index.of_type(resource_type):
            acl = entry.acl
            if acl.operation in (operation, Operation.ALL) and entry.is_of(peer.principal, host):
                table = prefixed if acl.pattern_type == PatternType.PREFIXED else literal
                table[acl.permission].add(acl.resource_name)
        if WILDCARD in literal[Permission.DENY]:
            return False
        if WILDCARD in literal[Permission.ALLOW]:
            return True
        denied = prefixed[Permission.DENY]
        allowed = (literal[Permission.ALLOW] - literal[Permission.DENY]) | prefixed[
            Permission.ALLOW
        ]
        return any(
            not any(name[:length] in denied for length in range(1, len(name) + 1))
            for name in allowed
        )

    def _decide(self, peer: Peer, operation: int, resource_type: int, name: str) -> bool:
        allowed, rule = self._rule(peer, operation, resource_type, name)
        if not allowed:
            self._journal.info(
                "refused",
                principal=peer.principal,
                host=peer.host,
                operation=Operation(operation).name,
                resource=f"{ResourceType(resource_type).name}:{_shortened(name)}",
                rule=rule,
            )
        return allowed

    def _rule(self, peer: Peer, operation: int, resource_type: int, name: str) -> tuple[bool, str]:
        """Whether, and by which rule."""
        return self._rule_of_acls(peer, operation, resource_type, name)

    def _rule_of_acls(
        self, peer: Peer, operation: int, resource_type: int, name: str
    ) -> tuple[bool, str]:
        if peer.principal in self._super_users:
            return True, SUPER_USER
        if peer.is_this_node:
            return True, THIS_NODE
        allowing: Entry | None = None
        is_spoken_of = False
        # Another node may have handed it on as its socket saw it.
        host = canonical_host(peer.host)
        for entry in self._index.about(resource_type, name):
            is_spoken_of = True
            if entry.is_of(peer.principal, host) and entry.is_about(operation):
                if entry.acl.permission == Permission.DENY:
                    return False, _told(entry)
                allowing = entry
        if allowing is not None:
            return True, _told(allowing)
        if is_spoken_of:
            return False, NO_MATCH
        return self._allows_without_acl, NO_ACL


def _hash(name: str) -> bytes:
    return sha256(name.encode("utf-8", "surrogatepass")).digest()


def _shortened(name: str) -> str:
    most = MAX_TOPIC_NAME_LENGTH
    return name if len(name) <= most else f"{name[:most]}... ({len(name)} characters)"


def _told(entry: Entry) -> str:
    acl = entry.acl
    pattern = PatternType(acl.pattern_type).name
    return (
        f"{Permission(acl.permission).name} {Operation(acl.operation).name} to {acl.principal} "
        f"from {acl.host} on {pattern} {acl.resource_name}"
    )
