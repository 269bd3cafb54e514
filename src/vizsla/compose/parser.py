"""Composition strings: a small white-listed grammar with the precedence that Python gives the same symbols.

union   = shift { "|" shift }
shift   = sum { ">>" sum }
sum     = product { "+" product }
product = postfix { ("*" | "%") postfix }
postfix = atom { "." METHOD "(" [ argument { "," argument } ] ")" }
atom    = NAME | NUMBER | TEXT | "(" union ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vizsla.composable import Composable
from vizsla.errors import CompositionError
from vizsla.retriever import Retriever
from vizsla.scorer import Scorer

METHODS = ("rerank", "union", "plus", "times", "cut", "normalised", "scaled", "shards")
MAX_CHARACTERS = 10_000
MAX_NESTING = 50

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
        Such as `"0.7*a.normalised('minmax') + 0.3*b.normalised('minmax')"` or `"(a | b).rerank(c, depth=50) % 10"`.
    names : mapping
        What each name in the expression stands for.

    Examples
    --------
    >>> parse("a >>", {})
    Traceback (most recent call last):
    vizsla.errors.CompositionError: unknown name 'a' at character 1 of 'a >>'. Known names: none.
    """
    built = _Parser(expression, names).whole()
    if not isinstance(built, Retriever):
        raise CompositionError(f"{expression!r} must describe a Retriever. Got a {type(built).__name__}.")
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
                f"unexpected {expression[at:].strip()[:1]!r} at character {at + 1} of {expression!r}."
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
        return self.chain(self.shift, {"|": lambda a, b: a | b})

    def shift(self) -> Any:
        return self.chain(self.sum, {">>": lambda a, b: a >> b})

    def sum(self) -> Any:
        return self.chain(self.product, {"+": lambda a, b: a + b})

    def product(self) -> Any:
        return self.chain(self.postfix, {"*": lambda a, b: a * b, "%": lambda a, b: a % b})

    def chain(self, operand: Callable[[], Any], operators: Mapping[str, Callable[[Any, Any], Any]]) -> Any:
        value = operand()
        while (operator := self.peek()) in operators:
            self.at += 1
            value = self.apply(operators[operator], operator, value, operand())
        return value

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
                self.expect("=")
                keywords[name] = self.union()
            else:
                positional.append(self.union())
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
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} nested brackets")
        value = self.union()
        self.expect(")")
        self.nesting -= 1
        return value

    def value(self, token: Token) -> Any:
        if token.kind == "name":
            return self.names[token.text]
        if token.kind == "text":
            return token.text[1:-1]
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
        message = f"{problem} at character {at + 1} of {self.expression!r}."
        raise CompositionError(f"{message} {hint}".strip())
