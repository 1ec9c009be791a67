"""SCRAM's messages and formulas, against the example of RFC 7677 and hostile bytes."""

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol import scram

PASSWORD = "pencil"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_example_of_rfc_7677_comes_out_byte_by_byte() -> None:
    first = scram.read_client_first(CLIENT_FIRST)
    server = scram.read_server_first(SERVER_FIRST)
    salted = scram.salted_password(scram.SHA_256, PASSWORD, server.salt, server.iterations)
    final = scram.client_final(first.gs2_header, server.nonce)
    message = scram.auth_message(first, server, final)
    proof = scram.client_proof(scram.SHA_256, scram.client_key(scram.SHA_256, salted), message)
    assert scram.with_proof(final, proof) == CLIENT_FINAL
    credential = scram.credential_of(scram.SHA_256, salted, SALT, 4096)
    assert scram.is_proof(scram.SHA_256, credential, message, proof)
    signature = scram.server_signature(scram.SHA_256, credential.server_key, message)
    assert scram.server_final(signature) == SERVER_FINAL
    assert scram.read_server_final(SERVER_FINAL) == signature


@pytest.mark.parametrize("mechanism", scram.MECHANISMS.values(), ids=scram.MECHANISMS)
def test_no_other_proof_is_one(mechanism: scram.ScramMechanism) -> None:
    salted = scram.salted_password(mechanism, PASSWORD, SALT, 4096)
    credential = scram.credential_of(mechanism, salted, SALT, 4096)
    proof = scram.client_proof(mechanism, scram.client_key(mechanism, salted), b"message")
    assert scram.is_proof(mechanism, credential, b"message", proof)
    assert not scram.is_proof(mechanism, credential, b"another", proof)
    assert not scram.is_proof(mechanism, credential, b"message", proof[:-1])
    assert not scram.is_proof(mechanism, credential, b"message", proof + b"\0")
    assert not scram.is_proof(mechanism, credential, b"message", bytes(len(proof)))
    assert not scram.is_proof(mechanism, credential, b"message", credential.stored_key)


@given(st.text("abc,=\x01~ ", min_size=1))
def test_a_name_with_any_character_comes_through(name: str) -> None:
    first = scram.client_first(name, "nonce")
    read = scram.read_client_first((first.gs2_header + first.bare).encode())
    assert (read.user, read.nonce, read.bare) == (name, "nonce", first.bare)


_READERS = (
    scram.read_client_first,
    scram.read_server_first,
    scram.read_client_final,
    scram.read_server_final,
)
_EXAMPLES = (CLIENT_FIRST, SERVER_FIRST, CLIENT_FINAL, SERVER_FINAL)


@pytest.mark.parametrize(("read", "example"), [*zip(_READERS, _EXAMPLES, strict=True)])
@given(data=st.data())
def test_of_hostile_bytes_only_corrupt_comes_and_says_nothing_of_them(
    read: object, example: bytes, data: st.DataObject
) -> None:
    mutated = bytearray(example)
    at = data.draw(st.integers(0, len(example)))
    mutated[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    assert callable(read)
    try:
        read(bytes(mutated))
    except Corrupt as bad:
        assert len(str(bad)) < 80 or str(bad).startswith("the server says")


@pytest.mark.parametrize(
    "message",
    [b"", b"y,,n=u,r=n", b"p=tls-unique,,n=u,r=n", b"n,,n=,r=n", b"n,,n=u,r=", b"n,,n=u=2D,r=n",
     b"n,,n=\xc3\xa9,r=n", b"n,,n=u,r=n,", b"n=u,r=n", b"n,,n=u,r=n\n"],
)  # fmt: skip
def test_what_kafka_does_not_take_for_a_first_message_is_none(message: bytes) -> None:
    with pytest.raises(Corrupt):
        scram.read_client_first(message)
