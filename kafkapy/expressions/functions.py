"""The functions by name. Each takes values and gives one, whatever it is given."""

from collections.abc import Callable
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.expressions.values import Value, number_of, text_of


@dataclass(frozen=True, slots=True)
class Function:
    """`most` is None where any number of arguments is taken."""

    of: Callable[..., Value]
    least: int
    most: int | None

    def what_is_wrong_with(self, count: int) -> str | None:
        if count >= self.least and (self.most is None or count <= self.most):
            return self._pairs(count)
        if self.least == self.most:
            return f"{self.least} argument{'' if self.least == 1 else 's'}, not {count}"
        return f"at least {self.least} arguments, not {count}"

    def _pairs(self, count: int) -> str | None:
        return "names and values in turn" if self.of is _object and count % 2 else None


def _lower(value: Value) -> Value:
    return value.lower() if isinstance(value, str) else None


def _upper(value: Value) -> Value:
    return value.upper() if isinstance(value, str) else None


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


FUNCTIONS: Final = {
    "lower": Function(_lower, 1, 1),
    "upper": Function(_upper, 1, 1),
    "length": Function(_length, 1, 1),
    "contains": Function(_contains, 2, 2),
    "starts_with": Function(_starts_with, 2, 2),
    "ends_with": Function(_ends_with, 2, 2),
    "number": Function(number_of, 1, 1),
    "text": Function(text_of, 1, 1),
    "coalesce": Function(_coalesce, 1, None),
    "if": Function(_if, 3, 3),
    "array": Function(_array, 0, None),
    "object": Function(_object, 0, None),
}
