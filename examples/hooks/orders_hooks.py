"""Hooks of a shop: what may be written to its topics, and what must not be.

kafkapy serve --set "kafkapy.hooks=mask=orders_hooks:MaskPeople,order=orders_hooks:IsAnOrder"
kafka-topics --create --topic customers --config kafkapy.hook.produce=mask
kafka-topics --create --topic orders --config kafkapy.hook.produce=order
"""

import json
import re
from typing import Any, Final

from kafkapy.hooks import Place, ProduceHook, Record, Refuse

_EMAIL: Final = re.compile(rb"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,63}")
_CARD: Final = re.compile(rb"\b(?:\d[ -]?){12}(\d{4})\b")

# What an order has, and of which kind.
_ORDER: Final[dict[str, type | tuple[type, ...]]] = {
    "number": int,
    "customer": str,
    "amount": (int, float),
}


class MaskPeople(ProduceHook):
    """E-mail addresses and card numbers are never written, whoever sends them."""

    def produced(self, record: Record, place: Place) -> Record:
        value = record.value
        if value is None:
            return record
        masked = _CARD.sub(rb"****\1", _EMAIL.sub(b"***@***", value))
        # The same object: its batch is written as it came, byte by byte.
        return record if masked == value else record._replace(value=masked)


class IsAnOrder(ProduceHook):
    """What is no order is refused, and its producer is told why."""

    def produced(self, record: Record, place: Place) -> Record:
        if record.value is None:
            return record  # an order that is over: a tombstone
        try:
            order: Any = json.loads(record.value)
        except ValueError:
            raise Refuse("no JSON") from None
        if not isinstance(order, dict):
            raise Refuse("no JSON object")
        for name, kind in _ORDER.items():
            if not isinstance(order.get(name), kind):
                raise Refuse(f"{name} is missing, or is not what it should be")
        return record
