"""Nodes -> closures. Each takes the record's fields and gives a value; none raises.

Chains (`a and b and c`, `a + b - c`, `value.a.b.c`) lean to the left as nodes; they become one
closure with a loop, so that the stack is as deep as the brackets are and no deeper.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from kafkapy.expressions import values, work
from kafkapy.expressions.fields import Fields
from kafkapy.expressions.functions import FUNCTIONS, Function
from kafkapy.expressions.likeness import compiled_pattern
from kafkapy.expressions.nodes import Binary, Call, Literal, Member, Node, OneOf, Root, Unary
from kafkapy.expressions.parse import parse
from kafkapy.expressions.tokens import tokens_of
from kafkapy.expressions.values import Value
from kafkapy.protocol.batches.records import Record

Closure = Callable[[Fields], Value]
_Operator = Callable[[Value, Value], Value]

#: Walking a record without headers, and beginning to ask.
LEAST_COST_US: Final = 2
# Walking the next header of a record.
_HEADER_COST_US: Final = 1
# What asking for a field and two operators costs, by the parts they are written in: in ten
# nanoseconds, as all work.
_WORK_A_PART: Final = 8
# A shorter text costs no more than looking at its length.
_LONG: Final = 512

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
_JSON: Final[dict[str, Closure]] = {"key": Fields.key_json, "value": Fields.value_json}


class Expression:
    """`text`, ready to be asked."""

    __slots__ = ("_closure", "_least_work", "cost_us", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._closure = _compiled(parse(text))
        self._least_work = _WORK_A_PART * sum(1 for _ in tokens_of(text))
        #: What walking a record and asking about it took the last time, by count.
        self.cost_us = LEAST_COST_US

    def evaluate(self, record: Record, partition: int, topic: str) -> Value:
        return self._closure(Fields(record, partition, topic))

    def holds(self, record: Record, partition: int, topic: str) -> bool:
        """Anything but true is false: null, and `1`, and 'true'."""
        fields = Fields(record, partition, topic)
        is_true = self._closure(fields) is True
        self.cost_us = cost_of_walking(record) + (
            (self._least_work + fields.work) // work.UNITS_A_US
        )
        return is_true


def cost_of_walking(record: Record) -> int:
    return LEAST_COST_US + _HEADER_COST_US * len(record.headers)


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
            return _comparison(operator, _compiled(left), _compiled(right))
        case OneOf(left, options):
            return _one_of(_compiled(left), options)
        case Call(function, arguments):
            return _call(FUNCTIONS[function], [_compiled(one) for one in arguments])


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
            if type(value) is str:
                value = fields.json(value)
            if value is None:
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
            if type(value) is str and not fields.may(work.of_text(value) + work.of_text(other)):
                return None
            value = operator(value, other)
        return value

    return chain


def _comparison(operator: str, left: Closure, right: Closure) -> Closure:
    compared = _COMPARISONS[operator]
    may = _may_search if operator == "in" else _may_compare

    def compare(fields: Fields) -> Value:
        one, other = left(fields), right(fields)
        return compared(one, other) if may(fields, one, other) else None

    return compare


def _may_compare(fields: Fields, one: Value, other: Value) -> bool:
    kind = type(one)
    if kind is not type(other):
        return True
    if kind is str:
        size = min(len(one), len(other))
        return size < _LONG or fields.may(work.of_text(one if len(one) == size else other))
    if kind is list or kind is dict:
        return fields.may_walk(other, work.COMPARED_MEMBER)
    return True


def _may_search(fields: Fields, one: Value, container: Value) -> bool:
    kind = type(container)
    if kind is dict:
        return fields.may(work.of_text(one))
    if kind is not list:
        return True
    if type(one) is list or type(one) is dict:
        return fields.may_walk(container, work.COMPARED_MEMBER)
    return fields.may(work.of_searching_members(one, len(container)))


def _like(left: Closure, pattern: str) -> Closure:
    is_like, searched = compiled_pattern(pattern)
    if not searched:
        return lambda fields: is_like(left(fields))

    def like(fields: Fields) -> Value:
        text = left(fields)
        return is_like(text) if fields.may(work.of_searching(text, searched)) else None

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
        if isinstance(value, str) and texts:
            if len(value) >= _LONG and not fields.may(work.of_text(value)):
                return None
            if value in texts:
                return True
        for other in others:
            option = other(fields)
            if not _may_compare(fields, value, option):
                return None
            if values.are_equal(value, option):
                return True
        return False

    return one_of


def _call(function: Function, arguments: list[Closure]) -> Closure:
    of, may = function.of, function.may

    def call(fields: Fields) -> Value:
        given = [argument(fields) for argument in arguments]
        return of(*given) if may(fields, *given) else None

    return call
