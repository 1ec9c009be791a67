"""Logging in by a delegation token, and asking for one, at the gate of a whole node."""

from base64 import b64encode
from typing import Any

import pytest

from kafkapy.broker.requests.request import Hangup
from kafkapy.broker.security.scram import ScramClient
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.world import ClusterWorld
from tests.broker.security.gate import Client, secured_world

SECRET = "a secret of all nodes"
HOUR = 3_600_000
REFUSED = ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.fixture
def world() -> ClusterWorld:
    return secured_world(delegation_token_secret_key=SECRET)


def alice(world: ClusterWorld) -> Client:
    client = Client(world)
    client.log_in_plain()
    return client


def create(client: Client, version: int = 3, **fields: Any) -> Any:
    body: dict[str, Any] = {"renewers": [], "max_lifetime": -1}
    body |= {"owner_principal_type": None, "owner_principal_name": None}
    return client.ask(ApiKey.CREATE_DELEGATION_TOKEN, version, **{**body, **fields})


def described(client: Client, *owners: str) -> Any:
    asked = [{"principal_type": "User", "principal_name": one} for one in owners]
    return client.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, owners=asked or None)


def log_in(
    client: Client,
    token: Any,
    mechanism: scram.ScramMechanism = scram.SHA_256,
    *,
    password: str | None = None,
    is_token: bool = True,
) -> Any:
    password = b64encode(token.hmac).decode() if password is None else password
    own = ScramClient(mechanism, token.token_id, password, client.rng, is_token=is_token)
    client.shake(mechanism.name)
    answer = client.token(own.first())
    if not answer.error_code:
        answer = client.token(own.evaluate(answer.auth_bytes))
    if not answer.error_code:
        own.evaluate(answer.auth_bytes)
    return answer


@pytest.mark.parametrize("mechanism", scram.MECHANISMS.values(), ids=scram.MECHANISMS)
def test_who_has_a_token_is_its_owner_until_it_ends(
    world: ClusterWorld, mechanism: scram.ScramMechanism
) -> None:
    token = create(alice(world), max_lifetime=HOUR)
    assert (token.error_code, token.principal_name) == (0, "alice")
    client = Client(world)
    answer = log_in(client, token, mechanism)
    assert not answer.error_code
    assert HOUR - 10_000 < answer.session_lifetime.total_seconds() * 1000 <= HOUR
    assert client.peer.principal == "User:alice"
    assert client.metadata().brokers
    world.run(HOUR + 1000)
    with pytest.raises(Hangup, match="session has ended"):
        client.metadata()
    assert log_in(Client(world), token).error_code == REFUSED


def test_a_token_is_a_password_of_nobody_else(world: ClusterWorld) -> None:
    token = create(alice(world))
    assert log_in(Client(world), token, password="guessed").error_code == REFUSED
    assert log_in(Client(world), token, is_token=False).error_code == REFUSED
    assert SECRET not in repr(vars(world.trace))


def test_what_was_ended_lets_nobody_in(world: ClusterWorld) -> None:
    owner = alice(world)
    token = create(owner)
    ended = owner.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, hmac=token.hmac, expiry_time_period=-1)
    assert not ended.error_code
    world.run_until(lambda: not owner.node.image.tokens)
    assert log_in(Client(world), token).error_code == REFUSED


def test_a_token_asks_for_no_other_token(world: ClusterWorld) -> None:
    """Whoever is known by one alone could go on for ever."""
    token = create(alice(world))
    client = Client(world)
    log_in(client, token)
    not_allowed = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    told = create(client)
    assert (told.error_code, told.token_id, told.hmac) == (not_allowed, "", b"")
    assert described(client).error_code == not_allowed
    for api, field in (
        (ApiKey.RENEW_DELEGATION_TOKEN, "renew_period"),
        (ApiKey.EXPIRE_DELEGATION_TOKEN, "expiry_time_period"),
    ):
        assert client.ask(api, 2, hmac=token.hmac, **{field: -1}).error_code == not_allowed
    assert len(client.node.image.tokens) == 1


def test_renewers_see_and_renew_it_and_others_do_not_see_it(world: ClusterWorld) -> None:
    renewers = [{"principal_type": "User", "principal_name": "broker"}]
    token = create(alice(world), 2, renewers=renewers)
    broker = Client(world)
    broker.log_in_plain("broker", "its-secret")
    (row,) = described(broker).tokens
    assert (row.token_id, row.hmac, row.principal_name) == (token.token_id, token.hmac, "alice")
    assert [one.principal_name for one in row.renewers] == ["broker"]
    assert described(broker, "eve").tokens == ()
    renewed = broker.ask(ApiKey.RENEW_DELEGATION_TOKEN, 2, hmac=token.hmac, renew_period=HOUR)
    assert not renewed.error_code
    assert renewed.expiry_timestamp < token.expiry_timestamp
    assert create(alice(world), renewers=[{"principal_type": "Group", "principal_name": "g"}]
    ).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE  # fmt: skip


def test_with_an_authorizer_others_tokens_are_not_made_nor_seen() -> None:
    world = secured_world(
        delegation_token_secret_key=SECRET,
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:broker;User:ANONYMOUS",
    )
    broker = Client(world)
    broker.log_in_plain("broker", "its-secret")
    of_another: dict[str, Any] = {"owner_principal_type": "User", "owner_principal_name": "eve"}
    token = create(broker, **of_another)
    assert (token.error_code, token.principal_name) == (0, "eve")
    assert token.token_requester_principal_name == "broker"
    world.run_until(lambda: bool(broker.node.image.tokens))
    assert len(described(broker).tokens) == 1
    guest = alice(world)
    assert described(guest).tokens == ()
    refused = create(guest, **of_another)
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert not create(guest).error_code


def test_without_a_secret_nobody_gets_one() -> None:
    world = secured_world()
    client = alice(world)
    disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert create(client).error_code == disabled
    assert described(client).error_code == disabled
