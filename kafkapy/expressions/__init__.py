"""A small language over one record: what views, relays and their tools ask of it.

    nodes.py       what an expression is made of
    tokens.py      text -> tokens with their positions
    parse.py       tokens -> nodes, bounded in size and depth
    values.py      what a value is, and the operators
    functions.py   the functions by name
    likeness.py    `like`
    work.py        what operations cost, by count
    fields.py      the record as an expression sees it
    compiled.py    nodes -> closures; `compile_expression`

docs/EXPRESSIONS.md is its users' page.
"""

from kafkapy.expressions.compiled import Expression, compile_expression
from kafkapy.expressions.parse import InvalidExpression
from kafkapy.expressions.values import Value, bytes_of

__all__ = ["Expression", "InvalidExpression", "Value", "bytes_of", "compile_expression"]
