"""What a certificate is good for, found out with the handshake that will be made with it.

Nothing is connected: client and server are two ends of the same memory. So it is OpenSSL that
judges, as it will later, and reading certificates needs nothing beyond Python.
"""

import re
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import parse_voters
from kafkapy.broker.config.security.listener_security import outbound
from kafkapy.broker.config.security.tls import Store, tls_settings
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.node.identity import is_alone
from kafkapy.cli.checks.findings import Finding
from kafkapy.server.tls.contexts import ListenerTls
from kafkapy.server.tls.stores import read_store

# OpenSSL's X509_V_ERR_...: not yet valid, expired; another host, another address.
_UNTIMELY: Final = {9, 10}
_MISNAMED: Final = {62, 64}
_SOON_S: Final = 30 * 24 * 3600
# TLS 1.3 takes three turns of each side, 1.2 four.
_TURNS: Final = 10
_PEM: Final = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def check_certificates(config: BrokerConfig) -> Iterator[Finding]:
    """Of all listeners with TLS of a node that is not started yet."""
    for one in config.listening.all:
        if one.protocol.has_tls:
            yield from _listener(config, one.name)


def _listener(config: BrokerConfig, name: str) -> Iterator[Finding]:
    about = f"listener {name}"
    try:
        own = ListenerTls(config, name)
        asked_by_peers = own.client
    except ConfigError as bad:
        yield Finding(
            "certificate-unusable", about, str(bad),
            "Give it a key, and the certificate that was made for this key.",
        )  # fmt: skip
        return
    settings = tls_settings(config, name)
    found = list(_shown(about, own.server, settings.keys, _hosts(config, name, settings)))
    yield from found
    is_of_nodes = name in {listener for listener, _, _ in outbound(config)}
    if not found and is_of_nodes and not is_alone(config):
        yield from _among_nodes(about, ListenerTls(config, name).server, asked_by_peers)


def _hosts(config: BrokerConfig, name: str, settings: Any) -> list[str]:
    """By which names others reach this listener; none if nobody looks at the name."""
    if not settings.checks_host:
        return []
    if name in config.listening.controller_names:
        voters = parse_voters(config.controller_quorum_voters)
        return [one.host for one in voters if one.node_id == config.node_id]
    return [one.host for one in config.listening.advertised if one.name == name and one.host]


def _shown(about: str, server: ssl.SSLContext, keys: Store, hosts: list[str]) -> Iterator[Finding]:
    """To somebody who trusts this one certificate, whoever vouches for it."""
    server.verify_mode = ssl.CERT_NONE
    leaf = _PEM.search(read_store(keys).certificates)
    assert leaf is not None, "a context was made of it"
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=leaf[0])
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.check_hostname = False
    try:
        yield from ends_soon(about, handshake(server, client, ""))
        client.check_hostname = True
        for host in hosts:
            handshake(server, client, host)
    except ssl.SSLCertVerificationError as bad:
        yield judged(about, bad)


def _among_nodes(about: str, server: ssl.SSLContext, client: ssl.SSLContext) -> Iterator[Finding]:
    """The nodes of a cluster have one authority: whom this one trusts, the others do. The name
    was looked at, and those of other nodes are other names."""
    client.check_hostname = False
    try:
        handshake(server, client, "")
    except ssl.SSLCertVerificationError as bad:
        yield Finding(
            "certificate-not-trusted", about,
            f"this node does not trust its own certificate: {bad.verify_message}; nor will "
            "nodes with the same trust store",
            "Put the authority of the nodes' certificates into ssl.truststore.*.",
        )  # fmt: skip


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> Mapping[str, Any]:
    """The server's certificate, as the client sees it; SSLError by whoever objects."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there, server_hostname=host or None)
    waiting = [asking, server.wrap_bio(there, back, server_side=True)]
    for _ in range(_TURNS):
        for side in tuple(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not waiting, "both sides wait for the other"
    return asking.getpeercert() or {}


def judged(about: str, bad: ssl.SSLCertVerificationError) -> Finding:
    """Why whoever was shown a certificate does not believe it."""
    if bad.verify_code in _MISNAMED:
        return Finding(
            "certificate-of-another-name", about, bad.verify_message,
            "Issue one whose subjectAltName has every name that is advertised, or advertise a "
            "name that it has.",
        )  # fmt: skip
    if bad.verify_code in _UNTIMELY:
        return Finding(
            "certificate-expired", about, bad.verify_message,
            "Issue another; a file that is replaced counts for the next connections.",
        )  # fmt: skip
    return Finding(
        "certificate-not-trusted", about, bad.verify_message,
        "Trust the authority that issued it (ssl.truststore.*), and let the server show the "
        "certificates between.",
    )  # fmt: skip


def ends_soon(about: str, certificate: Mapping[str, Any]) -> Iterator[Finding]:
    ends = certificate.get("notAfter")
    if ends is None:
        return
    left_s = ssl.cert_time_to_seconds(ends) - time.time()
    if left_s < _SOON_S:
        yield Finding(
            "certificate-expires-soon", about, f"in {left_s / 3600 / 24:.0f} days: {ends}",
            "Replace it before: no restart is needed.",
        )  # fmt: skip
