"""A node's own token, of the provider whose tokens other nodes take.

    asked --issued--> kept, and asked anew within the last part of its life (refreshing.py)

A login takes the token that there is and waits for none: before the first is there it fails, and is
tried again as after any failure. Of a token only its times are looked at: who judges it is the
other side. A command asks once (cli/login.py), by what is here.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Final
from urllib.parse import quote_plus

from kafkapy.broker.config.security.own_token import RefreshTimes, TokenSource
from kafkapy.broker.security.fetching import Fetch, FetchRequest
from kafkapy.broker.security.mechanism import LoginFailed
from kafkapy.broker.security.oauthbearer import BadToken
from kafkapy.broker.security.refreshing import Backoff, Refreshed
from kafkapy.broker.security.unsecured_tokens import json_part, seconds
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Clock, Disk, Journal, Rng
from kafkapy.core.time import Instant

# An answer is a token of some kilobytes and a few words.
_MOST_BYTES: Final = 256 * 1024
_TOKEN: Final = re.compile(r"[-_A-Za-z0-9]+\.[-_A-Za-z0-9]+\.[-_A-Za-z0-9]+")
_PER_MILLE: Final = 1000


def request_for(source: TokenSource) -> FetchRequest:
    body = "grant_type=client_credentials"
    if source.scope:
        body += f"&scope={quote_plus(source.scope)}"
    login = b64encode(f"{source.client_id}:{source.client_secret}".encode()).decode()
    return FetchRequest(
        source.url,
        source.trusted,
        source.connect_timeout_ms,
        source.read_timeout_ms,
        _MOST_BYTES,
        body.encode(),
        (
            ("Authorization", f"Basic {login}"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
        ),
    )


def token_of(answer: bytes) -> str:
    """What a provider issued; BadToken if it is none."""
    try:
        told = json.loads(answer)
        token = told.get("access_token") or told.get("id_token")
    except (ValueError, AttributeError, RecursionError):
        token = None
    return _checked(token)


def token_in(text: bytes) -> str:
    """Of a file."""
    return _checked(text.decode("ascii", errors="replace").strip())


def _checked(token: object) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise BadToken("the answer has no token")
    return token


def life_of(token: str, now: Instant) -> tuple[Instant, Instant]:
    """From when to when it is good, in wall time."""
    claims = json_part(token.split(".")[1])
    expires = Instant(seconds(claims, "exp", is_needed=True))
    issued = Instant(seconds(claims, "iat", is_needed=False) or now)
    if expires <= now:
        raise BadToken("a token that has expired")
    return issued, expires


class FileToken:
    """Read for each login: whoever fetches it replaces the file in time."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def __call__(self) -> str:
        try:
            return token_in(self._disk.read_file(self._path))
        except (DiskFailed, OSError, BadToken) as bad:
            raise LoginFailed(f"no token in {self._path}: {bad}") from None


class FetchedToken:
    def __init__(
        self,
        fetch: Fetch,
        source: TokenSource,
        times: Callable[[], RefreshTimes],
        clock: Clock,
        rng: Rng,
        journal: Journal,
    ) -> None:
        self._url = source.url
        self._times = times
        self._clock = clock
        self._rng = rng
        self._token: str | None = None
        self._expires = Instant(0)
        self._refreshed = Refreshed(
            "token of its own",
            fetch,
            request_for(source),
            self._take,
            BadToken,
            self._backoff,
            clock,
            journal,
        )

    def __call__(self) -> str:
        if self._token is None or self._expires <= self._clock.wall():
            raise LoginFailed(f"no token from {self._url} yet")
        return self._token

    def start(self) -> None:
        self._refreshed.ask()

    def _take(self, answer: bytes) -> int:
        now = self._clock.wall()
        token = token_of(answer)
        issued, self._expires = life_of(token, now)
        self._token = token
        return self._refresh_in(issued, now)

    def _refresh_in(self, issued: Instant, now: Instant) -> int:
        """After a share of its life with some chance in it; not in its last minutes, nor at once,
        unless it lives too shortly for both."""
        times, expires = self._times(), self._expires
        chance = self._rng.below(_PER_MILLE) / _PER_MILLE
        share = times.window_factor + times.window_jitter * chance
        wanted = issued + int((expires - issued) * share)
        if now + times.min_period_ms + times.buffer_ms < expires:
            wanted = min(wanted, expires - times.buffer_ms)
            wanted = max(wanted, now + times.min_period_ms)
        return max(0, wanted - now)

    def _backoff(self) -> Backoff:
        times = self._times()
        return Backoff(times.backoff_ms, times.backoff_max_ms)
