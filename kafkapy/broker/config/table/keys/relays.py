"""What a node does with the records of a topic (docs/RELAYS.md).

kafkapy's own: Apache Kafka knows none of them, so they are shown only where they are set.
"""

from typing import Any, Final

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import int64, string, strings
from kafkapy.broker.config.table.shared_values import MAX_LONG
from kafkapy.broker.config.table.validators import Invalid, between

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def span_ms(text: str) -> int | None:
    """`500ms`, `5s`, `1m`, `2h`, `1d`; None if it is none."""
    number = text.rstrip("smhd")
    unit = _UNITS_MS.get(text[len(number) :])
    if unit is None or not number.isdecimal() or len(number) > 9:
        return None
    return int(number) * unit


class _Spans:
    allowed = "a list of times such as 5s, 1m, 10m"

    def check(self, value: Any) -> None:
        for item in value:
            if span_ms(item) is None:
                raise Invalid("each must be a time such as 500ms, 5s, 1m, 2h or 1d", item)


class RelayKeys(Section):
    kafkapy_relay_to = string(
        "",
        "Topic that this one's records are relayed to, exactly once; empty: they are not.",
        internal=True,
    )
    kafkapy_relay_where = string(
        "",
        "Which records are relayed at all: an expression (docs/EXPRESSIONS.md); empty: all.",
        internal=True,
    )
    kafkapy_relay_otherwise = string(
        "",
        "Topic of the records that kafkapy.relay.where is not for; empty: they stay.",
        internal=True,
    )
    kafkapy_relay_delay_ms = int64(
        0,
        "How long after its timestamp a record is relayed that does not say so itself.",
        valid=between(0, MAX_LONG),
        internal=True,
    )
    kafkapy_relay_retry_delays = strings(
        (),
        "Makes it a retry topic: how long a record waits at its first, second ... time here.",
        valid=_Spans(),
        internal=True,
    )
    kafkapy_relay_dead_letter_topic = string(
        "",
        "Where a retry topic puts what came once more after the last of its delays.",
        internal=True,
    )
