"""Tokens -> nodes, by recursive descent: one function per level of precedence.

    or          a or b
    and         a and b
    not         not a
    comparison  a = b (==, is), a != b (<>, is not), < <= > >=, a [not] like b, a [not] in b
    sum         a + b, a - b
    product     a * b, a / b, a % b
    minus       -a
    path        a.name, a.0, a.'any name'
    primary     'text', 12.5, true, false, null, a field, function(a, b), (a)

Comparisons do not chain: `1 < a < 3` is refused. Words are read in any case.
"""

from typing import Final

from kafkapy.expressions.functions import FUNCTIONS
from kafkapy.expressions.nodes import ROOTS, Binary, Call, Literal, Member, Node, OneOf, Root, Unary
from kafkapy.expressions.tokens import InvalidExpression, Token, tokens_of, unquoted
from kafkapy.expressions.values import within_range

#: Python's stack holds several calls for each level, here and when the closures are called.
MAX_DEPTH: Final = 40
MAX_NODES: Final = 1_000

_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_COMPARISONS: Final = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_WORDS: Final = frozenset({"and", "or", "not", "is", "in", "like", *_CONSTANTS})

__all__ = ["InvalidExpression", "parse"]


def parse(expression: str) -> Node:
    parser = _Parser(expression)
    node = parser.either()
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, expression: str) -> None:
        self._tokens = list(tokens_of(expression))
        self._at = 0
        self._depth = 0
        self._count_nodes = 0

    # --- tokens ---

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        self._count_nodes += 1
        if self._count_nodes > MAX_NODES:
            raise InvalidExpression(f"more than {MAX_NODES} parts", token.position)
        return token

    def _is_word(self, word: str) -> bool:
        return self._next.kind == "name" and self._next.text.lower() == word

    def _takes_word(self, word: str) -> bool:
        if not self._is_word(word):
            return False
        self._take()
        return True

    def _takes_sign(self, sign: str) -> bool:
        if self._next.kind != "sign" or self._next.text != sign:
            return False
        self._take()
        return True

    def _expect_sign(self, sign: str) -> None:
        if not self._takes_sign(sign):
            raise self._unexpected(f"{sign!r}")

    def expect_end(self) -> None:
        if self._next.kind != "end":
            raise self._unexpected("an operator or the end")

    def _unexpected(self, wanted: str) -> InvalidExpression:
        token = self._next
        found = "the end" if token.kind == "end" else repr(token.text)
        return InvalidExpression(f"expected {wanted}, found {found}", token.position)

    # --- levels ---

    def either(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidExpression(f"nested deeper than {MAX_DEPTH}", self._next.position)
        node = self._both()
        while self._is_word("or"):
            at = self._take().position
            node = Binary("or", node, self._both(), at)
        self._depth -= 1
        return node

    def _both(self) -> Node:
        node = self._not()
        while self._is_word("and"):
            at = self._take().position
            node = Binary("and", node, self._not(), at)
        return node

    def _not(self) -> Node:
        if not self._is_word("not"):
            return self._comparison()
        at = self._take().position
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidExpression(f"nested deeper than {MAX_DEPTH}", at)
        node = Unary("not", self._not(), at)
        self._depth -= 1
        return node

    def _comparison(self) -> Node:
        left = self._sum()
        token = self._next
        if token.kind == "sign" and token.text in _COMPARISONS:
            at = self._take().position
            return Binary(_COMPARISONS[token.text], left, self._sum(), at)
        if self._takes_word("is"):
            operator = "!=" if self._takes_word("not") else "="
            return Binary(operator, left, self._sum(), token.position)
        is_negated = self._is_word("not")
        if is_negated:
            self._take()
        if self._takes_word("like"):
            node: Node = Binary("like", left, self._pattern(), token.position)
        elif self._takes_word("in"):
            node = self._membership(left, token.position)
        elif is_negated:
            raise self._unexpected("'like' or 'in'")
        else:
            return left
        return Unary("not", node, token.position) if is_negated else node

    def _pattern(self) -> Node:
        token = self._next
        if token.kind != "text":
            raise self._unexpected("a pattern in quotes")
        self._take()
        return Literal(unquoted(token.text), token.position)

    def _membership(self, left: Node, position: int) -> Node:
        """In a list that is written out, or in a value: an array, an object's names."""
        if not self._takes_sign("("):
            return Binary("in", left, self._sum(), position)
        options = [self.either()]
        while self._takes_sign(","):
            options.append(self.either())
        self._expect_sign(")")
        return OneOf(left, tuple(options), position)

    def _sum(self) -> Node:
        node = self._product()
        while self._next.kind == "sign" and self._next.text in "+-":
            token = self._take()
            node = Binary(token.text, node, self._product(), token.position)
        return node

    def _product(self) -> Node:
        node = self._minus()
        while self._next.kind == "sign" and self._next.text in "*/%":
            token = self._take()
            node = Binary(token.text, node, self._minus(), token.position)
        return node

    def _minus(self) -> Node:
        if self._next.kind != "sign" or self._next.text != "-":
            return self._path()
        at = self._take().position
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidExpression(f"nested deeper than {MAX_DEPTH}", at)
        node = Unary("-", self._minus(), at)
        self._depth -= 1
        return node

    def _path(self) -> Node:
        node = self._primary()
        while self._next.kind == "member":
            token = self._take()
            name = token.text[1:].lstrip(" ")
            if name[0] in "'\"":
                name = unquoted(name)
            node = Member(node, name, token.position)
        return node

    def _primary(self) -> Node:
        token = self._next
        if token.kind == "text":
            self._take()
            return Literal(unquoted(token.text), token.position)
        if token.kind == "number":
            self._take()
            return Literal(_number(token), token.position)
        if token.kind == "name":
            return self._named()
        if self._takes_sign("("):
            node = self.either()
            self._expect_sign(")")
            return node
        raise self._unexpected("a value")

    def _named(self) -> Node:
        token = self._next
        word = token.text.lower()
        if word in _CONSTANTS:
            self._take()
            return Literal(_CONSTANTS[word], token.position)
        if word in _WORDS:
            raise self._unexpected("a value")
        self._take()
        if self._takes_sign("("):
            return self._call(word, token)
        if word not in ROOTS:
            known = ", ".join(ROOTS)
            raise InvalidExpression(
                f"there is no field {token.text!r} (but {known})", token.position
            )
        return Root(word, token.position)

    def _call(self, name: str, token: Token) -> Node:
        function = FUNCTIONS.get(name)
        if function is None:
            known = ", ".join(FUNCTIONS)
            raise InvalidExpression(
                f"there is no function {token.text!r} (but {known})", token.position
            )
        arguments: list[Node] = []
        if not self._takes_sign(")"):
            arguments.append(self.either())
            while self._takes_sign(","):
                arguments.append(self.either())
            self._expect_sign(")")
        why = function.what_is_wrong_with(len(arguments))
        if why is not None:
            raise InvalidExpression(f"{name}() takes {why}", token.position)
        return Call(name, tuple(arguments), token.position)


def _number(token: Token) -> int | float:
    number = within_range(int(token.text) if token.text.isdigit() else float(token.text))
    if number is None:
        raise InvalidExpression(f"{token.text} is no number that can be kept", token.position)
    return number
