"""Fetching what stands at a URL, off the loop and within bounds.

A thread of its own for each, which ends by itself: a provider that does not answer holds up no
flush of a log, nor the end of the process. Redirects are not followed: whose keys are believed
stands in the settings. Proxies are those of the environment (https_proxy, no_proxy).
"""

import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from threading import Thread
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

import trio

from kafkapy.broker.config.security.tls import PEM, VERSIONS, Store, TlsSettings
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.fetching import Fetched, FetchRequest
from kafkapy.core.seams import Callback

_CHUNK_BYTES: Final = 64 * 1024


class Web:
    """`run_soon` brings an answer to the loop, or raises trio.RunFinishedError."""

    def __init__(self, run_soon: Callable[[Callback], None]) -> None:
        self._run_soon = run_soon

    def fetch(self, request: FetchRequest, then: Fetched) -> None:
        def work() -> None:
            answer = outcome(request)
            # A loop that is gone took whoever wanted to know with it.
            with suppress(trio.RunFinishedError):
                self._run_soon(lambda: then(answer))

        Thread(target=work, name="kafkapy-fetch", daemon=True).start()


def outcome(request: FetchRequest) -> bytes | OSError:
    """At once: for who has no loop to keep."""
    try:
        return _fetched(request)
    except HTTPError as refused:
        refused.close()
        return OSError(f"it answered {refused.code}")
    except URLError as failed:
        return OSError(str(failed.reason))
    except (OSError, HTTPException, ConfigError, ValueError) as failed:
        return OSError(str(failed) or type(failed).__name__)


def _fetched(request: FetchRequest) -> bytes:
    opener = _opener(request.trusted)
    deadline = time.monotonic() + (request.connect_timeout_ms + request.read_timeout_ms) / 1000
    asked = Request(request.url, request.body, dict(request.headers))
    with opener.open(asked, timeout=request.connect_timeout_ms / 1000) as answer:
        return _body(answer, request.most_bytes, deadline)


def _body(answer: HTTPResponse, most_bytes: int, deadline: float) -> bytes:
    """All of it, however slowly it drips, up to the deadline."""
    data = bytearray()
    while chunk := answer.read1(_CHUNK_BYTES):
        data += chunk
        if len(data) > most_bytes:
            raise OSError(f"it sent more than {most_bytes} bytes")
        if time.monotonic() > deadline:
            raise OSError("it took too long")
    return bytes(data)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _opener(trusted: Store) -> OpenerDirector:
    return build_opener(_NoRedirects, HTTPSHandler(context=_context(trusted)))


def _context(trusted: Store) -> ssl.SSLContext:
    if trusted.is_empty:
        return ssl.create_default_context()
    from kafkapy.server.tls.contexts import context_of_client

    return context_of_client(
        TlsSettings(Store("", PEM, None), trusted, "none", VERSIONS, "", checks_host=True)
    )
