"""A hook as a node calls it."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from kafkapy.hooks import Place, ProduceHook, Record
from kafkapy.hooks.allowance import Allowance
from kafkapy.hooks.guarded import Guarded, HookFailed
from kafkapy.testing.node.shell import Heard

RECORD, PLACE = Record(0, 0, None, b"value"), Place("orders", 0)


class By(ProduceHook):
    def __init__(self, raised: Callable[[], BaseException]) -> None:
        self._raised = raised

    def produced(self, record: Record, place: Place) -> Record:
        raise self._raised()


class Found:
    """A source that has what it was given, or raises it."""

    def __init__(self, what: object) -> None:
        self._what = what

    def find(self, name: str) -> object:
        if isinstance(self._what, BaseException):
            raise self._what
        return self._what

    def now_ns(self) -> int:
        return 0


def guarded(what: object, journal: Heard) -> Guarded:
    return Guarded("it", ProduceHook, "produced", "orders", Found(what), Allowance(1, 1), journal)


def reasons(journal: Heard, event: str) -> list[object]:
    return [facts["reason"] for _, one, facts in journal.events if one == event]


def test_the_journal_is_told_once_for_each_reason() -> None:
    journal = Heard()
    turns = iter(range(100))
    hook = guarded(By(lambda: ValueError("odd") if next(turns) % 2 else KeyError("even")), journal)
    for _ in range(100):
        with suppress(HookFailed):
            hook(RECORD, PLACE)
    assert len(reasons(journal, "hook failed")) == 2
    assert hook.failures == 100


def test_a_hook_that_says_the_value_does_not_fill_the_journal() -> None:
    journal = Heard()
    values = iter(range(1_000))
    hook = guarded(By(lambda: ValueError(f"bad value {next(values)}")), journal)
    for _ in range(1_000):
        with suppress(HookFailed):
            hook(RECORD, PLACE)
    assert len(reasons(journal, "hook failed")) == 20
    assert hook.failures == 1_000


def test_the_journal_has_the_line_that_raised() -> None:
    journal = Heard()
    with pytest.raises(HookFailed) as failed:
        guarded(By(lambda: ValueError("secret")), journal)(RECORD, PLACE)
    assert "secret" not in str(failed.value)
    (reason,) = reasons(journal, "hook failed")
    assert str(reason).startswith("ValueError: secret at ")
    assert "test_guarded.py:" in str(reason)


@pytest.mark.parametrize(
    "raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ValueError("none")]
)
def test_a_hook_that_cannot_be_had_is_off(raised: BaseException) -> None:
    """Whatever its import raises: it may be imported when the first topic names it."""
    journal = Heard()
    hook = guarded(raised, journal)
    with pytest.raises(HookFailed, match="cannot be loaded"):
        hook(RECORD, PLACE)
    (reason,) = reasons(journal, "hook cannot be loaded")
    assert type(raised).__name__ in str(reason)
