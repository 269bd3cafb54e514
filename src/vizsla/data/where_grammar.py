"""The grammar of `where`: a text becomes a Condition, in one pass; what is not understood raises.

    condition  := all ("or" all)*
    all        := one ("and" one)*
    one        := "not" one | "(" condition ")" | comparison
    comparison := field ("=" | "==" | "!=") (range | value ("," value)*)
                | field ("<" | "<=" | ">" | ">=") value
                | field ["not"] "in" "(" value ("," value)* ")"
                | field ["not"] ("contains" | "startswith") value
                | field "is" ["not"] "null"
    range      := value ".." [value] | ".." value
    value      := a quoted text, or words up to a comma, a parenthesis, "and" or "or"; no other keyword is among them
    field      := a quoted text, or words up to an operator

Keywords are read in any case. In a quoted text a doubled quote stands for one.
"""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from vizsla.artifacts.strict_json import distinct
from vizsla.data.columns import Value
from vizsla.data.conditions import (
    KEYWORDS,
    MAX_CONDITION_DEPTH,
    MAX_CONDITIONS,
    Condition,
    FieldCondition,
    Not,
    joined,
    plain_value,
)
from vizsla.data.values import number_text
from vizsla.errors import InputError

FORMS = "field=value, field=a,b, field<20, field=5..20 or field in (a, b), joined by and, or, not"
MAX_CONDITION_CHARS = 100_000
"""Characters of a condition."""
_SPACES = re.compile(r"\s*")
_SYMBOL = re.compile("<=|>=|!=|==|=|<|>")
_WORD, _LISTED_WORD = re.compile(r"[^\s()=<>]+"), re.compile(r"[^\s()=<>,]+")
_RANGE_WORD = re.compile(r"(?:[^\s()=<>,.]|\.(?!\.))+")
_FIELD_WORD = re.compile(r"[^\s()=<>!]+")
_NAME = re.compile(r"[A-Za-z]+(?![\w.\-])")
_IN_FIELD = re.compile(r"\([^()=<>!]*\)")
_JOINTS = ("and", "or")
_TYPES = {"=": "eq", "==": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_MAX_SHOWN_CHARS = 40


def parse(text: str) -> Condition:
    """Return the condition that a text holds: in the grammar above, or as JSON.

    Examples
    --------
    >>> parse("section=text OR section=web")
    where('section = "text" or section = "web"')
    >>> parse("brand=Ace price<20")
    Traceback (most recent call last):
    vizsla.errors.InputError: `where` must be like field=value, field=a,b, field<20, field=5..20 or field in (a, b), \
joined by and, or, not; a value with =, < or > must be in quotes, and conditions must be joined by `and` or `or`. Got \
'brand=Ace price→<20' at character 16.
    """
    if not isinstance(text, str):
        raise InputError(f"A condition must be a text. Got {type(text).__name__}.")
    if len(text) > MAX_CONDITION_CHARS:
        raise InputError(f"A condition must have at most {MAX_CONDITION_CHARS:,} characters. Got {len(text):,}.")
    if text.lstrip().startswith("{"):
        return _from_json(text)
    return _Parser(text).whole()


def _from_json(text: str) -> Condition:
    try:
        value = json.loads(text, object_pairs_hook=distinct)
    except (ValueError, RecursionError) as error:
        raise InputError(f"A condition that begins with a brace must be JSON. Got {text!r:.80} ({error}).") from None
    return Condition.from_dict(value)


class _Parser:
    """Recursive descent over a text; `at` is the next character."""

    def __init__(self, text: str):
        self.text, self.at, self.count = text, 0, 0

    def whole(self) -> Condition:
        found = self.condition(0)
        self.skip()
        if self.at < len(self.text):
            self.fail("what follows a condition must be `and` or `or`; values with special characters stand in quotes")
        return found

    def condition(self, depth: int) -> Condition:
        parts = [self.all(depth)]
        while self.takes("or"):
            parts.append(self.all(depth))
        return joined("or", tuple(parts))

    def all(self, depth: int) -> Condition:
        parts = [self.one(depth)]
        while self.takes("and"):
            parts.append(self.one(depth))
        return joined("and", tuple(parts))

    def one(self, depth: int) -> Condition:
        if depth > MAX_CONDITION_DEPTH:
            self.fail(f"conditions must be at most {MAX_CONDITION_DEPTH} deep")
        if self.takes("not"):
            return Not(self.one(depth + 1))
        if self.takes_mark("("):
            found = self.condition(depth + 1)
            if not self.takes_mark(")"):
                self.fail("a parenthesis is not closed")
            return found
        self.count += 1
        if self.count > MAX_CONDITIONS:
            self.fail(f"there must be at most {MAX_CONDITIONS:,} conditions")
        return self.comparison()

    def comparison(self) -> Condition:
        field = self.field()
        if (symbol := _SYMBOL.match(self.text, self.at)) is not None:
            self.at = symbol.end()
            kind = _TYPES[symbol[0]]
            if kind in ("eq", "ne"):
                found = self.equals(field)
                return found if kind == "eq" else _opposite(found)
            return FieldCondition(kind, field, (self.value(_WORD, ordered=True),))
        if self.takes("is"):
            opposite = self.takes("not")
            if not self.takes("null"):
                self.fail("`is` must be followed by `null` or `not null`")
            found = FieldCondition("isnull", field, ())
            return Not(found) if opposite else found
        opposite = self.takes("not")
        if self.takes("in"):
            return FieldCondition("nin" if opposite else "in", field, self.listed())
        for kind in ("contains", "startswith"):
            if self.takes(kind):
                found = FieldCondition(kind, field, (plain_value(self.value(_WORD, plain=True), kind),))
                return Not(found) if opposite else found
        self.fail(_BARE)

    def equals(self, field: str) -> Condition:
        """Read what follows `=`: values with commas between them, or a range."""
        low: Value | None = None
        self.skip()
        start = self.at
        if not self.text.startswith("..", self.at):
            values = [self.value(_RANGE_WORD)]
            while not self.text.startswith("..", self.at):
                if not self.takes_mark(","):
                    single = len(values) == 1
                    return FieldCondition("eq" if single else "in", field, tuple(values))
                values.append(self.value(_RANGE_WORD))
            if len(values) > 1:
                self.fail("a range must stand alone")
            self.at = start
            low = self.value(_RANGE_WORD, ordered=True)
        self.at += 2
        self.skip()
        if self.text.startswith(".", self.at):
            self.fail("a range must have two dots; a number behind them begins with a digit")
        high = None if self.ends_here() else self.value(_RANGE_WORD, ordered=True)
        if low is None and high is None:
            self.fail("a range must have an end, such as 5..20 or 5..")
        self.skip()
        if self.text.startswith((",", ".."), self.at):
            self.fail("a range must stand alone")
        given = {"gte": low, "lte": high}
        return joined(
            "and", tuple(FieldCondition(kind, field, (end,)) for kind, end in given.items() if end is not None)
        )

    def listed(self) -> tuple[Value, ...]:
        """Read values in parentheses."""
        if not self.takes_mark("("):
            self.fail("`in` must be followed by values in parentheses; a field of that name stands in quotes")
        values = [self.value(_LISTED_WORD)]
        while self.takes_mark(","):
            values.append(self.value(_LISTED_WORD))
        if not self.takes_mark(")"):
            self.fail("a list of values must be closed by a parenthesis")
        return tuple(values)

    def field(self) -> str:
        self.skip()
        if (quoted := self.quoted()) is not None:
            if not quoted:
                self.fail("a field must have a name")
            self.skip()
            return quoted
        start = end = self.at
        while True:
            if end > start and (name := self.name()) is not None and self.is_operator(name):
                break
            if end > start and (inner := _IN_FIELD.match(self.text, self.at)) is not None:
                end = self.at = inner.end()  # a column such as Price (USD)
            elif (word := _FIELD_WORD.match(self.text, self.at)) is not None:
                if word[0].lower() in _JOINTS:
                    self.fail("a condition must come before and after `and` and `or`" if end == start else _BARE)
                end = self.at = word.end()
            else:
                break
            self.skip()
        if end == start:
            self.fail("a condition must begin with a field")
        return self.text[start:end]

    def is_operator(self, name: str) -> bool:
        """Whether a word behind a field is what it is compared by."""
        return name in ("in", "is", "contains", "startswith", "not")

    def value(self, word: re.Pattern[str], *, ordered: bool = False, plain: bool = False) -> Value:
        """Read a value: a text in quotes, or words of this form."""
        self.skip()
        if (quoted := self.quoted()) is not None:
            self.skip()
            return quoted
        start = end = self.at
        while (found := word.match(self.text, self.at)) is not None and found[0].lower() not in _JOINTS:
            if found[0] in ("&&", "||"):
                self.fail("conditions must be joined by `and` or `or`")
            if found[0].lower() in KEYWORDS and found[0].lower() != "null":
                self.fail(f"a value with the word `{found[0]}` must be in quotes")
            if word is _RANGE_WORD and found[0] == ".":
                self.fail("a range must have two dots without a space; a value with a lone dot must be in quotes")
            end = self.at = found.end()
            self.skip()
        if self.text.startswith("(", self.at):
            self.fail("a value with parentheses must be in quotes")
        if self.text.startswith(("=", "<", ">"), self.at):
            self.fail("a value with =, < or > must be in quotes, and conditions must be joined by `and` or `or`")
        if end <= start:
            self.fail("a value is missing: an empty one, and the words `and` and `or`, stand in quotes")
        text = self.text[start:end]
        if text.lower() == "null":
            self.at = start
            self.fail("what is missing is asked for by `is null`; a value null must be in quotes")
        if plain:
            return text
        return self.ordered(text, start) if ordered else _typed(text)

    def ordered(self, text: str, start: int) -> Value:
        """Return a value to be compared by its order: as a number if it is one, whatever the field is."""
        if ".." in text:
            self.at = start
            self.fail("a range must follow =")
        if "," in text:
            self.at = start + text.index(",")
            self.fail("<, <=, > and >= take one value: a number has no comma, and a text with one must be in quotes")
        if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
            return plain_value(number, "lt")
        read = number_text(text)
        if read is None or read.doubtful:
            return text
        if read.is_ambiguous:
            self.at = start
            self.fail("a number must be written without separators")
        return plain_value(read.dot if read.dot is not None else read.comma or 0.0, "lt")

    def quoted(self) -> str | None:
        """Read a text in quotes; None where there is none."""
        mark = self.text[self.at : self.at + 1]
        if mark not in ('"', "'") or not mark:
            return None
        start, at = self.at, self.at + 1
        while (end := self.text.find(mark, at)) >= 0:
            if not self.text.startswith(mark, end + 1):
                self.at = end + 1
                return self.text[start + 1 : end].replace(mark * 2, mark)
            at = end + 2
        self.fail("a quote is not closed")

    def name(self) -> str | None:
        found = _NAME.match(self.text, self.at)
        return None if found is None else found[0].lower()

    def takes(self, word: str) -> bool:
        self.skip()
        if self.name() != word:
            return False
        self.at += len(word)
        return True

    def takes_mark(self, mark: str) -> bool:
        self.skip()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += 1
        return True

    def ends_here(self) -> bool:
        return self.at == len(self.text) or self.text[self.at] in ")," or self.name() in _JOINTS

    def skip(self) -> None:
        found = _SPACES.match(self.text, self.at)
        self.at = self.at if found is None else found.end()

    def fail(self, problem: str) -> NoReturn:
        begin, end = max(0, self.at - _MAX_SHOWN_CHARS), self.at + _MAX_SHOWN_CHARS
        before, after = "…" * (begin > 0), "…" * (end < len(self.text))
        marked = f"{before}{self.text[begin : self.at]}→{self.text[self.at : end]}{after}"
        raise InputError(f"`where` must be like {FORMS}; {problem}. Got {marked!r} at character {self.at + 1}.")


_BARE = "a field must be followed by an operator such as =, < or in; a value with `and` or `or` stands in quotes"


def _opposite(found: Condition) -> Condition:
    if isinstance(found, FieldCondition) and found.type in ("eq", "in"):
        return FieldCondition("ne" if found.type == "eq" else "nin", found.field, found.values)
    return Not(found)


def _typed(text: str) -> Value:
    """Return a number or a boolean where the text is written as one and no other way: 1.10 stays a text."""
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        value = plain_value(number, "eq")
        return value if json.dumps(value) == text else text
    return text
