"""An identity provider's keys, fetched from it: at the start, every so often, and when a token
names a key that nobody has heard of.

    fetched --refresh.ms--> fetched anew        failed --backoff, twice as long each time--> again
    an unknown key --> fetched at once, but not more often than every ten seconds

A login never waits for it: whoever comes before the keys do is refused and comes again. What
could not be fetched changes nothing, and is said once. Who fetches is given, off the loop.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkapy.broker.security.fetching import Fetch, FetchRequest
from kafkapy.broker.security.signed_tokens import BadKeys, read_keys
from kafkapy.core.seams import Callback, Clock, Journal, Timer
from kafkapy.core.time import Instant, later

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
        self._fetch = fetch
        self._request = request
        self._settings = settings
        self._clock = clock
        self._journal = journal
        self._keys: Mapping[str, PublicKey] = {}
        self._timer: Timer | None = None
        # Which question is out, if one is: an answer to another comes too late.
        self._question = 0
        self._is_asking = False
        self._failures = 0
        self._asked_at = Instant(0)

    def start(self) -> None:
        self._ask()

    def __call__(self) -> "Mapping[str, PublicKey]":
        return self._keys

    def unknown(self) -> None:
        """Somebody's token is signed by a key that is not among them: perhaps it is new. What
        fails has its own times."""
        is_early = self._clock.now() - self._asked_at < _LEAST_BETWEEN_WISHES_MS
        if not (is_early or self._failures or self._is_asking):
            self._ask()

    def _ask(self) -> None:
        request = self._request
        self._question += 1
        question = self._question
        self._is_asking = True
        self._asked_at = self._clock.now()
        # Whoever fetches bounds each step of it; this bounds all of them.
        patience_ms = 2 * (request.connect_timeout_ms + request.read_timeout_ms)
        late = OSError("it took too long")
        self._call_in(patience_ms, lambda: self._answered(question, late))
        self._fetch(request, lambda answer: self._answered(question, answer))

    def _answered(self, question: int, answer: bytes | OSError) -> None:
        if question != self._question or not self._is_asking:
            return
        self._is_asking = False
        try:
            if isinstance(answer, OSError):
                raise answer
            self._keys = read_keys(answer)
        except (OSError, BadKeys) as bad:
            self._failed(bad)
        else:
            if self._failures:
                self._journal.info("keys of tokens fetched again", url=self._request.url)
            self._failures = 0
            self._call_in(self._settings.refresh_ms, self._ask)

    def _failed(self, bad: Exception) -> None:
        if not self._failures:
            self._journal.error("keys of tokens not fetched", url=self._request.url, reason=bad)
        settings = self._settings
        # Beyond thirty doublings it is the bound in any case.
        wait_ms = settings.backoff_ms << min(self._failures, 30)
        self._failures += 1
        self._call_in(min(wait_ms, settings.backoff_max_ms), self._ask)

    def _call_in(self, delay_ms: int, then: Callback) -> None:
        """In place of what was to be called before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(later(self._clock.now(), delay_ms), then)
