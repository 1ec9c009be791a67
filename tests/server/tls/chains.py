"""Certificates that are wrong in one way each, for both ends of a connection."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kafkapy.testing.security.certificates import Authority, Certificate

AUTHORITY = Authority()
HOST = "127.0.0.1"
_DAY = timedelta(days=1)
_BOTH = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)
_HOSTS = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])


def name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def issued(
    issuer: Certificate,
    *,
    subject: str = "alice",
    begins: timedelta = -_DAY,
    ends: timedelta = _DAY,
    usages: tuple[x509.ObjectIdentifier, ...] = _BOTH,
    is_authority: bool = False,
    key: ec.EllipticCurvePrivateKey | None = None,
    above: tuple[x509.Certificate, ...] = (),
) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1()) if key is None else key
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(_HOSTS, critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(issuer.key, hashes.SHA256())
    )
    return Certificate(made, key, issuer.certificate, above)


def root() -> Certificate:
    return Certificate(AUTHORITY.certificate, AUTHORITY._key, AUTHORITY.certificate)


def not_yet() -> Certificate:
    return issued(root(), begins=_DAY, ends=2 * _DAY)


def expired() -> Certificate:
    return issued(root(), begins=-2 * _DAY, ends=-_DAY)


def of_a_stranger() -> Certificate:
    return Authority().issue("alice", hosts=(HOST,))


def of_a_stranger_of_the_same_name() -> Certificate:
    """Its authority calls itself as ours does; the key is another."""
    return issued(Certificate(AUTHORITY.certificate, of_a_stranger().key, AUTHORITY.certificate))


def by_itself() -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    itself = Certificate(
        AUTHORITY.issue("alice", hosts=(HOST,)).certificate, key, AUTHORITY.certificate
    )
    return issued(itself, key=key)


def by_a_client() -> Certificate:
    """Alice's certificate is good, and does not let her vouch for others."""
    alice = AUTHORITY.issue("alice", hosts=(HOST,))
    return issued(alice, subject="mallory", above=(alice.certificate,))


def below_one_that_may_make_no_others() -> Certificate:
    between = issued(root(), subject="between", is_authority=True)
    return issued(between, above=(between.certificate,))


def without_what_is_between() -> Certificate:
    return issued(issued(root(), subject="between", is_authority=True))


def for_servers() -> Certificate:
    return issued(root(), usages=(ExtendedKeyUsageOID.SERVER_AUTH,))


def for_clients() -> Certificate:
    return issued(root(), usages=(ExtendedKeyUsageOID.CLIENT_AUTH,))


def for_mail() -> Certificate:
    return issued(root(), usages=(ExtendedKeyUsageOID.EMAIL_PROTECTION,))


WRONG = (
    not_yet,
    expired,
    of_a_stranger,
    of_a_stranger_of_the_same_name,
    by_itself,
    by_a_client,
    below_one_that_may_make_no_others,
    without_what_is_between,
    for_mail,
)
WRONG_OF_CLIENTS: tuple[Callable[[], Certificate], ...] = (*WRONG, for_servers)
WRONG_OF_SERVERS: tuple[Callable[[], Certificate], ...] = (*WRONG, for_clients)
