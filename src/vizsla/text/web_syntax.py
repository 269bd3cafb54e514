"""The syntax of queries that people type into a search box: "a phrase", +must, -not, field:word, prefix*."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

PLAIN, WEB = "plain", "web"
SYNTAXES = (PLAIN, WEB)
WORD, PHRASE, PREFIX = "word", "phrase", "prefix"
MIN_PREFIX = 2
"""A shorter prefix stands for too many words: it counts as a word."""

STRAIGHT_QUOTES = dict.fromkeys(map(ord, "“”„‟＂"), '"')
"""Quotes as word processors and Chinese keyboards write them."""

_CLAUSE = re.compile(
    r"""
    (?P<sign>[+-](?=[^\s+\-]))?
    (?:(?P<field>[^\s":+\-][^\s":]*):(?=[^\s:/]))?
    (?:"(?P<phrase>[^"]*)"|(?P<word>\S+))
    """,
    re.VERBOSE,
)

_WORDS = re.compile(r'[^"“”„‟＂+\-:*]*')
"""Without these signs there is no operator."""


class Clause(NamedTuple):
    """What an item must hold, or must not.

    Attributes
    ----------
    kind : {"word", "phrase", "prefix"}
        Any form of a word, words one after another as they are written, or the beginning of a word.
    text : str
        The words, or the prefix.
    field : str, optional
        The one field that is looked at; None for the whole text.
    """

    kind: str
    text: str
    field: str | None = None


class WebQuery(NamedTuple):
    """A query as it was meant.

    Attributes
    ----------
    words : str
        The words to search for: all but the excluded ones, and prefixes.
    required, excluded : tuple of Clause
        Words that every item of the answer must hold, and words that none may hold.
    only_filters : bool
        Whether nothing is looked for in the texts: the query names fields, or excludes words.
    """

    words: str
    required: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()
    only_filters: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the query is its words alone."""
        return not self.required and not self.excluded


def is_words(text: str) -> bool:
    """Return whether a query cannot hold an operator, by a look at its signs.

    Examples
    --------
    >>> is_words("fig tree"), is_words('a "fig tree"'), is_words("e-mail")
    (True, False, False)
    """
    return _WORDS.fullmatch(text) is not None


def parse_web(text: str, is_field: Callable[[str], bool] = lambda name: False) -> WebQuery:
    """Read a query; whatever is no operator is a word, and nothing raises.

    Parameters
    ----------
    text : str
        As it was typed.
    is_field : function of a name
        Whether items have such a field: a word with a colon after another name, such as a URL, is a word.

    Examples
    --------
    >>> parse_web('fig "olive oil" +salt -pepper brand:acme ital*', {"brand"}.__contains__).words
    'fig olive oil salt acme'
    >>> parse_web("+salt -pepper").required, parse_web("+salt -pepper").excluded
    ((Clause(kind='word', text='salt', field=None),), (Clause(kind='word', text='pepper', field=None),))
    >>> parse_web('C++ e-mail 12:30 http://a.b/c "open').is_plain
    True
    """
    if is_words(text):
        return WebQuery(" ".join(text.split()))
    text = text.translate(STRAIGHT_QUOTES)
    words: list[str] = []
    required: list[Clause] = []
    excluded: list[Clause] = []
    looks, at = False, 0
    while (found := _CLAUSE.search(text, at)) is not None:
        clause, plain, at = _read(found, is_field)
        excludes = found["sign"] == "-" and clause is not None
        if clause is None:
            words.append(plain)
            looks = looks or bool(plain)
        elif excludes:
            excluded.append(clause)
        else:
            if clause.kind != PREFIX:  # words that begin so are searched for in its place
                words.append(clause.text)
            looks = looks or clause.field is None
            if found["sign"] or clause.field is not None or clause.kind != WORD:
                required.append(clause)
    filters = not looks and bool(required or excluded)
    return WebQuery(" ".join(word for word in words if word), tuple(required), tuple(excluded), filters)


def _read(found: re.Match[str], is_field: Callable[[str], bool]) -> tuple[Clause | None, str, int]:
    """Return the clause, None for a plain word; the word; and where the rest of the query begins."""
    field = found["field"]
    if field is not None and not is_field(field):
        if found["phrase"] is not None:  # the name is a word, and the phrase is read by itself
            return None, field, found.start("phrase") - 1
        word = f"{field}:{found['word']}"
        return (Clause(WORD, word) if found["sign"] else None), word, found.end()
    if found["phrase"] is not None:
        phrase = " ".join(found["phrase"].split())
        return (Clause(PHRASE, phrase, field) if phrase else None), "", found.end()
    word = found["word"].strip('"')
    end = found.end()
    if '"' in word:  # a phrase that begins inside a word begins a new clause
        end = found.start("word") + found["word"].index('"', len(found["word"]) - len(found["word"].lstrip('"')))
        word = word.partition('"')[0]
    stem = word.rstrip("*")
    if stem != word and len(stem) >= MIN_PREFIX:
        return Clause(PREFIX, stem, field), stem, end
    if not stem:
        return None, "", end
    return (Clause(WORD, stem, field) if found["sign"] or field is not None else None), stem, end
