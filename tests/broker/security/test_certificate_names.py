"""Names of certificates as Java writes them."""

from contextlib import suppress

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, ObjectIdentifier
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.broker.security.certificate_names import subject_of
from kafkapy.core.errors import Corrupt
from kafkapy.testing.security.certificates import Authority

DN = "CN=kafka1,OU=SME,O=mycp,L=Fulton,ST=MD,C=US"


def der(*names: x509.RelativeDistinguishedName) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    now = Authority().certificate
    builder = x509.CertificateBuilder(
        issuer_name=now.subject,
        subject_name=x509.Name(names),
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=now.not_valid_before_utc,
        not_valid_after=now.not_valid_after_utc,
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


def one(oid: ObjectIdentifier, value: str) -> x509.RelativeDistinguishedName:
    return x509.RelativeDistinguishedName([x509.NameAttribute(oid, value)])


def test_a_name_reads_from_its_last_part() -> None:
    certificate = der(
        one(NameOID.COUNTRY_NAME, "US"),
        one(NameOID.STATE_OR_PROVINCE_NAME, "MD"),
        one(NameOID.LOCALITY_NAME, "Fulton"),
        one(NameOID.ORGANIZATION_NAME, "mycp"),
        one(NameOID.ORGANIZATIONAL_UNIT_NAME, "SME"),
        one(NameOID.COMMON_NAME, "kafka1"),
    )
    assert subject_of(certificate) == DN


def test_what_could_be_taken_for_another_name_is_escaped() -> None:
    certificate = der(
        one(NameOID.DOMAIN_COMPONENT, "example"), one(NameOID.COMMON_NAME, ' a,O=b+"c"#é ')
    )
    assert subject_of(certificate) == 'CN=\\ a\\,O\\=b\\+\\"c\\"\\#é\\ ,DC=example'


def test_parts_that_java_has_no_word_for_are_shown_as_bytes() -> None:
    certificate = der(one(NameOID.EMAIL_ADDRESS, "a@b"), one(NameOID.COMMON_NAME, "x"))
    assert subject_of(certificate) == "CN=x,1.2.840.113549.1.9.1=#1603614062"


@given(st.data())
def test_of_hostile_bytes_only_corrupt_comes(data: st.DataObject) -> None:
    good = bytearray(_GOOD)
    at = data.draw(st.integers(0, len(good)))
    good[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=6))
    with suppress(Corrupt):
        subject_of(bytes(good))


_GOOD = der(one(NameOID.COMMON_NAME, "x"), one(NameOID.ORGANIZATION_NAME, "y"))
