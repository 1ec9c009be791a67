"""Which records a reader wants: by a text in them, by an expression, by both.

An expression (docs/EXPRESSIONS.md) may have to read a value as JSON, which is one call that holds
the interpreter: records of more than 64 KiB it does not look into, and `left_out` counts them.
"""

from typing import Final

from kafkapy.expressions import InvalidExpression, compile_expression
from kafkapy.http.console.asked import Asked
from kafkapy.http.problems import Problem
from kafkapy.protocol.batches.records import Record

_MOST_LOOKED_INTO: Final = 64 * 1024
# The least that a batch has for a header beside its name and value: their lengths.
_BESIDE_A_HEADER: Final = 2


class Filter:
    """InvalidExpression if `where` is none."""

    def __init__(self, topic: str, text: str = "", where: str = "") -> None:
        self.left_out = 0
        self._topic = topic
        self._needle = text.lower().encode()
        self._where = compile_expression(where) if where else None

    @property
    def is_any(self) -> bool:
        """Every record is wanted."""
        return not self._needle and self._where is None

    def wants(self, partition: int, one: Record) -> bool:
        if self._needle and not self._has_text(one):
            return False
        if self._where is None:
            return True
        if _size_of(one) > _MOST_LOOKED_INTO:
            self.left_out += 1
            return False
        return self._where.holds(one, partition, self._topic)

    def _has_text(self, one: Record) -> bool:
        """In key, value or headers, whatever the case of its letters."""
        parts = [one.key, one.value]
        for name, value in one.headers:
            parts += (name.encode(), value)
        return any(part is not None and self._needle in part.lower() for part in parts)


def _size_of(one: Record) -> int:
    """What an expression may look at."""
    size = len(one.key or b"") + len(one.value or b"")
    return size + sum(
        len(name) + len(value or b"") + _BESIDE_A_HEADER for name, value in one.headers
    )


def filter_of(asked: Asked, topic: str) -> Filter:
    """As the fields of the page say."""
    try:
        return Filter(topic, asked.query("q"), asked.query("where"))
    except InvalidExpression as failed:
        raise Problem(400, f"the expression is none: {failed}") from None
