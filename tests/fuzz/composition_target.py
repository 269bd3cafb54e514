"""Target "compositions": strings made by the grammar and then damaged, parsed, and searched where they parse."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from tests.fuzz.uses import UseError, attempt
from tests.support.table_retriever import TableRetriever
from vizsla.base.retriever import Retriever
from vizsla.compose import parse

ITEMS = ["a", "b", "c", "d"]
PIECES = [
    "x",
    "y",
    "z",
    "far",
    "w",
    "1",
    "0",
    "2.5",
    ".5",
    "9" * 30,
    "9" * 5000,
    "(",
    ")",
    ".",
    ",",
    "=",
    "+",
    "*",
    "%",
    "|",
    ">>",
    "-",
    "&",
    "'rank'",
    '"minmax"',
    "''",
    "depth=3",
    "depth=",
    ".normalized()",
    ".normalized('rank')",
    ".rerank(y)",
    ".cut(2)",
    ".union(",
    ".plus(y, depth=2)",
    ".times(2)",
    ".shards(far)",
    ".save('p')",
    ".__class__",
    " ",
    "\n",
    "\x00",
    "é",
    "٣",
    "\ud800",
    "depth=99999999999999999999999999",
    "1e5",
    "None",
]
CHAINS = [
    "+x",
    "|y",
    ">>x",
    "%2",
    "*1.5",
    ".normalized()",
    ".normalized('rank')",
    ".cut(3)",
    ".union(",
    "(",
    "+2*y",
    ".plus(",
]


class CompositionTarget:
    """Makes, parses and searches; a case's number and the seed decide everything."""

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        self.seed = seed
        np.seterr(all="ignore")

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Try one string; there are no steps to leave out."""
        expression = self.expression(case)
        try:
            built = attempt("parse", lambda: parse(expression, names()))
            if built is None:
                return "refused", [expression[:300]]
            _use(built)
            return "answered", [expression[:300]]
        except UseError as failure:
            return f"failure: {failure}", [f"{expression[:300]!r} ({len(expression)} characters)"]

    def expression(self, case: int) -> str:
        """Return the string of a case."""
        random = np.random.default_rng([self.seed, case])
        how = random.random()
        if how < 0.02:
            return "x" + str(random.choice(CHAINS)) * int(random.integers(1, 3001)) + ")" * int(random.integers(2))
        text = "".join(str(random.choice(PIECES)) for _ in range(random.integers(1, 12))) if how < 0.3 else made(random)
        return damaged(text, random) if how < 0.6 else text


def made(random: np.random.Generator, depth: int = 0) -> str:
    """Return a string of the grammar."""
    if depth > 4 or random.random() < 0.3:
        return str(random.choice(["x", "y", "z", "far"]))
    inner, other = made(random, depth + 1), made(random, depth + 1)
    number = str(random.choice(["1", "2", "0.5", "0", "100", "3.", "1e400", "9" * 25]))
    forms = [
        f"{inner} + {other}",
        f"({inner} | {other})",
        f"{inner} >> {other}",
        f"({inner}) % {number}",
        f"{number}*{inner}",
        f"({inner}).normalized({random.choice(REPRS)})",
        f"({inner}).rerank({other}, depth={number})",
        f"({inner}).union({other})",
        f"({inner}).plus({other}, depth={number})",
        f"({inner}).times({number})",
        f"({inner}).cut({number})",
        f"({inner}).shards({other})",
        f"({inner})",
    ]
    return forms[int(random.integers(len(forms)))]


REPRS = ["", "'minmax'", "'zscore'", "'rank'", "'none'", "how='rank'", "'rank', depth=2", "3"]


def damaged(text: str, random: np.random.Generator) -> str:
    """Return the text with a few characters changed, left out or repeated."""
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(text) + 1))
        piece = str(random.choice(PIECES))
        text = [text[:at] + piece + text[at:], text[:at] + text[at + 1 :], text[:at] + text[:at], text[at:]][
            int(random.integers(4))
        ]
    return text


@cache
def names() -> dict[str, Retriever]:
    """Return what the names stand for: two that fit, one of another scale, and one over other items."""
    return {
        "x": TableRetriever({"q": {"a": 4.0, "b": 3.0, "c": 2.0}}, ITEMS),
        "y": TableRetriever({"q": {"d": 9.0, "b": 8.0}}, ITEMS),
        "z": TableRetriever({"q": {"d": 1.0, "c": 8.0}}, ITEMS, scale="other"),
        "far": TableRetriever({"q": {"e": 3.5, "f": 1.0}}, ["e", "f"]),
    }


def _use(built: Retriever) -> None:
    attempt("search", lambda: built(["q", "other"], k=3))
    attempt("search by mask", lambda: built("q", k=2, where=["a"]))
    attempt("explain", lambda: str(built.explain("q", "a")))
    attempt("repr", lambda: (repr(built), str(built), built.nbytes))
