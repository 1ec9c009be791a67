"""An identity provider's keys, fetched from it: at the start, every so often, and when a token
names a key that nobody has heard of.

    fetched --refresh.ms--> fetched anew (refreshing.py)
    an unknown key --> fetched at once, but not more often than every ten seconds

A login never waits for it: whoever comes before the keys do is refused and comes again. What
could not be fetched changes nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkapy.broker.security.fetching import Fetch, FetchRequest
from kafkapy.broker.security.refreshing import Backoff, Refreshed
from kafkapy.broker.security.signed_tokens import BadKeys, read_keys
from kafkapy.core.seams import Clock, Journal

if TYPE_CHECKING:
    from kafkapy.broker.security.signed_tokens import PublicKey

# A provider has a few keys of a kilobyte each; what is larger is not that.
MOST_BYTES: Final = 1024 * 1024
# Tokens that name keys of nobody cost an attacker nothing.
_LEAST_BETWEEN_WISHES_MS: Final = 10_000


class RefreshSettings(NamedTuple):
    refresh_ms: int
    backoff_ms: int
    backoff_max_ms: int


class KeyUrl:
    def __init__(
        self,
        fetch: Fetch,
        request: FetchRequest,
        settings: RefreshSettings,
        clock: Clock,
        journal: Journal,
    ) -> None:
        self._refresh_ms = settings.refresh_ms
        self._keys: Mapping[str, PublicKey] = {}
        backoff = Backoff(settings.backoff_ms, settings.backoff_max_ms)
        self._refreshed = Refreshed(
            "keys of tokens", fetch, request, self._take, BadKeys, lambda: backoff, clock, journal
        )

    def start(self) -> None:
        self._refreshed.ask()

    def __call__(self) -> "Mapping[str, PublicKey]":
        return self._keys

    def unknown(self) -> None:
        """Somebody's token is signed by a key that is not among them: perhaps it is new."""
        self._refreshed.ask_early(_LEAST_BETWEEN_WISHES_MS)

    def _take(self, answer: bytes) -> int:
        self._keys = read_keys(answer)
        return self._refresh_ms
