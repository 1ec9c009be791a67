"""TLS around a connection: its handshake, and whose certificate the client has shown.

No tickets are given out (server/tls/contexts.py). OpenSSL lets a session of TLS 1.2 be taken up
again by its id all the same, by whoever showed a certificate then, and looks at that no more.
(Python cannot switch that off. Other trust is another context, which knows no sessions.)
"""

import ssl
import time
from typing import TYPE_CHECKING, Any, Final, cast

import trio

if TYPE_CHECKING:
    from kafkapy.server.tls.contexts import ListenerTls

_HANDSHAKE_SECONDS: Final = 10.0
_ALPN: Final = ["h2", "http/1.1"]


class NotSecured(Exception):
    """Why, for the journal."""

    def __init__(self, reason: object) -> None:
        super().__init__(f"TLS handshake failed: {reason}")


async def secured_by(
    tls: "ListenerTls", stream: trio.SocketStream
) -> "tuple[trio.SSLStream[trio.SocketStream], str | None]":
    """And the principal of the certificate, if one was shown. NotSecured."""
    tls.server.set_alpn_protocols(_ALPN)
    secured = trio.SSLStream(stream, tls.server, server_side=True, https_compatible=True)
    try:
        with trio.fail_after(_HANDSHAKE_SECONDS):
            await secured.do_handshake()
        _check_resumed(secured)
        certificate = cast("bytes | None", secured.getpeercert(binary_form=True))
        return secured, None if certificate is None else tls.principal(certificate)
    except trio.TooSlowError:
        raise NotSecured(f"not done within {_HANDSHAKE_SECONDS:.0f} s") from None
    except trio.BrokenResourceError as failed:
        cause = failed.__cause__
        reason = getattr(cause, "reason", None) or cause
        raise NotSecured(reason or "closed during the handshake") from None
    except OSError as failed:
        raise NotSecured(failed) from None


def _check_resumed(secured: Any) -> None:
    if secured.session_reused:
        shown = secured.getpeercert() or {}
        ends = shown.get("notAfter")
        if isinstance(ends, str) and ssl.cert_time_to_seconds(ends) <= time.time():
            raise OSError("the certificate of a resumed session has expired")
