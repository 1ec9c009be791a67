"""An authorizer with ACLs in a line each, and people who ask it."""

from typing import Final
from uuid import UUID

from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.kraft.acls import Operation, PatternType, Permission, ResourceType
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    MetadataRecord,
    RemoveAccessControlEntryRecord,
)
from tests.broker.handlers.journal import ToldJournal

TOPIC: Final = ResourceType.TOPIC
ALICE: Final = "User:alice"


class Rules:
    """`allow` and `deny` in the words of kafka-acls; each tells the id of its ACL."""

    def __init__(self, *, without_acl: bool = False) -> None:
        self.journal = ToldJournal()
        self.authorizer = Authorizer(
            ["User:admin"], allows_without_acl=without_acl, journal=self.journal
        )
        self._image = MetadataImage()
        self._count = 0

    def allow(
        self,
        operation: str,
        name: str,
        principal: str = ALICE,
        host: str = "*",
        *,
        is_prefix: bool = False,
        permission: Permission = Permission.ALLOW,
        kind: ResourceType = TOPIC,
    ) -> UUID:
        self._count += 1
        id_ = UUID(int=self._count)
        self.apply(
            AccessControlEntryRecord(
                id=id_,
                resource_type=kind,
                resource_name=name,
                pattern_type=PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
                principal=principal,
                host=host,
                operation=Operation[operation],
                permission_type=permission,
            )
        )
        return id_

    def deny(
        self,
        operation: str,
        name: str,
        principal: str = ALICE,
        host: str = "*",
        *,
        is_prefix: bool = False,
    ) -> UUID:
        return self.allow(
            operation, name, principal, host, is_prefix=is_prefix, permission=Permission.DENY
        )

    def remove(self, id_: UUID) -> None:
        self.apply(RemoveAccessControlEntryRecord(id=id_))

    def set_metadata_version(self, level: int) -> None:
        self.apply(FeatureLevelRecord(name="metadata.version", feature_level=level))

    def apply(self, record: MetadataRecord) -> None:
        delta = Delta()
        self._image.apply(record, delta)
        self.authorizer.follow(self._image, delta)

    def may(
        self,
        operation: str,
        name: str,
        principal: str = ALICE,
        host: str = "10.1.2.3",
        kind: ResourceType = TOPIC,
    ) -> bool:
        return self.authorizer.allows(Peer("L", host, principal), Operation[operation], kind, name)

    def may_on_any(self, operation: str, principal: str = ALICE) -> bool:
        peer = Peer("L", "10.1.2.3", principal)
        return self.authorizer.allows_on_any(peer, Operation[operation], TOPIC)
