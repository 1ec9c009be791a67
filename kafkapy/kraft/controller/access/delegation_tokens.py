"""Delegation tokens made, renewed, ended and swept away (KIP-48, KIP-900).

    created --renewed--> ... --expires--> swept
        \\--ended at once by its owner or a renewer--> gone

What they say of time is a time of day: `state.wall`. Nobody is told by whom a token may be
managed who may not: it is asked for by its HMAC, and whoever has that has the token.
"""

from dataclasses import field, replace

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.state import MAX_RECORDS_PER_OPERATION, ControllerState
from kafkapy.kraft.delegation_tokens import TokensByHmac, hmac_of, is_expired, may_manage
from kafkapy.kraft.features import DELEGATION_TOKEN_RECORDS
from kafkapy.kraft.records.metadata import DelegationTokenRecord, RemoveDelegationTokenRecord
from kafkapy.kraft.uuids import new_uuid, uuid_to_text

_LAST_MOMENT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CreateToken:
    """Principals as people write them, type:name. `max_lifetime_ms` below 1: the default."""

    requester: str
    owner: str
    renewers: tuple[str, ...]
    max_lifetime_ms: int


@dataclass(frozen=True, slots=True)
class RenewToken:
    """`period_ms` below 1: the default."""

    requester: str
    period_ms: int
    hmac: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ExpireToken:
    """`period_ms` below 0: at once."""

    requester: str
    period_ms: int
    hmac: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SweepTokens:
    """Those that have expired go."""


TokenEvent = CreateToken | RenewToken | ExpireToken | SweepTokens


@dataclass(frozen=True, slots=True)
class TokenMade:
    token: DelegationTokenRecord
    hmac: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenExpires:
    at: int


TokenStep = Step[Fact, TokenMade | TokenExpires]


class DelegationTokenMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state
        secret = state.settings.tokens.secret
        self._by_hmac = None if secret is None else TokensByHmac(secret)

    def decide(self, event: TokenEvent, now: Instant) -> TokenStep:
        if isinstance(event, SweepTokens):
            return self._sweep()
        secret = self._state.settings.tokens.secret
        if secret is None:
            raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if self._state.image.metadata_version < DELEGATION_TOKEN_RECORDS:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)
        if isinstance(event, CreateToken):
            return self._create(event, secret)
        token = self._asked_for(event)
        if isinstance(event, RenewToken):
            return self._renew(event, token)
        return self._end(event, token)

    def _create(self, event: CreateToken, secret: str) -> TokenStep:
        settings, wall = self._state.settings.tokens, self._state.wall
        lifetime_ms = settings.max_lifetime_ms
        if event.max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, event.max_lifetime_ms)
        ends = _moment(wall, lifetime_ms)
        token = DelegationTokenRecord(
            owner=event.owner,
            requester=event.requester,
            renewers=event.renewers,
            issue_timestamp=wall,
            max_timestamp=ends,
            expiration_timestamp=min(ends, _moment(wall, settings.expiry_ms)),
            token_id=uuid_to_text(new_uuid(self._state.rng)),
        )
        return Step(records=(token,), reply=TokenMade(token, hmac_of(secret, token.token_id)))

    def _asked_for(self, event: RenewToken | ExpireToken) -> DelegationTokenRecord:
        assert self._by_hmac is not None, "or refused"
        token = self._by_hmac.find(self._state.image.tokens, event.hmac)
        if token is None:
            raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        # One that has expired can still be ended at once, by whom it belongs to.
        if isinstance(event, RenewToken) and is_expired(token, self._state.wall):
            raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        if not may_manage(token, event.requester):
            raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        return token

    def _renew(self, event: RenewToken, token: DelegationTokenRecord) -> TokenStep:
        period_ms = self._state.settings.tokens.expiry_ms
        if event.period_ms > 0:
            period_ms = min(period_ms, event.period_ms)
        return self._expires(token, period_ms)

    def _end(self, event: ExpireToken, token: DelegationTokenRecord) -> TokenStep:
        if event.period_ms < 0:
            gone = RemoveDelegationTokenRecord(token_id=token.token_id)
            return Step(records=(gone,), reply=TokenExpires(self._state.wall))
        if is_expired(token, self._state.wall):
            raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        return self._expires(token, event.period_ms)

    def _expires(self, token: DelegationTokenRecord, period_ms: int) -> TokenStep:
        ends = min(token.max_timestamp, _moment(self._state.wall, period_ms))
        changed = replace(token, expiration_timestamp=ends)
        return Step(records=(changed,), reply=TokenExpires(ends))

    def _sweep(self) -> TokenStep:
        """What is more than one batch takes goes next time: nobody logs in by it meanwhile."""
        wall = self._state.wall
        expired = [one for one in self._state.image.tokens.values() if is_expired(one, wall)]
        return Step(
            records=tuple(
                RemoveDelegationTokenRecord(token_id=one.token_id)
                for one in expired[:MAX_RECORDS_PER_OPERATION]
            )
        )


def _moment(wall: Instant, after_ms: int) -> int:
    return min(_LAST_MOMENT, wall + after_ms)
