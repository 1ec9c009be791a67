"""Tokens that a provider signed, and all that only look like it."""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.broker.config.security.jaas import OAUTH_MODULE
from kafkapy.broker.config.security.listener_security import SIGNED_HANDLER, TokenSettings
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.oauthbearer import BadToken
from kafkapy.broker.security.signed_tokens import BadKeys, SignedJudge, read_keys
from kafkapy.broker.security.unsecured_tokens import UnsecuredJudge
from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import Instant
from tests.broker.security.gate import Client, secured_world

NOW = 1_700_000_000
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
SETTINGS = TokenSettings("file:///keys", "https://issuer", ("kafka", "other"), 30, "sub", "scope")
CLAIMS = {"sub": "alice", "iss": "https://issuer", "aud": "kafka", "iat": NOW, "exp": NOW + 60}


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def jwks() -> bytes:
    r, e = RSA.public_key().public_numbers(), EC.public_key().public_numbers()
    keys = [
        {"kty": "RSA", "kid": "r", "use": "sig", "n": number(r.n), "e": number(r.e)},
        {"kty": "EC", "kid": "e", "crv": "P-256", "x": number(e.x), "y": number(e.y)},
        {"kty": "oct", "kid": "o", "k": encoded(b"shared")},
    ]
    return json.dumps({"keys": keys}).encode()


KEYS = read_keys(jwks())


def signed(claims: Mapping[str, Any], algorithm: str = "RS256", key_id: str | None = "r") -> str:
    header = {"alg": algorithm} | ({} if key_id is None else {"kid": key_id})
    return signed_as(header, claims, algorithm)


def signed_as(header: object, claims: object, algorithm: str = "RS256") -> str:
    """Properly, whatever it says."""
    data = ".".join(encoded(json.dumps(one).encode()) for one in (header, claims))
    if algorithm.startswith("ES"):
        der = EC.sign(data.encode(), ec.ECDSA(hashes.SHA256()))
        signature = b"".join(one.to_bytes(32, "big") for one in decode_dss_signature(der))
    elif algorithm.startswith("PS"):
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
        signature = RSA.sign(data.encode(), pss, hashes.SHA256())
    else:
        signature = RSA.sign(data.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{data}.{encoded(signature)}"


def judge(now: int = NOW) -> SignedJudge:
    return SignedJudge(SETTINGS, lambda: KEYS, lambda: Instant(now * 1000))


@pytest.mark.parametrize(("algorithm", "key_id"), [("RS256", "r"), ("PS256", "r"), ("ES256", "e")])
def test_a_good_token_says_who_and_for_how_long(algorithm: str, key_id: str) -> None:
    assert judge()(signed(CLAIMS, algorithm, key_id)) == ("alice", 60_000)
    assert judge()(signed({**CLAIMS, "aud": ["x", "other"]}, algorithm, key_id)).user == "alice"


@pytest.mark.parametrize(
    "change",
    [{"sub": None}, {"sub": ""}, {"sub": 5}, {"iss": "https://mallory"}, {"iss": None},
     {"aud": "x"}, {"aud": None}, {"exp": None}, {"exp": NOW - 31}, {"iat": None},
     {"iat": NOW + 31}, {"nbf": NOW + 31}, {"exp": "never"}, {"aud": [["kafka"]]}],
)  # fmt: skip
def test_claims_that_are_not_good(change: Mapping[str, Any]) -> None:
    with pytest.raises(BadToken):
        judge()(signed({**CLAIMS, **change}))


def test_clocks_may_be_apart_for_a_little() -> None:
    assert judge(NOW + 89)(signed(CLAIMS)).lifetime_ms == 0
    assert judge(NOW - 29)(signed(CLAIMS)).user == "alice"


def test_signatures_that_are_none() -> None:
    """Of nobody, of another key, made with the public key as if it were a secret, changed."""
    good = signed(CLAIMS)
    header, claims, signature = good.split(".")
    nobody = encoded(json.dumps({"alg": "none", "kid": "r"}).encode())
    symmetric = encoded(json.dumps({"alg": "HS256", "kid": "r"}).encode())
    public = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    mac = hmac.digest(public, f"{symmetric}.{claims}".encode(), "sha256")
    other = encoded(json.dumps({**CLAIMS, "sub": "root"}).encode())
    for bad in (
        f"{nobody}.{claims}.",
        f"{nobody}.{claims}.{signature}",
        f"{symmetric}.{claims}.{encoded(mac)}",
        f"{header}.{other}.{signature}",
        f"{header}.{claims}.",
        f"{header}.{claims}",
        f"{header}.{claims}.{signature[:-8]}",
        signed(CLAIMS, "RS256", "e"),
        signed(CLAIMS, "ES256", "r"),
        signed(CLAIMS, "RS512", "r"),
        signed(CLAIMS, "RS256", "unknown"),
        signed(CLAIMS, "RS256", "o"),
        signed(CLAIMS, "RS256", None),
    ):
        with pytest.raises(BadToken):
            judge()(bad)


@given(st.data())
def test_of_hostile_tokens_none_is_good(data: st.DataObject) -> None:
    good = signed(CLAIMS)
    at = data.draw(st.integers(0, len(good) - 1))
    changed = good[:at] + data.draw(st.text(max_size=4)) + good[at + 1 :]
    with suppress(BadToken):
        assert judge()(changed).user == "alice"


# Of JSON anything may come, in place of anything: Python's own reads and writes NaN and Infinity.
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**400), max_value=10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["RS256", "r", "kafka", "alice", "\ud800", NOW, NOW + 60]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)
HEADER = {"alg": "RS256", "kid": "r", "typ": "JWT"}


