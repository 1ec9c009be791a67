"""The gate's states, as Kafka's SaslServerAuthenticator has them, and what nobody gets past."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkapy.broker.requests.apis import APIS
from kafkapy.broker.requests.request import Hangup, Later
from kafkapy.broker.security.sasl_gate import State
from kafkapy.broker.security.scram import ScramClient
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import request_head
from kafkapy.sim.cluster.world import ClusterWorld
from tests.broker.security.gate import PASSWORD, SETTINGS, Client, secured_world


@pytest.fixture(scope="module")
def world() -> ClusterWorld:
    return secured_world()


@pytest.fixture
def client(world: ClusterWorld) -> Client:
    return Client(world)


def log_in_scram(client: Client, mechanism: scram.ScramMechanism, password: str) -> Any:
    own = ScramClient(mechanism, "alice", password, client.rng)
    assert not client.shake(mechanism.name).error_code
    answer = client.token(own.first())
    assert not answer.error_code
    answer = client.token(own.evaluate(answer.auth_bytes))
    if not answer.error_code:
        own.evaluate(answer.auth_bytes)
        assert own.is_complete
    return answer


def token_of(**claims: object) -> bytes:
    parts = [json.dumps(one).encode() for one in ({"alg": "none"}, claims)]
    token = b".".join(urlsafe_b64encode(one).rstrip(b"=") for one in parts) + b"."
    return b"n,,\x01auth=Bearer " + token + b"\x01\x01"


# Who gets in.


def test_plain_with_versions_asked_first(client: Client) -> None:
    assert not client.versions().error_code
    answer = client.log_in_plain()
    assert (answer.error_code, answer.auth_bytes) == (0, b"")
    assert client.peer.principal == "User:alice"
    assert client.metadata().brokers


@pytest.mark.parametrize("mechanism", scram.MECHANISMS.values(), ids=scram.MECHANISMS)
def test_scram(client: Client, mechanism: scram.ScramMechanism) -> None:
    answer = log_in_scram(client, mechanism, PASSWORD)
    assert not answer.error_code
    assert client.peer.principal == "User:alice"
    assert client.metadata().brokers


def test_a_token_lasts_as_long_as_it_says(client: Client) -> None:
    now = client.node.clock.wall() // 1000
    assert not client.shake("OAUTHBEARER").error_code
    answer = client.token(token_of(sub="eve", exp=now + 60, iat=now - 1))
    assert not answer.error_code
    assert 58_000 < answer.session_lifetime.total_seconds() * 1000 <= 60_000
    assert client.peer.principal == "User:eve"
    assert client.metadata().brokers
    client.world.run(61_000)
    with pytest.raises(Hangup, match="session has ended"):
        client.metadata()


def test_after_a_handshake_of_version_0_tokens_come_as_they_are(client: Client) -> None:
    assert not client.shake("PLAIN", 0).error_code
    assert client.limits is not None
    assert client.limits[0] == 0
    assert client.send(f"\0alice\0{PASSWORD}".encode()) == bytes(4)
    assert client.metadata().brokers


def test_frames_are_short_until_the_login_and_as_configured_after_it(client: Client) -> None:
    client.shake("PLAIN")
    assert client.limits == (8, 524288)
    client.token(f"\0alice\0{PASSWORD}".encode())
    assert client.limits == (8, 104857600)


# Who does not.


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0mallory\0" + PASSWORD.encode(), "Authentication failed: Invalid username or password"),
        (b"broker\0alice\0" + PASSWORD.encode(),
         "Authentication failed: Client requested an authorization id that is different from "
         "username"),
        *((bad, "Authentication failed during authentication due to invalid credentials with "
           "SASL mechanism PLAIN")
          for bad in (b"", b"\0", b"\0\0", b"\0alice\0", b"\0\0" + PASSWORD.encode(), b"alice")),
    ],
)  # fmt: skip
def test_plain_that_is_wrong_is_told_after_a_while_and_then_closed(
    client: Client, token: bytes, told: str
) -> None:
    client.shake("PLAIN")
    began = client.node.clock.now()
    answer = client.token(token)
    assert client.node.clock.now() - began >= 250
    assert (answer.error_code, answer.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, told)
    assert client.closed
    assert client.peer.principal == "User:ANONYMOUS"


@pytest.mark.parametrize("mechanism", scram.MECHANISMS.values(), ids=scram.MECHANISMS)
def test_scram_with_another_password(client: Client, mechanism: scram.ScramMechanism) -> None:
    answer = log_in_scram(client, mechanism, "wrong")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        f"mechanism {mechanism.name}"
    )
    assert client.closed


def test_scram_of_nobody_and_of_another_exchange(world: ClusterWorld) -> None:
    """A final message that was heard elsewhere proves nothing here: the nonce is another."""
    nobody = Client(world)
    nobody.shake("SCRAM-SHA-256")
    assert nobody.token(b"n,,n=mallory,r=abc").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    first, second = Client(world), Client(world)
    own = ScramClient(scram.SHA_256, "alice", PASSWORD, first.rng)
    first.shake("SCRAM-SHA-256")
    final = own.evaluate(first.token(own.first()).auth_bytes)
    second.shake("SCRAM-SHA-256")
    assert not second.token(own.first()).error_code
    assert second.token(final).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not first.token(final).error_code


@pytest.mark.parametrize(
    "claims",
    [{"sub": "eve"}, {"sub": "eve", "exp": 1}, {"sub": "", "exp": 9e9}, {"exp": 9e9},
     {"sub": "eve", "exp": "soon"}, {"sub": ["eve"], "exp": 9e9}, {"sub": "eve", "exp": 9e99},
     {"sub": "eve", "exp": 9e9, "iat": 8.9e9}],
)  # fmt: skip
def test_a_token_that_is_not_good(client: Client, claims: dict[str, object]) -> None:
    client.shake("OAUTHBEARER")
    answer = client.token(token_of(**claims))
    assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
    answer = client.token(b"\x01")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.closed


def test_a_mechanism_that_is_not_enabled(client: Client) -> None:
    answer = client.shake("GSSAPI")
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert list(answer.mechanisms) == SETTINGS["sasl.enabled.mechanisms"].split(",")
    assert client.closed


_OTHERS = [
    api
    for api in APIS
    if api.on_broker and api.key not in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)
]


@pytest.mark.parametrize("api", _OTHERS, ids=lambda api: api.key.name)
def test_no_api_is_answered_or_even_decoded_before_the_login(world: ClusterWorld, api: Any) -> None:
    at_once, after_versions, in_login = Client(world), Client(world), Client(world)
    after_versions.versions()
    in_login.shake("PLAIN")
    request = request_head(api.key, api.max_version, 7, "test") + b"\xff" * 20
    for client in (at_once, after_versions):
        with pytest.raises(Hangup, match=f"{api.key.name} before authentication"):
            client.send(request)
    if api.key is not ApiKey.SASL_AUTHENTICATE:
        assert isinstance(in_login.send(request), Later)
        world.run(300)
        assert in_login.closed


def test_versions_are_asked_once_and_not_after_the_handshake(world: ClusterWorld) -> None:
    twice, late = Client(world), Client(world)
    twice.versions()
    with pytest.raises(Hangup):
        twice.versions()
    late.shake("PLAIN")
    assert late.versions() is None
    assert late.closed


def test_versions_asked_in_a_version_of_the_future_are_asked_again(client: Client) -> None:
    request = request_head(ApiKey.API_VERSIONS, 99, 7, "test")
    assert isinstance(client.send(request), bytes)
    assert not client.versions().error_code
    assert not client.log_in_plain().error_code


def test_nothing_is_heard_of_who_has_failed(client: Client) -> None:
    client.shake("PLAIN")
    client.token(b"\0alice\0wrong")
    promise = client.send(request_head(ApiKey.METADATA, 9, 9, "test") + b"\0\0\0\0")
    assert isinstance(promise, Later)
    client.world.run(5000)
    assert not promise.is_resolved


def test_no_secret_is_told_to_anybody(client: Client) -> None:
    client.shake("PLAIN")
    client.token(b"\0alice\0" + b"nearly-" + PASSWORD.encode())
    told = repr(client.world.trace.__dict__)
    assert "authentication failed" in told
    assert PASSWORD not in told
    assert "its-secret" not in told


# Sessions that end (KIP-368).


@pytest.fixture(scope="module")
def hourly() -> ClusterWorld:
    return secured_world(listener_name_plaintext_connections_max_reauth_ms="3600000")


def test_a_session_is_renewed_by_another_login_of_the_same(hourly: ClusterWorld) -> None:
    client = Client(hourly)
    assert client.log_in_plain().session_lifetime.total_seconds() == 3600
    hourly.run(3_500_000)
    assert client.metadata().brokers
    assert client.log_in_plain().session_lifetime.total_seconds() == 3600
    hourly.run(3_500_000)
    assert client.metadata().brokers
    hourly.run(200_000)
    with pytest.raises(Hangup, match="session has ended"):
        client.metadata()


def test_a_session_that_has_ended_can_still_be_renewed(hourly: ClusterWorld) -> None:
    client = Client(hourly)
    client.log_in_plain()
    hourly.run(4_000_000)
    assert not client.log_in_plain().error_code
    assert client.metadata().brokers


def test_a_session_does_not_change_hands(hourly: ClusterWorld) -> None:
    client = Client(hourly)
    client.log_in_plain()
    hourly.run(2000)
    answer = client.log_in_plain("broker", "its-secret")
    assert answer.error_message == (
        "Cannot change principals during re-authentication from User.alice: User.broker"
    )
    assert client.closed


def test_a_session_does_not_change_its_mechanism(hourly: ClusterWorld) -> None:
    client = Client(hourly)
    client.log_in_plain()
    hourly.run(2000)
    assert not client.shake("SCRAM-SHA-256").error_code
    assert client.token(b"n,,n=alice,r=abc") is None
    assert client.closed


def test_sessions_are_not_renewed_in_a_hurry_or_where_they_do_not_end(
    client: Client, hourly: ClusterWorld
) -> None:
    client.log_in_plain()
    assert client.shake("PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.token(b"").error_code == ErrorCode.ILLEGAL_SASL_STATE
    often = Client(hourly)
    often.log_in_plain()
    assert not often.log_in_plain().error_code
    assert often.shake("PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert often.metadata().brokers


# Hostile bytes.


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(frames=st.lists(st.binary(max_size=80), min_size=1, max_size=6), shaken=st.booleans())
def test_of_any_frames_nobody_gets_in(
    world: ClusterWorld, frames: list[bytes], shaken: bool
) -> None:
    client = Client(world)
    if shaken:
        client.shake("PLAIN", 0)
    for data in frames:
        try:
            client.send(data)
        except (Corrupt, Hangup) as bad:
            assert "bug" not in str(bad)
            break
    assert client.gate.state is not State.OPEN
    assert client.peer.principal == "User:ANONYMOUS"


_MECHANISMS = st.sampled_from(SETTINGS["sasl.enabled.mechanisms"].split(","))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(mechanism=_MECHANISMS, tokens=st.lists(st.binary(max_size=60), min_size=1, max_size=4))
def test_of_any_tokens_nobody_gets_in(
    world: ClusterWorld, mechanism: str, tokens: list[bytes]
) -> None:
    client = Client(world)
    client.shake(mechanism, 0)
    for token in tokens:
        client.send(token)
    assert client.gate.state is not State.OPEN
    assert client.peer.principal == "User:ANONYMOUS"


def test_who_was_let_in_is_told_in_a_line(world: ClusterWorld) -> None:
    client = Client(world)
    before = repr(vars(world.trace)).count("let in")
    client.log_in_plain()
    told = repr(vars(world.trace))
    assert told.count("let in") == before + 1
    assert "User:alice" in told[told.rindex("let in") :]
