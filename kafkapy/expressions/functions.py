"""The functions by name. Each takes values and gives one, whatever it is given."""

from collections.abc import Callable
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.expressions import work
from kafkapy.expressions.fields import Fields
from kafkapy.expressions.values import MOST_CHARACTERS, Value, number_of, text_of


def _at_once(fields: Fields, *values: Value) -> bool:
    return fields.may(work.CALL)


@dataclass(frozen=True, slots=True)
class Function:
    """`most` is None where any number of arguments is taken. `may`: whether there is so much work
    left (fields.py)."""

    of: Callable[..., Value]
    least: int
    most: int | None
    may: Callable[..., bool] = _at_once

    def what_is_wrong_with(self, count: int) -> str | None:
        if count >= self.least and (self.most is None or count <= self.most):
            return self._pairs(count)
        if self.least == self.most:
            return f"{self.least} argument{'' if self.least == 1 else 's'}, not {count}"
        return f"at least {self.least} arguments, not {count}"

    def _pairs(self, count: int) -> str | None:
        return "names and values in turn" if self.of is _object and count % 2 else None


def _lower(value: Value) -> Value:
    return _if_short(value.lower()) if _is_short(value) else None


def _upper(value: Value) -> Value:
    return _if_short(value.upper()) if _is_short(value) else None


def _is_short(value: Value) -> bool:
    return isinstance(value, str) and len(value) <= MOST_CHARACTERS


def _if_short(text: str) -> str | None:
    """Some letters become two or three."""
    return text if len(text) <= MOST_CHARACTERS else None


def _length(value: Value) -> Value:
    return len(value) if isinstance(value, (str, list, dict)) else None


def _contains(value: Value, part: Value) -> Value:
    return isinstance(value, str) and isinstance(part, str) and part in value


def _starts_with(value: Value, start: Value) -> Value:
    return isinstance(value, str) and isinstance(start, str) and value.startswith(start)


def _ends_with(value: Value, end: Value) -> Value:
    return isinstance(value, str) and isinstance(end, str) and value.endswith(end)


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _if(condition: Value, then: Value, otherwise: Value) -> Value:
    return then if condition is True else otherwise


def _array(*values: Value) -> Value:
    return list(values)


def _object(*pairs: Value) -> Value:
    """Pairs whose name is no text are left out."""
    return {
        name: value
        for name, value in zip(pairs[::2], pairs[1::2], strict=True)
        if isinstance(name, str)
    }


# --- how much work there is ---


def _each_letter(fields: Fields, text: Value) -> bool:
    return fields.may(work.of_letters(text))


def _search(fields: Fields, text: Value, part: Value) -> bool:
    return fields.may(work.of_searching(text, len(part) if isinstance(part, str) else 0))


def _compare(fields: Fields, text: Value, part: Value) -> bool:
    return fields.may(work.of_text(part))


def _write(fields: Fields, value: Value) -> bool:
    if isinstance(value, (list, dict)):
        return fields.may(work.JSON_CALL) and fields.may_walk(value, work.WRITTEN_MEMBER)
    return fields.may(work.CALL)


def _names(fields: Fields, *pairs: Value) -> bool:
    """They are hashed."""
    return fields.may(sum(map(work.of_text, pairs[::2])))


def _number(fields: Fields, text: Value) -> bool:
    return fields.may(3 * work.CALL)


FUNCTIONS: Final = {
    "lower": Function(_lower, 1, 1, _each_letter),
    "upper": Function(_upper, 1, 1, _each_letter),
    "length": Function(_length, 1, 1),
    "contains": Function(_contains, 2, 2, _search),
    "starts_with": Function(_starts_with, 2, 2, _compare),
    "ends_with": Function(_ends_with, 2, 2, _compare),
    "number": Function(number_of, 1, 1, _number),
    "text": Function(text_of, 1, 1, _write),
    "coalesce": Function(_coalesce, 1, None),
    "if": Function(_if, 3, 3),
    "array": Function(_array, 0, None),
    "object": Function(_object, 0, None, _names),
}