@given(
    st.sampled_from(["header", "claims"]),
    st.sampled_from(["alg", "kid", "crit", "iss", "aud", "sub", "scope", "exp", "iat", "nbf"]),
    VALUES,
)
def test_whatever_a_token_says_of_itself_it_is_good_or_bad_and_no_bug(
    where: str, name: str, value: object
) -> None:
    header, claims = dict[str, object](HEADER), dict[str, object](CLAIMS)
    (header if where == "header" else claims)[name] = value
    with suppress(BadToken):
        assert judge()(signed_as(header, claims)).user.encode()
    with suppress(BadToken):
        loose = UnsecuredJudge({}, lambda: Instant(NOW * 1000))
        unsecured = encoded(json.dumps({**header, "alg": "none"}).encode())
        assert loose(f"{unsecured}.{encoded(json.dumps(claims).encode())}.").user.encode()


@given(VALUES, VALUES)
def test_a_part_of_a_token_that_is_no_object_is_bad(header: object, claims: object) -> None:
    with pytest.raises(BadToken):
        judge()(signed_as(header, claims))


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({**HEADER, "alg": ["RS256"]}, CLAIMS),
        ({**HEADER, "alg": {"RS256": 1}}, CLAIMS),
        ({**HEADER, "kid": ["r"]}, CLAIMS),
        (HEADER, {**CLAIMS, "exp": float("nan")}),
        (HEADER, {**CLAIMS, "exp": float("inf")}),
        (HEADER, {**CLAIMS, "exp": 10**400}),
        (HEADER, {**CLAIMS, "exp": {"at": NOW}}),
        (HEADER, {**CLAIMS, "aud": {"kafka": 1}}),
        (HEADER, {**CLAIMS, "aud": [{"kafka": 1}, ["kafka"]]}),
        (HEADER, {**CLAIMS, "iss": ["https://issuer"]}),
        (HEADER, {**CLAIMS, "sub": "alice\ud800"}),
    ],
)
def test_fields_of_another_kind_are_bad(header: object, claims: object) -> None:
    with pytest.raises(BadToken):
        judge()(signed_as(header, claims))


def test_what_is_nested_too_deep_or_too_long_a_number_is_bad() -> None:
    claims = encoded(json.dumps(CLAIMS).encode())
    for text in ("[" * 200_000, '{"alg": ' + "9" * 5000 + "}", '{"a":' * 100_000):
        with pytest.raises(BadToken):
            judge()(f"{encoded(text.encode())}.{claims}.{encoded(b'signature')}")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": []}',
        b'{"keys": [{"kty": "oct"}]}',
        b'{"keys": [{"kty": "RSA"}]}',
        b'{"keys": 5}',
        b"\xff",
    ],
)
def test_what_is_no_set_of_keys_is_refused(text: bytes) -> None:
    with pytest.raises(BadKeys):
        read_keys(text)


PREFIX = "listener.name.plaintext.oauthbearer."
GIVEN = {
    f"{PREFIX}sasl.server.callback.handler.class": SIGNED_HANDLER,
    f"{PREFIX}sasl.jaas.config": f"{OAUTH_MODULE} required;",
    f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": "file:///data/keys.json",
    f"{PREFIX}sasl.oauthbearer.expected.audience": "kafka",
}


def test_a_listener_reads_the_keys_anew_when_they_are_replaced() -> None:
    world = secured_world(1, **GIVEN)
    client = Client(world)
    client.node.disk.write_file("/data/keys.json", json.dumps({"keys": []}).encode())

    def log_in() -> int:
        client = Client(world)
        now = client.node.clock.wall() // 1000
        assert not client.shake("OAUTHBEARER").error_code
        token = signed({**CLAIMS, "iat": now, "exp": now + 60})
        first = client.token(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
        answer = client.token(b"\x01") if first.auth_bytes else first
        return int(answer.error_code)

    assert log_in() == ErrorCode.SASL_AUTHENTICATION_FAILED
    world.run(1000)
    client.node.disk.write_file("/data/keys.json", jwks())
    assert log_in() == 0


def test_a_token_whose_algorithm_is_a_list_is_a_failed_login_like_any_other() -> None:
    """Not a bug of ours, which would be answered at once and with a traceback in the log."""
    world = secured_world(1, **GIVEN)
    client = Client(world)
    client.node.disk.write_file("/data/keys.json", jwks())
    token = signed_as({"alg": ["RS256"], "kid": "r"}, CLAIMS)
    assert not client.shake("OAUTHBEARER").error_code
    assert (
        b"invalid_token" in client.token(f"n,,\x01auth=Bearer {token}\x01\x01".encode()).auth_bytes
    )
    before = client.node.clock.now()
    assert client.token(b"\x01").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.node.clock.now() - before >= 250


@pytest.mark.parametrize("lacks", ["jwks.endpoint.url", "expected.audience"])
def test_what_would_take_any_token_is_refused_at_the_start(lacks: str) -> None:
    given = {key: text for key, text in GIVEN.items() if not key.endswith(lacks)}
    with pytest.raises(ConfigError, match=lacks):
        secured_world(1, **given)
