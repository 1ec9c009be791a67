"""Faults on request: what a broker does on its bad days, at the moment the test chooses.

    kafka.faults.on("Produce", topic="orders").error(NOT_LEADER_OR_FOLLOWER).once()

    on(...)   which requests    error, delay, drop, disconnect, lose_answer, tear, hold   what
    once, times(n), on_call(n), with_probability(p, seed)                                 when

`error`, `drop` and `disconnect` happen instead of the request, `delay`, `lose_answer` and
`tear` to its answer; `hold` keeps the request until `release`. Of several faults that match,
the first that is due happens. Spelling mistakes are errors at once, and a fault that never
happened is an error at the end.
"""

import difflib
import threading
import time
from collections.abc import Callable, Iterable
from enum import Enum
from random import Random
from typing import Final

from kafkapy.broker.requests.apis import APIS
from kafkapy.core.errors import ErrorCode
from kafkapy.testing.gate.requests import Request

_APIS: Final = [row.key.camel_name for row in APIS if row.on_broker]

_LOOK_SECONDS: Final = 0.002


class FaultNeverFired(AssertionError):
    """The test asked for a fault that no request ever met: it tested less than it says."""


class Instead(Enum):
    """What happens in place of the request or of its answer."""

    NOTHING = "nothing"
    ERROR = "error"
    DROP = "drop"
    DISCONNECT = "disconnect"
    LOSE_ANSWER = "lose_answer"
    TEAR = "tear"
    HOLD = "hold"


class Fault:
    """One rule. Every method returns the fault itself, so that a rule reads as a sentence."""

    def __init__(
        self, api: str, topic: str | None, group: str | None, client_id: str | None
    ) -> None:
        self.api = api
        self.instead = Instead.NOTHING
        self.code = ErrorCode.NONE
        self.delay_ms = 0
        self.fired = 0
        self._topic = topic
        self._group = group
        self._client_id = client_id
        self._matched = 0
        self._most: int | None = None
        self._only: int | None = None
        self._chance: tuple[float, Random] | None = None
        self._is_released = False
        self._held: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def topic(self) -> str | None:
        return self._topic

    # --- what ---

    def error(self, code: ErrorCode | str) -> "Fault":
        """Refuse the request with this error, without doing what it asks. Of a Produce to several
        topics only the part that the fault is about."""
        return self._do(Instead.ERROR, _error_code(code))

    def drop(self) -> "Fault":
        """Never answer, and do nothing: the client's request times out."""
        return self._do(Instead.DROP)

    def disconnect(self) -> "Fault":
        """Close the connection instead of serving the request."""
        return self._do(Instead.DISCONNECT)

    def lose_answer(self) -> "Fault":
        """Serve the request, then close the connection instead of answering: what tells an
        idempotent producer from one that writes twice."""
        return self._do(Instead.LOSE_ANSWER)

    def tear(self) -> "Fault":
        """Serve the request, send the first half of the answer, then close the connection."""
        return self._do(Instead.TEAR)

    def hold(self) -> "Fault":
        """Keep matching requests unserved until `release`."""
        return self._do(Instead.HOLD)

    def release(self) -> None:
        """Serve what is held, in the order it came, and hold nothing more."""
        with self._lock:
            self._is_released = True
            held, self._held = self._held, []
        for serve in held:
            serve()

    def wait_until_fired(self, timeout: float = 10.0) -> None:
        """Return once this fault has happened; TimeoutError if it does not."""
        deadline = time.monotonic() + timeout
        while not self.fired:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.why_not_fired()} in {timeout} s")
            time.sleep(_LOOK_SECONDS)

    def delay(self, ms: int) -> "Fault":
        """Give the answer (also that of `error`) this much later."""
        if ms <= 0:
            raise ValueError(f"delay({ms}): expected milliseconds above zero")
        self.delay_ms = ms
        return self

    # --- when ---

    def once(self) -> "Fault":
        return self.times(1)

    def times(self, count: int) -> "Fault":
        """The first `count` matching requests, then no more."""
        if count < 1:
            raise ValueError(f"times({count}): expected 1 or more")
        self._most = count
        return self

    def on_call(self, number: int) -> "Fault":
        """Only the matching request of this number, counted from 1."""
        if number < 1:
            raise ValueError(f"on_call({number}): calls are counted from 1")
        self._only = number
        return self

    def with_probability(self, probability: float, seed: int) -> "Fault":
        """Each matching request with this chance; the same seed gives the same ones."""
        if not 0 < probability <= 1:
            raise ValueError(f"with_probability({probability}): expected more than 0, at most 1")
        self._chance = (probability, Random(seed))  # nosec B311
        return self

    # --- asked by the gate ---

    def happens_to(self, request: Request) -> bool:
        """Count `request` if it matches; True if this fault happens to it."""
        if self._is_released or not self.is_complete or not self._matches(request):
            return False
        self._matched += 1
        if self._only is not None and self._matched != self._only:
            return False
        if self._most is not None and self.fired >= self._most:
            return False
        if self._chance is not None and self._chance[1].random() >= self._chance[0]:
            return False
        self.fired += 1
        return True

    def keep(self, serve: Callable[[], None]) -> None:
        """A held request: `serve` may be called from any thread, once."""
        with self._lock:
            if not self._is_released:
                self._held.append(serve)
                return
        serve()

    def _matches(self, request: Request) -> bool:
        return (
            request.api == self.api
            and (self._topic is None or self._topic in request.topics)
            and (self._group is None or self._group in request.groups)
            and (self._client_id is None or self._client_id == request.client_id)
        )

    @property
    def is_complete(self) -> bool:
        return self.instead is not Instead.NOTHING or self.delay_ms > 0

    def why_not_fired(self) -> str | None:
        if not self.is_complete:
            return f"{self}: says nothing to do; add .error(...), .delay(ms), .drop() ..."
        if self.fired:
            return None
        if self._matched:
            return f"{self}: {self._matched} requests matched, none was the one it waited for"
        return f"{self}: no request matched"

    def __str__(self) -> str:
        chosen = {"topic": self._topic, "group": self._group, "client_id": self._client_id}
        about = "".join(f", {name}={one!r}" for name, one in chosen.items() if one is not None)
        what = f".delay({self.delay_ms})" if self.delay_ms else ""
        if self.instead is Instead.ERROR:
            what += f".error({self.code.name})"
        elif self.instead is not Instead.NOTHING:
            what += f".{self.instead.value}()"
        return f"faults.on({self.api!r}{about}){what}"

    __repr__ = __str__

    def _do(self, instead: Instead, code: ErrorCode = ErrorCode.NONE) -> "Fault":
        if self.instead is not Instead.NOTHING:
            raise ValueError(f"{self} already says what to do; make a second fault")
        self.instead, self.code = instead, code
        return self


