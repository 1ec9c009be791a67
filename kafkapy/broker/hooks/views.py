"""Which records a view shows, where a hook has the last word."""

from typing import Final

from kafkapy.expressions import Expression
from kafkapy.expressions.compiled import cost_of_walking
from kafkapy.hooks.api import Place, Record
from kafkapy.hooks.guarded import Guarded, kind_of

_CALL_COST_US: Final = 2


class HookedView:
    """Implements `views.condition.Condition`. HookFailed: the hook has no answer."""

    __slots__ = ("_hook", "_where", "cost_us")

    def __init__(self, where: Expression | None, hook: Guarded) -> None:
        """`where` first: what it does not let through, the hook never sees."""
        self.cost_us = 0
        self._where = where
        self._hook = hook

    def holds(self, record: Record, partition: int, topic: str) -> bool:
        self.cost_us = cost_of_walking(record)
        if self._where is not None:
            is_let_through = self._where.holds(record, partition, topic)
            self.cost_us = self._where.cost_us
            if not is_let_through:
                return False
        hook = self._hook
        before = hook.spent_us
        try:
            shows = hook(record, Place(topic, partition))
        finally:
            self.cost_us += _CALL_COST_US + hook.spent_us - before
        if type(shows) is not bool:
            what = f"it returned {kind_of(shows)} instead of True or False"
            raise hook.failed(what, what)
        return shows
