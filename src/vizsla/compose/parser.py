"""Composition strings: a small white-listed grammar with the operator precedence of Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from vizsla.base.retriever import DEFAULT_DEPTH, Composable, Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.operators import Union
from vizsla.compose.weighted_sum import Sum
from vizsla.errors import CompositionError

# Composition strings: a small white-listed grammar with the precedence that Python gives the same symbols.
#
# union = shift { "|" shift } shift = sum { ">>" sum } sum = product { "+" product } product = postfix { ("*" | "%")
# postfix } postfix = atom { "." METHOD "(" [ argument { "," argument } ] ")" } atom = NAME | NUMBER | TEXT | "(" union
# ")"

METHODS = ("rerank", "union", "plus", "times", "cut", "normalized", "scaled", "shards")
MAX_CHARACTERS = 10_000
MAX_NESTING = 50
"""How deep brackets may lie inside brackets, those of a method's arguments too."""
MAX_NUMBER_CHARS = 40
"""Characters of a number."""
_MAX_SHOWN_CHARS = 200

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.\d*|\.\d+|\d+)|(?P<name>[A-Za-z_]\w*)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<symbol>>>|[|+*%().,=]))"
)


class Token(NamedTuple):
    """A piece of the string and where it begins."""

    kind: str
    text: str
    at: int


def parse(expression: str, names: Mapping[str, Scorer]) -> Retriever:
    """Build the retriever that a composition string describes.

    Parameters
    ----------
    expression : str
        Such as `"0.7*a.normalized('minmax') + 0.3*b.normalized('minmax')"` or `"(a | b).rerank(c, depth=50) % 10"`.
    names : mapping
        The retriever of each name in the expression.

    Examples
    --------
    >>> parse("a >>", {})
    Traceback (most recent call last):
    vizsla.errors.CompositionError: unknown name 'a' at character 1 of 'a >>'. Known names: none.
    """
    if not isinstance(expression, str):
        raise CompositionError(f"`expression` must be a composition string. Got {type(expression).__name__}.")
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise CompositionError(f"`names` must say what each name stands for. Got {type(names).__name__}.")
    built = _Parser(expression, names).whole()
    if not isinstance(built, Retriever):
        raise CompositionError(f"{_shown(expression)} must describe a Retriever. Got a {type(built).__name__}.")
    return built


def tokens_of(expression: str) -> list[Token]:
    """Split the string into tokens; a character outside of the grammar raises.

    Examples
    --------
    >>> [token.text for token in tokens_of("0.5*a >> b")]
    ['0.5', '*', 'a', '>>', 'b']
    """
    if len(expression) > MAX_CHARACTERS:
        raise CompositionError(f"A composition string has at most {MAX_CHARACTERS} characters. Got {len(expression)}.")
    tokens, at, end = [], 0, len(expression.rstrip())
    while at < end:
        match = _TOKEN.match(expression, at)
        if match is None:
            raise CompositionError(
                f"unexpected {expression[at:].strip()[:1]!r} at character {at + 1} of {_shown(expression)}."
            )
        tokens.append(Token(str(match.lastgroup), match.group(match.lastgroup or 0), match.start(match.lastgroup or 0)))
        at = match.end()
    return tokens