class Faults:
    """The rules of one broker. Made from the test's thread, asked from the broker's."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def on(
        self,
        api: str,
        *,
        topic: str | None = None,
        group: str | None = None,
        client_id: str | None = None,
    ) -> Fault:
        """A new fault for requests of `api` ("Produce", "Fetch", "JoinGroup" ...)."""
        fault = Fault(known_api(api), topic, group, client_id)
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """From now on all is well; faults that fired or not are forgotten."""
        with self._lock:
            self._faults.clear()

    def find(self, request: Request) -> Fault | None:
        with self._lock:
            return next((one for one in self._faults if one.happens_to(request)), None)

    def check(self) -> None:
        """Raise FaultNeverFired, naming every fault that never happened."""
        with self._lock:
            reasons = [reason for one in self._faults if (reason := one.why_not_fired())]
        if reasons:
            raise FaultNeverFired("; ".join(reasons))


def known_api(api: str) -> str:
    wanted = api.replace("_", "").lower()
    for name in _APIS:
        if name.lower() == wanted:
            return name
    raise ValueError(f"unknown API {api!r}{_suggestion(api, _APIS)}")


def _error_code(code: ErrorCode | str) -> ErrorCode:
    if isinstance(code, str):
        if code not in ErrorCode.__members__:
            raise ValueError(f"unknown error {code!r}{_suggestion(code, ErrorCode.__members__)}")
        code = ErrorCode[code]
    if code is ErrorCode.NONE:
        raise ValueError("NONE is not an error")
    return code


def _suggestion(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""
