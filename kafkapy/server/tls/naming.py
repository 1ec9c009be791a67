"""Whom a key store's certificate names: another one that takes its place must name the same.

    the subject                the same, or ssl.allow.dn.changes
    its alternative names      all that were there, or ssl.allow.san.changes

As in Apache Kafka, so that a key store put in the wrong place does not make a node somebody else,
whom clients (by host) or other nodes (by principal) would turn away.
"""

import re
import ssl
from typing import Final, NamedTuple

from kafkapy.broker.config.security.tls import TlsSettings
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.certificate_names import alternative_names_of, subject_of
from kafkapy.core.errors import Corrupt
from kafkapy.server.tls.stores import read_store

# The first is the node's own; the others vouch for it.
_CERTIFICATE: Final = re.compile(
    "-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL
)


class Named(NamedTuple):
    subject: str
    names: frozenset[tuple[int, bytes]]


def named_by(settings: TlsSettings) -> Named | None:
    """None where there is no certificate."""
    if settings.keys.is_empty:
        return None
    found = _CERTIFICATE.search(read_store(settings.keys).certificates)
    if found is None:
        return None
    try:
        certificate = ssl.PEM_cert_to_DER_cert(found[0])
        return Named(subject_of(certificate), alternative_names_of(certificate))
    except (Corrupt, ValueError):
        raise ConfigError(
            settings.keys.key, settings.keys.location, "its certificate cannot be read."
        ) from None


def check_same(before: Named | None, after: Named | None, settings: TlsSettings) -> None:
    """ConfigError if `after` may not take the place of `before`."""
    if before is None or after is None:
        return
    if after.subject != before.subject and not settings.may_change_subject:
        raise ConfigError(
            settings.keys.key,
            settings.keys.location,
            f"its certificate is for {after.subject}, the one in use for {before.subject}; "
            "ssl.allow.dn.changes lets it be another.",
        )
    missing = before.names - after.names
    if missing and not settings.may_change_names:
        shown = ", ".join(sorted(_shown(*one) for one in missing))
        raise ConfigError(
            settings.keys.key,
            settings.keys.location,
            f"its certificate does not name {shown}, the one in use does; "
            "ssl.allow.san.changes lets names go.",
        )


def _shown(tag: int, content: bytes) -> str:
    text = content.decode("ascii", "replace")
    return text if text.isprintable() and text.isascii() else f"{tag & 0x1F}:{content.hex()}"
