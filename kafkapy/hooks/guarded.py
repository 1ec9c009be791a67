"""A hook as a node calls it, for one topic (or for the node): measured, and never a node's end.

    it returns        what it returned
    it raises         HookFailed; the journal is told what, once for each of so many reasons
    it takes too long again and again (allowance.py), or cannot be loaded
                      it is off: HookFailed without a call, until somebody makes another one

A client is told that a hook failed and by which exception, not what that one says: there may be
data in it. What was raised is others' code as well, down to its `__str__` and its class's name: it
is asked in `words_of` and `kind_of`, and nowhere else.

KeyboardInterrupt is no exception to that: a node hears of SIGINT by a signal receiver
(server/run.py), which raises nothing wherever it is; so one that comes out of a hook is the hook's.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from kafkapy.core.seams import Journal
from kafkapy.hooks.allowance import Allowance
from kafkapy.hooks.api import ProduceHook, Refuse
from kafkapy.hooks.source import CannotLoad, HookSource

# Characters of what a hook raised that are told.
_MOST_WORDS: Final = 500
# Reasons of one hook that the journal is told: where the record's value is in it, all are new.
_MOST_REASONS: Final = 20


class HookFailed(Exception):
    """No answer from a hook; the sentence is for clients."""


class Guarded:
    def __init__(
        self,
        name: str,
        kind: type,
        method: str,
        of: str,
        source: HookSource,
        allowance: Allowance,
        journal: Journal,
    ) -> None:
        """The hook `name`, which should be a `kind`, of the topic `of`."""
        self.name = name
        self.of = of
        self._may_refuse = kind is ProduceHook
        self.calls = self.failures = self.spent_ns = 0
        #: Why it is not called any more.
        self.off: str | None = None
        self._call: Callable[..., Any] = _not_loaded
        self._allowance = allowance
        self._journal = journal
        self._now_ns = source.now_ns
        self._told: set[str] = set()
        try:
            hook = source.find(name)
            if not isinstance(hook, kind):
                raise CannotLoad(f"{kind_of(hook)} is no {kind.__name__}")
            self._call = getattr(hook, method)
        except CannotLoad as failed:
            self._not_to_be_had(words_of(failed))
        except BaseException as raised:  # by others' modules, classes and properties, as below
            self._not_to_be_had(_where(raised))

    def _not_to_be_had(self, reason: str) -> None:
        self.off = f"hook {self.name} cannot be loaded on this node"
        self._journal.error("hook cannot be loaded", hook=self.name, topic=self.of, reason=reason)

    @property
    def spent_us(self) -> int:
        return self.spent_ns // 1_000

    def __call__(self, *arguments: Any) -> Any:
        """HookFailed; or Refuse, if it is a ProduceHook and says so."""
        if self.off is not None:
            raise HookFailed(self.off)
        began = self._now_ns()
        try:
            return self._call(*arguments)
        except Refuse as refusal:
            if self._may_refuse:
                raise
            raise self.failed("Refuse", f"it may not refuse: {words_of(refusal)}") from None
        # Others' code: whatever it raises is its topic's trouble. SystemExit and KeyboardInterrupt
        # too: it is not for a hook to end the node; nor asyncio's CancelledError, to be taken for
        # one of the node's own.
        except BaseException as raised:
            raise self.failed(kind_of(raised), _where(raised)) from raised
        finally:
            self._took(self._now_ns() - began)

    def failed(self, short: str, reason: str) -> HookFailed:
        """What it did is no answer. `short` is told to clients, `reason` to the journal."""
        self.failures += 1
        if reason not in self._told and len(self._told) < _MOST_REASONS:
            self._told.add(reason)
            self._journal.error("hook failed", hook=self.name, topic=self.of, reason=reason)
        return HookFailed(f"hook {self.name} failed: {short}")

    def _took(self, took_ns: int) -> None:
        self.calls += 1
        self.spent_ns += took_ns
        if not self._allowance.spend(took_ns):
            self.off = f"hook {self.name} is switched off: it takes too long"
            self._journal.error(
                "hook switched off",
                hook=self.name,
                topic=self.of,
                reason="it takes too long",
                last_us=took_ns // 1_000,
                mean_us=self.spent_us // self.calls,
                calls=self.calls,
            )


def _where(raised: BaseException) -> str:
    """What was raised, and from which line. Without its text: nobody's loader is asked for that."""
    at = ""
    # Not what its class makes of it.
    trace: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(raised)
    while trace is not None:
        at = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{kind_of(raised)}: {words_of(raised)}{at}"


def words_of(raised: BaseException) -> str:
    """What it says, as far as that can be sent: others have made it."""
    try:
        return _sendable(str(raised))
    except BaseException as unspeakable:  # theirs, too
        return f"no words: {kind_of(unspeakable)}"


def kind_of(given: object) -> str:
    """The name of its class, which may have a class that others have made."""
    return _sendable(type.__dict__["__name__"].__get__(type(given)))


def _sendable(words: str) -> str:
    """Of a class made of str no method is called."""
    return str.__getitem__(words, slice(_MOST_WORDS)).encode(errors="replace").decode()


def _not_loaded(*arguments: Any) -> Any:
    raise AssertionError("it is off")
