"""A hook as a node calls it, for one topic (or for the node): measured, and never a node's end.

    it returns        what it returned
    it raises         HookFailed; the journal is told what, once for each reason
    it takes too long again and again (allowance.py), or cannot be loaded
                      it is off: HookFailed without a call, until somebody makes another one

A client is told that a hook failed and by which exception, not what that one says: there may be
data in it.
"""

import traceback
from collections.abc import Callable
from typing import Any

from kafkapy.core.seams import Journal
from kafkapy.hooks.allowance import Allowance
from kafkapy.hooks.api import ProduceHook, Refuse
from kafkapy.hooks.source import CannotLoad, HookSource


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
        self._told = ""
        try:
            hook = source.find(name)
            if not isinstance(hook, kind):
                raise CannotLoad(f"{type(hook).__name__} is no {kind.__name__}")
            self._call = getattr(hook, method)
        except CannotLoad as failed:
            self.off = f"hook {name} cannot be loaded on this node"
            journal.error("hook cannot be loaded", hook=name, topic=of, reason=failed)

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
            raise self.failed("Refuse", f"it may not refuse: {refusal}") from None
        # Others' code: whatever it raises is its topic's trouble. SystemExit too: it is not for a
        # hook to end the node.
        except (Exception, SystemExit) as raised:
            raise self.failed(type(raised).__name__, _where(raised)) from raised
        finally:
            self._took(self._now_ns() - began)

    def failed(self, short: str, reason: str) -> HookFailed:
        """What it did is no answer. `short` is told to clients, `reason` to the journal."""
        self.failures += 1
        if reason != self._told:
            self._told = reason
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
    """What was raised, and from which line."""
    frames = traceback.extract_tb(raised.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(raised).__name__}: {raised}{at}"


def _not_loaded(*arguments: Any) -> Any:
    raise AssertionError("it is off")