class _Parser:
    def __init__(self, expression: str, names: Mapping[str, Scorer]):
        self.expression, self.names = expression, names
        self.tokens, self.at, self.nesting = tokens_of(expression), 0, 0

    def whole(self) -> Any:
        value = self.union()
        if self.at < len(self.tokens):
            self.fail(f"unexpected {self.peek()!r}")
        return value

    def union(self) -> Any:
        return self.all_at_once(self.shift, "|", lambda sides: Union(sides, depth=DEFAULT_DEPTH))

    def shift(self) -> Any:
        return self.chain(self.sum, {">>": lambda a, b: a >> b})

    def sum(self) -> Any:
        return self.all_at_once(
            self.product, "+", lambda sides: Sum([(1.0, side) for side in sides], depth=DEFAULT_DEPTH)
        )

    def product(self) -> Any:
        return self.chain(self.postfix, {"*": lambda a, b: a * b, "%": lambda a, b: a % b})

    def chain(self, operand: Callable[[], Any], operators: Mapping[str, Callable[[Any, Any], Any]]) -> Any:
        value = operand()
        while (operator := self.peek()) in operators:
            self.at += 1
            value = self.apply(operators[operator], operator, value, operand())
        return value

    def all_at_once(self, operand: Callable[[], Any], operator: str, join: Callable[[list[Any]], Any]) -> Any:
        """Read a chain of one operator and join its sides in one step: pair by pair, thousands would take minutes."""
        sides = [operand()]
        while self.accept(operator):
            sides.append(operand())
        if len(sides) == 1:
            return sides[0]
        wrong = next((side for side in sides if not isinstance(side, Composable)), None)
        if wrong is not None:
            self.fail(f"`{operator}` must have a retriever on each side. Got a {type(wrong).__name__}")
        return join(sides)

    def apply(self, combine: Callable[[Any, Any], Any], operator: str, left: Any, right: Any) -> Any:
        if not any(isinstance(side, Composable) for side in (left, right)):
            self.fail(f"`{operator}` must have a retriever on at least one side")
        try:
            return combine(left, right)
        except TypeError:
            self.fail(f"`{operator}` cannot join a {type(left).__name__} and a {type(right).__name__}")

    def postfix(self) -> Any:
        value = self.atom()
        while self.accept("."):
            value = self.call(value)
        return value

    def call(self, value: Any) -> Any:
        method = self.take("name").text
        if method not in METHODS or not isinstance(value, Composable):
            self.fail(f"unknown method {method!r} (known: {', '.join(METHODS)})")
        positional, keywords = self.arguments()
        try:
            return getattr(value, method)(*positional, **keywords)
        except TypeError as error:
            self.fail(f"{method}() does not take these arguments ({error})")

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        self.expect("(")
        while not self.accept(")"):
            if positional or keywords:
                self.expect(",")
            if self.peek(1) == "=":
                name = self.take("name").text
                if name in keywords:
                    self.fail(f"{name!r} is given twice")
                self.expect("=")
                keywords[name] = self.nested()
            else:
                positional.append(self.nested())
        return positional, keywords

    def atom(self) -> Any:
        if self.accept("("):
            return self.group()
        if self.at == len(self.tokens):
            self.fail("the expression ends too soon")
        token = self.tokens[self.at]
        if token.kind == "symbol":
            self.fail(f"unexpected {token.text!r}")
        if token.kind == "name" and token.text not in self.names:
            self.fail(f"unknown name {token.text!r}", f"Known names: {', '.join(sorted(self.names)) or 'none'}.")
        self.at += 1
        return self.value(token)

    def group(self) -> Any:
        value = self.nested()
        self.expect(")")
        return value

    def nested(self) -> Any:
        """Read an expression inside brackets."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} nested brackets")
        value = self.union()
        self.nesting -= 1
        return value

    def value(self, token: Token) -> Any:
        if token.kind == "name":
            return self.names[token.text]
        if token.kind == "text":
            return token.text[1:-1]
        if len(token.text) > MAX_NUMBER_CHARS:
            self.fail(f"a number of more than {MAX_NUMBER_CHARS} characters")
        return int(token.text) if token.text.isdigit() else float(token.text)

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead].text if self.at + ahead < len(self.tokens) else ""

    def accept(self, symbol: str) -> bool:
        found = self.peek() == symbol
        self.at += found
        return found

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            self.fail(f"expected {symbol!r}")

    def take(self, kind: str) -> Token:
        if self.at == len(self.tokens) or self.tokens[self.at].kind != kind:
            self.fail(f"expected a {kind}")
        self.at += 1
        return self.tokens[self.at - 1]

    def fail(self, problem: str, hint: str = "") -> Any:
        at = self.tokens[self.at].at if self.at < len(self.tokens) else len(self.expression)
        message = f"{problem} at character {at + 1} of {_shown(self.expression)}."
        raise CompositionError(f"{message} {hint}".strip())


def _shown(expression: str) -> str:
    return repr(expression if len(expression) <= _MAX_SHOWN_CHARS else expression[:_MAX_SHOWN_CHARS] + "…")


def sum_terms(expression: str) -> list[str]:
    """Return what stands between the outermost `+` of a composition string.

    Learning the weights of a sum needs its parts before they are added: unlike scales would refuse it.

    Parameters
    ----------
    expression : str
        Such as ``"a + (b >> c)"``; one that is no sum raises.

    Examples
    --------
    >>> sum_terms("a + (b >> c + d)")
    ['a', '(b >> c + d)']
    """
    outer = _outermost(tokens_of(expression))
    other = next((token for token in outer if token.text in ("|", ">>")), None)
    places = [token.at for token in outer if token.text == "+"]
    if other is not None or not places:
        got = "none" if other is None else f"`{other.text}` at character {other.at + 1}, which binds less: add brackets"
        raise CompositionError(f"{expression!r} must be a sum of two or more parts, such as 'a + b'. Got {got}.")
    bounds = [-1, *places, len(expression)]
    return [expression[start + 1 : end].strip() for start, end in pairwise(bounds)]


def _outermost(tokens: list[Token]) -> list[Token]:
    """Return the symbols outside of all brackets."""
    found, nesting = [], 0
    for token in tokens:
        if token.kind == "symbol":
            nesting += {"(": 1, ")": -1}.get(token.text, 0)
            if not nesting:
                found.append(token)
    return found
