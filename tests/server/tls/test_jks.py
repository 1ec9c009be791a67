"""Java's own key store, of files that keytool made (tests/fixtures/tls, good until 2119)."""

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.broker.security.certificate_names import alternative_names_of, subject_of
from kafkapy.server.tls.contexts import ListenerTls
from kafkapy.server.tls.jks import BadJks, Jks, read_jks
from tests.server.tls.test_contexts import configured, own_certificate, refused

FILES = Path(__file__).parents[2] / "fixtures" / "tls"
SERVER, TRUSTED = FILES / "server.jks", FILES / "trusted.jks"
STORE_PASSWORD, KEY_PASSWORD = "store-password", "key-password"
_DATA = SERVER.read_bytes()


def test_a_listener_shows_the_certificate_of_one_and_trusts_whom_another_names() -> None:
    tls = ListenerTls(
        configured(
            keystore_location=SERVER,
            keystore_password=STORE_PASSWORD,
            key_password=KEY_PASSWORD,
            truststore_location=TRUSTED,
            client_auth="required",
        ),
        "SSL",
    )
    own = own_certificate(tls)
    assert subject_of(own) == "CN=server,O=kafkapy tests"
    assert (0x82, b"localhost") in alternative_names_of(own)
    (authority,) = tls.server.get_ca_certs(binary_form=True)
    assert subject_of(authority) == "CN=authority,O=kafkapy tests"


def test_what_it_has_is_its_own_chain_and_then_whom_it_trusts() -> None:
    found = read_jks(_DATA, STORE_PASSWORD, KEY_PASSWORD)
    names = [subject_of(one).partition(",")[0] for one in found.certificates]
    assert names == ["CN=server", "CN=authority", "CN=authority"]
    assert found.key is not None
    assert read_jks(TRUSTED.read_bytes(), None, None) == Jks(None, found.certificates[-1:])


@pytest.mark.parametrize(
    ("passwords", "why"),
    [
        ({"keystore_password": "another", "key_password": KEY_PASSWORD}, "another password"),
        ({"keystore_password": STORE_PASSWORD}, "its key has another password"),
        ({"keystore_password": STORE_PASSWORD, "key_password": "another"}, "its key has another"),
    ],
)
def test_a_wrong_password_is_told_apart_and_not_shown(passwords: dict[str, str], why: str) -> None:
    told = refused(configured(keystore_location=SERVER, **passwords))
    assert why in told
    assert not any(one in told for one in passwords.values() if one != "another")


def test_a_trust_store_is_no_key_store() -> None:
    assert "no private key" in refused(configured(keystore_location=TRUSTED))


def test_one_that_was_changed_is_not_believed() -> None:
    changed = bytearray(_DATA)
    changed[-100] ^= 1
    with pytest.raises(BadJks, match="not whole"):
        read_jks(bytes(changed), STORE_PASSWORD, KEY_PASSWORD)


@given(st.integers(0, len(_DATA)), st.integers(0, 5), st.binary(max_size=6))
def test_of_hostile_bytes_only_its_own_error_comes(at: int, gone: int, put: bytes) -> None:
    """Without the store's password, which would find every change."""
    try:
        found = read_jks(_DATA[:at] + put + _DATA[at + gone :], None, KEY_PASSWORD)
    except BadJks:
        return
    assert all(isinstance(one, bytes) for one in found.certificates)


def test_who_trusts_its_authority_shakes_hands_with_it() -> None:
    """The chain proves itself: the key that was read signs what its certificate vouches for."""
    tls = ListenerTls(
        configured(
            keystore_location=SERVER, keystore_password=STORE_PASSWORD, key_password=KEY_PASSWORD
        ),
        "SSL",
    )
    client = ssl.create_default_context(
        cadata=ssl.DER_cert_to_PEM_cert(read_jks(TRUSTED.read_bytes(), None, None).certificates[0])
    )
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = client.wrap_bio(incoming, outgoing, server_hostname="localhost")
    ours = tls.server.wrap_bio(outgoing, incoming, server_side=True)
    for side in (theirs, ours, theirs, ours):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert theirs.version() == "TLSv1.3"
