"""Something of an identity provider that is fetched for as long as the node lives.

    asked --taken--> asked anew, when who took it says so
      |
      +--failed, or too late--> asked again: backoff, twice as long each time, up to a bound

What could not be fetched is said once, and so is that it could be again. Who fetches is given,
off the loop.
"""

from collections.abc import Callable
from typing import NamedTuple

from kafkapy.broker.security.fetching import Fetch, FetchRequest
from kafkapy.core.seams import Callback, Clock, Journal, Timer
from kafkapy.core.time import Instant, later


class Backoff(NamedTuple):
    first_ms: int
    most_ms: int


class Refreshed:
    """`what` names it in the journal. `take` uses an answer, and says in how many milliseconds the
    next is wanted; it raises `unusable` if the answer is none."""

    def __init__(
        self,
        what: str,
        fetch: Fetch,
        request: FetchRequest,
        take: Callable[[bytes], int],
        unusable: type[Exception],
        backoff: Callable[[], Backoff],
        clock: Clock,
        journal: Journal,
    ) -> None:
        self._what = what
        self._fetch = fetch
        self._request = request
        self._take = take
        self._unusable = unusable
        self._backoff = backoff
        self._clock = clock
        self._journal = journal
        self._timer: Timer | None = None
        # Which question is out, if one is: an answer to another comes too late.
        self._question = 0
        self._is_asking = False
        self._failures = 0
        self._asked_at = Instant(0)

    def ask(self) -> None:
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

    def ask_early(self, least_between_ms: int) -> None:
        """Before its time, but not so soon after the last time. What fails has its own times."""
        is_early = self._clock.now() - self._asked_at < least_between_ms
        if not (is_early or self._failures or self._is_asking):
            self.ask()

    def _answered(self, question: int, answer: bytes | OSError) -> None:
        if question != self._question or not self._is_asking:
            return
        self._is_asking = False
        try:
            if isinstance(answer, OSError):
                raise answer
            next_in_ms = self._take(answer)
        except (OSError, self._unusable) as bad:
            self._failed(bad)
            return
        if self._failures:
            self._journal.info(f"{self._what} fetched again", url=self._request.url)
        self._failures = 0
        self._call_in(next_in_ms, self.ask)

    def _failed(self, bad: Exception) -> None:
        if not self._failures:
            self._journal.error(f"{self._what} not fetched", url=self._request.url, reason=bad)
        backoff = self._backoff()
        # Beyond thirty doublings it is the bound in any case.
        wait_ms = backoff.first_ms << min(self._failures, 30)
        self._failures += 1
        self._call_in(min(wait_ms, backoff.most_ms), self.ask)

    def _call_in(self, delay_ms: int, then: Callback) -> None:
        """In place of what was to be called before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(later(self._clock.now(), delay_ms), then)
