"""TLS contexts of this node's listeners, made of their settings and made anew when those change.

settings, files --> ListenerTls.server (who connects here), .client (whom we connect to)
     altered, or a file replaced --> the same anew, for the next connections
     cannot be read any more, or is somebody else's --> said once; what was good goes on
"""

import os
import ssl
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.security.tls import Store, TlsSettings, principal_mapping, tls_settings
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.requests.request import ANONYMOUS
from kafkapy.broker.security.certificate_names import subject_of
from kafkapy.broker.security.principal_mapping import NoRule
from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Journal
from kafkapy.server.tls.naming import Named, check_same, named_by
from kafkapy.server.tls.stores import FileState, Pem, file_state, read_store

_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_Seen = tuple[TlsSettings, FileState | None, FileState | None]


class ListenerTls:
    """One listener's. ConfigError at first, if it cannot be; later that is only said."""

    def __init__(self, config: BrokerConfig, listener: str) -> None:
        self.listener = listener
        self._config = config
        self._client: ssl.SSLContext | None = None
        self._seen = self._look()
        self._server: ssl.SSLContext | None = None
        self._named: Named | None = None
        if self._seen[0].keys.is_empty:
            return  # whom this node only connects to
        self._server = _server_context(self._seen[0])
        self._named = named_by(self._seen[0])

    @property
    def server(self) -> ssl.SSLContext:
        assert self._server is not None, f"{self.listener} has no certificate"
        return self._server

    @property
    def client(self) -> ssl.SSLContext:
        """Made when it is first needed."""
        if self._client is None:
            self._client = _client_context(self._seen[0])
        return self._client

    def principal(self, certificate: bytes | None) -> str:
        """Whose certificate it is; OSError if the rules let nobody in by it."""
        if certificate is None:
            return ANONYMOUS
        try:
            mapping = principal_mapping(self._config, self.listener)
            return f"User:{mapping.name_of(subject_of(certificate))}"
        except (ConfigError, Corrupt, NoRule) as bad:
            raise OSError(str(bad)) from None

    def refresh(self) -> bool:
        """Whether anything changed; ConfigError if that cannot be used. It is tried once."""
        seen = self._look()
        if seen == self._seen:
            return False
        self._seen = seen
        server = None if seen[0].keys.is_empty else _server_context(seen[0])
        named = named_by(seen[0])
        check_same(self._named, named, seen[0])
        client = None if self._client is None else _client_context(seen[0])
        self._server, self._client, self._named = server, client, named
        return True

    def check(self, after: BrokerConfig) -> None:
        """ConfigError if it could not be served by these settings, in place of its own."""
        other = ListenerTls(after, self.listener)
        check_same(self._named, other._named, other._seen[0])

    def _look(self) -> _Seen:
        settings = tls_settings(self._config, self.listener)
        return settings, file_state(settings.keys), file_state(settings.trusted)


class Tls:
    """Of all listeners that speak it; `of` is None for the others."""

    def __init__(self, config: BrokerConfig, journal: Journal) -> None:
        self._journal = journal
        self._said: dict[str, str] = {}
        names = {one.name for one in config.listening.all}
        names.add(config.listening.controller_names[0])
        if config.is_broker:
            names.add(config.listening.inter_broker_name)
        self._listeners = {
            name: ListenerTls(config, name)
            for name in sorted(names)
            if config.listening.protocol_of(name).has_tls
        }
        config.when_altered(lambda _: self.refresh())
        config.check_files = self._check

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def of(self, listener: str) -> ListenerTls | None:
        return self._listeners.get(listener)

    def refresh(self) -> None:
        """Look whether settings or files have changed; what cannot be used changes nothing."""
        for one in self._listeners.values():
            try:
                if one.refresh():
                    self._journal.info("certificates renewed", listener=one.listener)
                self._said.pop(one.listener, None)
            except ConfigError as bad:
                if self._said.get(one.listener) != str(bad):
                    self._said[one.listener] = str(bad)
                    self._journal.error(
                        "certificates not renewed", listener=one.listener, reason=bad
                    )

    def _check(self, after: BrokerConfig, altered: Collection[str]) -> None:
        """ConfigError if a listener of which something is altered could not be served."""
        for name, listener in self._listeners.items():
            prefix = f"listener.name.{name.lower()}.ssl."
            if any(one.startswith(prefix) for one in altered):
                listener.check(after)


def context_of_client(settings: TlsSettings) -> ssl.SSLContext:
    """For who has no listener, and only connects."""
    return _client_context(settings)


def _server_context(settings: TlsSettings) -> ssl.SSLContext:
    context = _context(ssl.PROTOCOL_TLS_SERVER, settings)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_COMPRESSION
    context.options |= ssl.OP_NO_RENEGOTIATION
    # Who comes back shows its certificate again, as far as can be: session.py has the rest.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    return context


def _client_context(settings: TlsSettings) -> ssl.SSLContext:
    context = _context(ssl.PROTOCOL_TLS_CLIENT, settings)
    context.check_hostname = settings.checks_host
    if settings.trusted.is_empty:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def _context(side: int, settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = _VERSIONS[settings.versions[0]]
    context.maximum_version = _VERSIONS[settings.versions[-1]]
    if settings.ciphers:
        _choose_ciphers(context, settings.ciphers)
    if not settings.keys.is_empty:
        _load_keys(context, settings.keys)
    if not settings.trusted.is_empty:
        _load_trusted(context, settings.trusted)
    return context


def _choose_ciphers(context: ssl.SSLContext, names: str) -> None:
    with suppress(ssl.SSLError):
        context.set_ciphers(names)
    known = {one["name"] for one in context.get_ciphers()}
    unknown = [one for one in names.split(":") if one not in known]
    if unknown:
        raise ConfigError("ssl.cipher.suites", tuple(unknown), "OpenSSL does not have it.")


def _load_keys(context: ssl.SSLContext, store: Store) -> None:
    pem = read_store(store)
    if "PRIVATE KEY-----" not in pem.key:
        raise _bad(store, "it has no private key.")
    with _as_files(pem) as (certificates, key):
        try:
            # Without a password OpenSSL would ask at the terminal.
            context.load_cert_chain(certificates, key, password=lambda: pem.password or "")
        except (ssl.SSLError, ValueError) as failed:
            reason = getattr(failed, "reason", None) or "its password is too long"
            raise _bad(store, f"certificate and key cannot be used: {reason}.") from None


def _load_trusted(context: ssl.SSLContext, store: Store) -> None:
    pem = read_store(store)
    try:
        context.load_verify_locations(cadata=pem.certificates)
    except (ssl.SSLError, ValueError) as failed:
        reason = getattr(failed, "reason", None) or failed
        raise _bad(store, f"its certificates cannot be used: {reason}.") from None


@contextmanager
def _as_files(pem: Pem) -> Iterator[tuple[str, str]]:
    """OpenSSL reads keys from files alone: these are in memory, where the system has that."""
    closing: list[Callable[[], None]] = []

    def file(text: str) -> str:
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("tls", os.MFD_CLOEXEC)
            closing.append(lambda: os.close(fd))
            os.write(fd, text.encode())
            return f"/proc/self/fd/{fd}"
        fd, path = tempfile.mkstemp()
        closing.append(lambda: os.unlink(path))
        with os.fdopen(fd, "w") as out:
            out.write(text)
        return path

    try:
        yield file(pem.certificates), file(pem.key)
    finally:
        for close in closing:
            close()


def _bad(store: Store, why: str) -> ConfigError:
    return ConfigError(store.key, store.location or "(in the settings)", why)
