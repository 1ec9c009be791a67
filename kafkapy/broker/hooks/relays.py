"""What leaves of a relay's records, where a hook says it."""

from typing import Final

from kafkapy.hooks.api import Place, Record
from kafkapy.hooks.checked import checked
from kafkapy.hooks.guarded import Guarded

_CALL_COST_US: Final = 2


class HookedRelay:
    """Implements `relays.schedule.Change`. HookFailed: the hook has no answer."""

    def __init__(self, hook: Guarded, place: Place) -> None:
        self._hook = hook
        self._place = place
        self._cost_us = 0

    def __call__(self, record: Record) -> Record | None:
        hook = self._hook
        before = hook.spent_us
        try:
            given = hook(record, self._place)
        finally:
            self._cost_us += _CALL_COST_US + hook.spent_us - before
        return None if given is None else checked(given, record, hook)

    def take_cost_us(self) -> int:
        """What it took since it was asked last."""
        cost_us, self._cost_us = self._cost_us, 0
        return cost_us
