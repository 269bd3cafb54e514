"""The terms of a composition string that is a sum, each by itself."""

from __future__ import annotations

from itertools import pairwise

from vizsla.compose.parser import Token, tokens_of
from vizsla.errors import CompositionError


def sum_terms(expression: str) -> list[str]:
    """Return what stands between the outermost `+` of a composition string.

    Whoever learns the weights of a sum needs its parts before they are added: unlike scales would refuse it.

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
