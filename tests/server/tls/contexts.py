"""Contexts as kafkapy makes them, from certificates of a test."""

import ssl

from kafkapy.broker.config.security.tls import PEM, VERSIONS, Store, TlsSettings
from kafkapy.server.tls.contexts import _client_context, _server_context
from kafkapy.testing.security.certificates import Authority, Certificate


def settings(
    own: Certificate | None, trusted: Authority | None, client_auth: str = "none"
) -> TlsSettings:
    keys = Store("ssl.keystore.location", PEM, None)
    if own is not None:
        keys = Store("ssl.keystore.key", PEM, None, pem_key=own.key_pem(), pem_certificates=own.pem)
    pem = None if trusted is None else trusted.pem
    return TlsSettings(
        keys,
        Store("ssl.truststore.certificates", PEM, None, pem_certificates=pem),
        client_auth,
        VERSIONS,
        "",
        checks_host=True,
    )


def server_context(
    own: Certificate, trusted: Authority | None = None, client_auth: str = "none"
) -> ssl.SSLContext:
    return _server_context(settings(own, trusted, client_auth))


def client_context(trusted: Authority, own: Certificate | None = None) -> ssl.SSLContext:
    return _client_context(settings(own, trusted))
