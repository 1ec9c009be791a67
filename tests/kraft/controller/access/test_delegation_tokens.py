"""Delegation tokens: made, renewed, ended, swept away; by whom, and until when."""

import hmac
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.access.delegation_tokens import (
    CreateToken,
    ExpireToken,
    RenewToken,
    TokenExpires,
    TokenMade,
)
from kafkapy.kraft.controller.state import TokenSettings
from kafkapy.kraft.records.metadata import DelegationTokenRecord, FeatureLevelRecord
from kafkapy.kraft.storage.bootstrap import default_bootstrap
from tests.kraft.controller.fakes import Cluster

ALICE, BOB, EVE = "User:alice", "User:bob", "User:eve"
SECRET = "a secret of all nodes"
HOUR, DAY = 3_600_000, 86_400_000


def cluster(**fields: Any) -> Cluster:
    settings = {"max_lifetime_ms": 7 * DAY, "expiry_ms": DAY, "expiry_check_interval_ms": HOUR}
    made = Cluster(tokens=TokenSettings(SECRET, **{**settings, **fields}))
    made.clock.wall_ahead_ms = 1_700_000_000_000
    return made


def made(cluster: Cluster, owner: str = ALICE, *renewers: str, lifetime_ms: int = -1) -> TokenMade:
    outcome = cluster.ask(CreateToken(owner, owner, renewers, lifetime_ms))
    assert isinstance(outcome, TokenMade), outcome
    return outcome


def wall(cluster: Cluster) -> Instant:
    return cluster.clock.wall()


def test_a_token_is_whose_it_is_until_it_ends() -> None:
    where = cluster()
    outcome = where.ask(CreateToken(ALICE, BOB, (EVE,), -1))
    now = wall(where)
    assert outcome.token == DelegationTokenRecord(
        owner=BOB,
        requester=ALICE,
        renewers=(EVE,),
        issue_timestamp=now,
        max_timestamp=now + 7 * DAY,
        expiration_timestamp=now + DAY,
        token_id=outcome.token.token_id,
    )
    assert where.log.image().tokens == {outcome.token.token_id: outcome.token}
    expected = hmac.digest(SECRET.encode(), outcome.token.token_id.encode(), "sha512")
    assert outcome.hmac == expected
    assert outcome.hmac not in repr(where.log.records).encode()


def test_who_asks_for_less_gets_less_and_never_more() -> None:
    where = cluster()
    token = made(where, lifetime_ms=HOUR).token
    assert token.max_timestamp == token.expiration_timestamp == wall(where) + HOUR
    assert made(where, lifetime_ms=30 * DAY).token.max_timestamp == wall(where) + 7 * DAY


def test_renewing_puts_the_end_off_and_not_beyond_its_life() -> None:
    where = cluster(max_lifetime_ms=DAY + HOUR)
    one = made(where)
    where.clock.advance(2 * HOUR)
    assert where.ask(RenewToken(ALICE, HOUR, one.hmac)) == TokenExpires(wall(where) + HOUR)
    assert where.ask(RenewToken(ALICE, -1, one.hmac)) == TokenExpires(one.token.max_timestamp)
    (kept,) = where.image.tokens.values()
    assert kept.expiration_timestamp == kept.max_timestamp == one.token.max_timestamp


def test_an_end_is_set_or_is_now() -> None:
    where = cluster()
    one, other = made(where), made(where)
    assert where.ask(ExpireToken(ALICE, HOUR, one.hmac)) == TokenExpires(wall(where) + HOUR)
    assert where.ask(ExpireToken(ALICE, -1, other.hmac)) == TokenExpires(wall(where))
    assert list(where.image.tokens) == [one.token.token_id]
    assert where.refusal(RenewToken(ALICE, -1, other.hmac)) == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_only_its_owner_and_renewers_may() -> None:
    where = cluster()
    one = made(where, ALICE, BOB)
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert where.refusal(RenewToken(EVE, -1, one.hmac)) == mismatch
    assert where.refusal(ExpireToken(EVE, -1, one.hmac)) == mismatch
    assert where.refusal(RenewToken(EVE, -1, b"x" * 64)) == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert isinstance(where.ask(RenewToken(BOB, -1, one.hmac)), TokenExpires)
    assert isinstance(where.ask(ExpireToken(BOB, -1, one.hmac)), TokenExpires)


def test_what_has_expired_is_not_renewed_and_can_be_ended() -> None:
    where = cluster(expiry_check_interval_ms=30 * DAY)
    one = made(where)
    where.clock.advance(DAY + 1)
    expired = ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert where.refusal(RenewToken(ALICE, -1, one.hmac)) == expired
    assert where.refusal(ExpireToken(ALICE, HOUR, one.hmac)) == expired
    assert where.ask(ExpireToken(ALICE, -1, one.hmac)) == TokenExpires(wall(where))
    assert where.image.tokens == {}


def test_the_controller_sweeps_expired_tokens_away_by_the_time_of_day() -> None:
    where = cluster()
    short, long = made(where, lifetime_ms=HOUR // 2), made(where)
    where.clock.advance(HOUR)
    assert list(where.image.tokens) == [long.token.token_id]
    assert where.refusal(RenewToken(ALICE, -1, short.hmac)) == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    where.clock.wall_ahead_ms += 2 * DAY
    where.clock.advance(HOUR)
    assert where.image.tokens == {}


@pytest.mark.parametrize("event", [CreateToken(ALICE, ALICE, (), -1), RenewToken(ALICE, -1, b"")])
def test_without_a_secret_there_are_none(event: CreateToken | RenewToken) -> None:
    assert Cluster().refusal(event) == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_an_older_metadata_version_has_none() -> None:
    older = FeatureLevelRecord(name="metadata.version", feature_level=13)
    where = Cluster(bootstrap=(*default_bootstrap(), older), tokens=TokenSettings(SECRET))
    assert where.refusal(CreateToken(ALICE, ALICE, (), -1)) == ErrorCode.UNSUPPORTED_VERSION


def test_neither_events_nor_settings_show_what_is_secret() -> None:
    where = cluster()
    one = made(where)
    told = repr([one, RenewToken(ALICE, 1, one.hmac), ExpireToken(ALICE, 1, one.hmac)])
    assert repr(one.hmac) not in told
    assert SECRET not in repr(where.controller.settings)
