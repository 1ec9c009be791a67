"""CreateAcls and DeleteAcls: access control entries in the metadata.

Each of a request's ACLs, and each of its filters, is judged by itself. One that is there already
is not made again; of two filters that find the same one both tell it.
"""

from collections.abc import Sequence
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.acls import Acl, AclFilter, acl_of, check_filter, check_new
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.state import MAX_RECORDS_PER_OPERATION, ControllerState
from kafkapy.kraft.records.metadata import AccessControlEntryRecord, RemoveAccessControlEntryRecord


@dataclass(frozen=True, slots=True)
class CreateAcls:
    acls: tuple[Acl, ...]


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    filters: tuple[AclFilter, ...]


AclEvent = CreateAcls | DeleteAcls
# In the order of the request: None, or why not.
AclsCreated = Sequence[Refused | None]
# Of each filter what it found and deleted, or why it cannot be.
AclsDeleted = Sequence[tuple[Acl, ...] | Refused]


class AclMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: AclEvent, now: Instant) -> Step[Fact, AclsCreated | AclsDeleted]:
        match event:
            case CreateAcls(acls):
                return self._create(acls)
            case DeleteAcls(filters):
                return self._delete(filters)

    def _create(self, acls: Sequence[Acl]) -> Step[Fact, AclsCreated | AclsDeleted]:
        image = self._state.image
        standing = {acl_of(record) for record in image.acls.values()}
        verdicts: list[Refused | None] = []
        records: list[Fact] = []
        for acl in acls:
            try:
                check_new(acl, image.metadata_version)
            except Refused as refused:
                verdicts.append(refused)
                continue
            verdicts.append(None)
            if acl not in standing:
                standing.add(acl)
                records.append(self._record(acl))
        _check_size(len(records))
        return Step(records=tuple(records), reply=tuple(verdicts))

    def _record(self, acl: Acl) -> AccessControlEntryRecord:
        return AccessControlEntryRecord(
            id=self._state.rng.uuid(),
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )

    def _delete(self, filters: Sequence[AclFilter]) -> Step[Fact, AclsCreated | AclsDeleted]:
        standing = [(id_, acl_of(record)) for id_, record in self._state.image.acls.items()]
        found: list[tuple[Acl, ...] | Refused] = []
        gone: dict[UUID, Acl] = {}
        for wanted in filters:
            try:
                check_filter(wanted)
            except Refused as refused:
                found.append(refused)
                continue
            these = [(id_, acl) for id_, acl in standing if wanted.matches(acl)]
            gone.update(these)
            found.append(tuple(acl for _, acl in these))
        _check_size(len(gone))
        records = tuple(RemoveAccessControlEntryRecord(id=id_) for id_ in gone)
        return Step(records=records, reply=tuple(found))


def _check_size(records: int) -> None:
    if records > MAX_RECORDS_PER_OPERATION:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"{records} ACLs at once are more than {MAX_RECORDS_PER_OPERATION}.",
        )
