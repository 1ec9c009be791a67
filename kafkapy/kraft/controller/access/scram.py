"""AlterUserScramCredentials: what users log in by with SCRAM (KIP-554).

A user stands in a request once; each is judged by itself. Neither a salted password nor a key
is ever shown: events hide theirs.
"""

from collections import Counter
from dataclasses import field

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.features import SCRAM_RECORDS
from kafkapy.kraft.records.metadata import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from kafkapy.protocol import scram


@dataclass(frozen=True, slots=True)
class ScramDeletion:
    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    name: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


Alteration = ScramDeletion | ScramUpsertion


@dataclass(frozen=True, slots=True)
class AlterScram:
    deletions: tuple[ScramDeletion, ...]
    upsertions: tuple[ScramUpsertion, ...]


@dataclass(frozen=True, slots=True)
class ScramAltered:
    """By user: None, or why not."""

    refusals: dict[str, Refused | None]


class ScramMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: AlterScram, now: Instant) -> Step[Fact, ScramAltered]:
        asked: list[Alteration] = [*event.deletions, *event.upsertions]
        counts = Counter(one.name for one in asked)
        verdicts: dict[str, Refused | None] = {}
        records: list[Fact] = []
        for one in asked:
            if counts[one.name] > 1:
                verdicts[one.name] = Refused(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
                continue
            verdicts[one.name] = self._refusal(one)
            if verdicts[one.name] is None:
                records.append(_record(one))
        return Step(records=tuple(records), reply=ScramAltered(verdicts))

    def _refusal(self, one: Alteration) -> Refused | None:
        if self._state.image.metadata_version < SCRAM_RECORDS:
            return Refused(
                ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
            )
        if not one.name:
            return Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
        if one.mechanism not in scram.BY_TYPE:
            return Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
        if isinstance(one, ScramDeletion):
            if (one.name, one.mechanism) not in self._state.image.scram:
                return Refused(
                    ErrorCode.RESOURCE_NOT_FOUND,
                    "Attempt to delete a user credential that does not exist",
                )
        elif one.iterations < scram.MIN_ITERATIONS:
            return Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        elif one.iterations > scram.MAX_ITERATIONS:
            return Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
        return None


def _record(one: Alteration) -> UserScramCredentialRecord | RemoveUserScramCredentialRecord:
    if isinstance(one, ScramDeletion):
        return RemoveUserScramCredentialRecord(name=one.name, mechanism=one.mechanism)
    mechanism = scram.BY_TYPE[one.mechanism]
    kept = scram.credential_of(mechanism, one.salted_password, one.salt, one.iterations)
    return credential_record(one.name, mechanism, kept)


def credential_record(
    name: str, mechanism: scram.ScramMechanism, kept: scram.Credential
) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism.type,
        salt=kept.salt,
        stored_key=kept.stored_key,
        server_key=kept.server_key,
        iterations=kept.iterations,
    )
