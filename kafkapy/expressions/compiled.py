"""Nodes -> closures. Each takes the record's fields and gives a value; none raises.

Chains (`a and b and c`, `a + b - c`, `value.a.b.c`) lean to the left as nodes; they become one
closure with a loop, so that the stack is as deep as the brackets are and no deeper.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from kafkapy.expressions import values
from kafkapy.expressions.fields import Fields
from kafkapy.expressions.functions import FUNCTIONS
from kafkapy.expressions.likeness import compiled_pattern
from kafkapy.expressions.nodes import Binary, Call, Literal, Member, Node, OneOf, Root, Unary
from kafkapy.expressions.parse import parse
from kafkapy.expressions.values import Value
from kafkapy.protocol.records import Record

Closure = Callable[[Fields], Value]
_Operator = Callable[[Value, Value], Value]

#: Walking a record and asking about a member of its JSON: 3 us for 100 bytes.
LEAST_COST_US: Final = 4
_WORK_A_US: Final = 60

_COMPARISONS: Final[dict[str, _Operator]] = {
    "=": values.are_equal,
    "!=": lambda left, right: not values.are_equal(left, right),
    "<": values.is_less,
    "<=": values.is_at_most,
    ">": lambda left, right: values.is_less(right, left),
    ">=": lambda left, right: values.is_at_most(right, left),
    "in": values.is_in,
}
_SUMS: Final[dict[str, _Operator]] = {"+": values.add, "-": values.subtract}
_PRODUCTS: Final[dict[str, _Operator]] = {
    "*": values.multiply,
    "/": values.divide,
    "%": values.remainder,
}
_ROOTS: Final[dict[str, Closure]] = {
    "headers": Fields.headers,
    "key": Fields.key,
    "value": Fields.value,
    "timestamp": lambda fields: fields.record.timestamp,
    "offset": lambda fields: fields.record.offset,
    "partition": lambda fields: fields.partition,
    "topic": lambda fields: fields.topic,
}
# What takes long to compare.
_MANY: Final = (list, dict)
_JSON: Final[dict[str, Closure]] = {"key": Fields.key_json, "value": Fields.value_json}


class Expression:
    """`text`, ready to be asked."""

    __slots__ = ("_closure", "cost_us", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._closure = _compiled(parse(text))
        #: What walking a record and asking about it took the last time, by count.
        self.cost_us = LEAST_COST_US

    def evaluate(self, record: Record, partition: int, topic: str) -> Value:
        return self._closure(Fields(record, partition, topic))

    def holds(self, record: Record, partition: int, topic: str) -> bool:
        """Anything but true is false: null, and `1`, and 'true'."""
        fields = Fields(record, partition, topic)
        is_true = self._closure(fields) is True
        self.cost_us = LEAST_COST_US + fields.work // _WORK_A_US
        return is_true


@lru_cache(maxsize=256)
def compile_expression(text: str) -> Expression:
    """InvalidExpression if it is none. The same text gives the same object."""
    return Expression(text)


def _compiled(node: Node) -> Closure:
    match node:
        case Literal(value):
            return lambda fields: value
        case Root(name):
            return _ROOTS[name]
        case Member():
            return _path(node)
        case Unary():
            return _unary(node)
        case Binary(("and" | "or") as operator):
            return _chain_of_words(node, operator)
        case Binary("+" | "-"):
            return _chain(node, _SUMS)
        case Binary("*" | "/" | "%"):
            return _chain(node, _PRODUCTS)
        case Binary("like", left, Literal(str(pattern))):
            return _like(_compiled(left), pattern)
        case Binary(operator, left, right):
            return _comparison(_COMPARISONS[operator], _compiled(left), _compiled(right))
        case OneOf(left, options):
            return _one_of(_compiled(left), options)
        case Call(function, arguments):
            return _call(FUNCTIONS[function].of, [_compiled(one) for one in arguments])


def _path(node: Member) -> Closure:
    names: list[str] = []
    start: Node = node
    while isinstance(start, Member):
        names.insert(0, start.name)
        start = start.of
    if isinstance(start, Root) and start.name == "headers":
        first = names.pop(0)
        origin: Closure = lambda fields: fields.header(first)  # noqa: E731 - one of two
    elif isinstance(start, Root) and start.name in _JSON:
        origin = _JSON[start.name]
    else:
        origin = _compiled(start)
    steps = [(name, int(name) if name.isascii() and name.isdigit() else -1) for name in names]

    def path(fields: Fields) -> Value:
        value = origin(fields)
        for name, index in steps:
            if value is None or (type(value) is str and not fields.may_look_at(value)):
                return None
            value = values.member(value, name, index)
        return value

    return path


def _unary(node: Unary) -> Closure:
    operand = _compiled(node.operand)
    if node.operator == "not":
        return lambda fields: operand(fields) is not True
    return lambda fields: values.minus(operand(fields))


def _links(node: Node, operators: "frozenset[str] | dict[str, _Operator]") -> list[Binary]:
    """The chain's links, the first one first; it goes on at the first link's left."""
    links = []
    while isinstance(node, Binary) and node.operator in operators:
        links.append(node)
        node = node.left
    return links[::-1]


def _chain_of_words(node: Node, operator: str) -> Closure:
    links = _links(node, frozenset({operator}))
    parts = [_compiled(links[0].left), *(_compiled(link.right) for link in links)]
    # True ends a chain of `or`, anything else one of `and`.
    is_or = operator == "or"

    def words(fields: Fields) -> Value:
        for part in parts:
            if (part(fields) is True) is is_or:
                return is_or
        return not is_or

    return words


def _chain(node: Node, operators: dict[str, _Operator]) -> Closure:
    links = _links(node, operators)
    first = _compiled(links[0].left)
    steps = [(operators[link.operator], _compiled(link.right)) for link in links]

    def chain(fields: Fields) -> Value:
        value = first(fields)
        for operator, right in steps:
            other = right(fields)
            if type(value) is str and not fields.may_look_at(value, other):
                return None
            value = operator(value, other)
        return value

    return chain


def _comparison(operator: _Operator, left: Closure, right: Closure) -> Closure:
    def compare(fields: Fields) -> Value:
        one, other = left(fields), right(fields)
        if type(other) in _MANY and not fields.may_look_at(one, other):
            return None
        return operator(one, other)

    return compare


def _like(left: Closure, pattern: str) -> Closure:
    is_like = compiled_pattern(pattern)

    def like(fields: Fields) -> Value:
        text = left(fields)
        return is_like(text) if fields.may_look_at(text) else None

    return like


def _one_of(left: Closure, options: tuple[Node, ...]) -> Closure:
    texts = frozenset(
        one.value for one in options if isinstance(one, Literal) and isinstance(one.value, str)
    )
    others = [
        _compiled(one)
        for one in options
        if not (isinstance(one, Literal) and isinstance(one.value, str))
    ]

    def one_of(fields: Fields) -> Value:
        value = left(fields)
        if isinstance(value, str) and value in texts:
            return True
        for other in others:
            option = other(fields)
            if type(option) in _MANY and not fields.may_look_at(option):
                return None
            if values.are_equal(value, option):
                return True
        return False

    return one_of


def _call(function: Callable[..., Value], arguments: list[Closure]) -> Closure:
    def call(fields: Fields) -> Value:
        given = [argument(fields) for argument in arguments]
        return function(*given) if fields.may_look_at(*given) else None

    return call
