"""Throw-away certificates: an authority, and whom it vouches for. Needs kafkapy[cryptography].

authority = Authority()
server = authority.issue("broker", hosts=("localhost", "127.0.0.1"))
server.write(tmp_path / "server.pem")
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = timedelta(days=1)
ORGANIZATION: Final = "kafkapy tests"


@dataclass(frozen=True, slots=True)
class Certificate:
    """With its key. `authority` is who vouches for it, itself if nobody does."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    authority: x509.Certificate
    # Of others between it and the authority, in order; shown with it.
    above: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        shown = (self.certificate, *self.above)
        return b"".join(one.public_bytes(Encoding.PEM) for one in shown).decode()

    def key_pem(self, password: str | None = None) -> str:
        return self.key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)
        ).decode()

    def write(self, path: Path, password: str | None = None) -> Path:
        """Key and certificate in one file, as Kafka takes them."""
        path.write_text(self.key_pem(password) + self.pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"own", self.key, self.certificate, [self.authority], _encryption(password)
            )
        )
        return path


class Authority:
    EXPIRED: Final = -timedelta(hours=1)

    def __init__(self, name: str = "kafkapy test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        self.certificate = (
            _builder(subject, subject, self._key, timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def write(self, path: Path) -> Path:
        path.write_text(self.pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        """A trust store that Java reads too."""
        trusted = [pkcs12.PKCS12Certificate(self.certificate, b"authority")]
        path.write_bytes(pkcs12.serialize_java_truststore(trusted, _encryption(password)))
        return path

    def issue(
        self, name: str, *, hosts: tuple[str, ...] = (), lasts: timedelta = _DAY
    ) -> Certificate:
        """Good for two days by now; one that lasts EXPIRED is not any more."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), self.certificate.subject, key, lasts)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if hosts:
            names = x509.SubjectAlternativeName([_host(one) for one in hosts])
            builder = builder.add_extension(names, critical=False)
        return Certificate(builder.sign(self._key, hashes.SHA256()), key, self.certificate)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * _DAY)
        .not_valid_after(now + lasts)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())
