"""Read single metadata values: numbers, dates, lists and booleans as they are written in data."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

NUMBER, DATE, TEXT, LIST, BOOLEAN = "number", "date", "text", "list", "boolean"
COLUMN_KIND_NAMES = (NUMBER, DATE, TEXT, LIST, BOOLEAN)
"""The kinds of a column, by the names that `meta` takes."""

MAX_EXACT_WHOLE = 2**53
"""Whole numbers beyond this are not exact as floats, so they do not parse."""
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,30})?")
"""A number without separators, signs of currencies or leading zeros: the form that most data have."""

_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|KRW|TRY|ZAR"
_SIGNS = "$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u17db\u20a0-\u20c1\ufdfc\uff04"
_CURRENCY = rf"(?:(?:US|CA|AU|NZ|HK|R)?[{_SIGNS}]|{_CODES})"
_SPACE = "[ \u00a0\u2009\u202f]"
_NUMBER = re.compile(
    rf"(?P<sign>[-+\u2212]?)(?:{_CURRENCY}{_SPACE}?)?(?P<sign2>[-+\u2212]?)"
    rf"(?P<body>[0-9](?:[0-9.,'\u2019_]|{_SPACE}(?=[0-9])){{0,40}}|[.,][0-9]{{1,30}})"
    rf"(?P<exponent>[eE][-+]?[0-9]{{1,3}})?(?:{_SPACE}?{_CURRENCY})?"
)
_MARKS = ".,' \u00a0\u2009\u202f\u2019_"
_GROUPED = {mark: re.compile(rf"[0-9]{{1,3}}(?:{re.escape(mark)}[0-9]{{3}})+") for mark in _MARKS}
_SPACES = " \u00a0\u2009\u202f"
_DOTS_OR_SPACES = re.compile(rf"[0-9]{{1,3}}(?:[.{_SPACES}][0-9]{{3}}){{2,}}")
_DATE = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,](?P<fraction>[0-9]{1,9}))?"
    r" ?(?P<zone>[Zz]|[-+][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_REDUCED = re.compile(r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2}))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TRUE, _FALSE = ("true", "yes", "y", "t", "on", "1"), ("false", "no", "n", "f", "off", "0")


class NumberText(NamedTuple):
    """A text that may be a number, under both readings of its comma or dot.

    Parameters
    ----------
    dot, comma : float or None
        The value if the dot is the decimal point, and if the comma is; None where that reading makes no number.
    padded : bool
        Whether zeros lead, as in 00123.
    grouped : str
        The separator of thousands where that is a dot or a space, as in 1.234 or 1 234.
    doubtful : bool
        Whether it has several such separators and nothing else that numbers have: 555 123 456 may be a telephone.
    """

    dot: float | None
    comma: float | None
    padded: bool = False
    grouped: str = ""
    doubtful: bool = False

    @property
    def is_ambiguous(self) -> bool:
        """Whether the two readings differ, as for 1,999."""
        return self.dot is not None and self.comma is not None and self.dot != self.comma


def number_text(text: str) -> NumberText | None:
    """Read a text as a number; None for what is no number.

    Examples
    --------
    >>> number_text("$1,234.50").dot, number_text("1,99").comma, number_text("1e3").dot
    (1234.5, 1.99, 1000.0)
    >>> number_text("1,999")
    NumberText(dot=1999.0, comma=1.999, padded=False, grouped='', doubtful=False)
    >>> number_text("555 123 456").doubtful, number_text("1.10.3")
    (True, None)
    """
    text = text.strip()
    if len(text) > 60 or (found := _NUMBER.fullmatch(text)) is None or (found["sign"] and found["sign2"]):
        return None
    body, exponent = found["body"], found["exponent"] or ""
    sign = "-" if (found["sign"] or found["sign2"]) in ("-", "\u2212") else ""
    dot, comma = (_reading(sign, body, exponent, point) for point in ".,")
    if dot is None and comma is None:
        return None
    bare = not exponent and text[-len(body) :] == body and text[: len(text) - len(body)] == (found["sign"] or "")
    groups = _DOTS_OR_SPACES.fullmatch(body)
    spaced = any(mark in body for mark in _SPACES)
    return NumberText(
        dot,
        comma,
        padded=len(body) > 1 and body[0] == "0" and body[1] not in ".,",
        grouped=" " if spaced else "." if comma is not None and "." in body else "",
        doubtful=bare and groups is not None,
    )


def _reading(sign: str, body: str, exponent: str, point: str) -> float | None:
    whole, *fraction = body.split(point)
    if len(fraction) > 1 or (fraction and not fraction[0].isdecimal()):
        return None
    if whole and not whole.isdecimal():
        mark = next(character for character in whole if not character.isdecimal())
        if mark not in _GROUPED or not _GROUPED[mark].fullmatch(whole) or whole[0] == "0":
            return None
        whole = whole.replace(mark, "")
    written = f"{sign}{whole or '0'}.{fraction[0] if fraction else '0'}{exponent}"
    value = float(written)
    if abs(value) == MAX_EXACT_WHOLE:  # what is written may be larger, and rounded to it
        return value if Decimal(written) == value else None
    return value if abs(value) < MAX_EXACT_WHOLE else None


class NumberStyle(NamedTuple):
    """How a column of numbers is written: decided once, by its first values, and kept for those that are added.

    Parameters
    ----------
    point : {".", ",", ""}
        The decimal point; empty where no value tells.
    spaced : bool
        Whether thousands are separated by spaces.

    Examples
    --------
    >>> NumberStyle(",").read("1.999"), NumberStyle(".").read("1.999"), NumberStyle().read("1,999")
    (1999.0, 1.999, None)
    """

    point: str = ""
    spaced: bool = False

    def read(self, text: str, *, declared: bool = False) -> float | None:
        """Return a text as a number; None where it is none, or where only a declared column may have such a one."""
        found = number_text(text)
        return None if found is None else self.value(found, text, declared=declared)

    def value(self, found: NumberText, text: str, *, declared: bool) -> float | None:
        """Return which of two readings a text has."""
        if not declared and (found.padded or (found.doubtful and not self._allows(found))):
            return None
        if not found.is_ambiguous:
            return found.comma if found.dot is None else found.dot
        if self.point:
            return found.dot if self.point == "." else found.comma
        return None if "," in text else found.dot  # 1.999 is what it is in every program; 1,999 is nothing certain

    def _allows(self, found: NumberText) -> bool:
        return self.spaced if found.grouped == " " else self.point == ","


def date_span(text: str, *, reduced: bool = True) -> tuple[int, int] | None:
    """Return the first microsecond since 1970 (UTC) of an ISO 8601 date, and the first one after it; None for no date.

    A date without a clock is a whole day, and with `reduced` 2024-05 is a month and 2024 a year; one with a clock is a
    moment. Without a zone it is UTC.

    Examples
    --------
    >>> date_span("1970-01-02"), date_span("1970-01-01T01:00+01:00"), date_span("2024-02-30")
    ((86400000000, 172800000000), (0, 1), None)
    """
    text = text.strip()
    if (found := _DATE.fullmatch(text)) is not None:
        return _full_date(found)
    if not reduced or (found := _REDUCED.fullmatch(text)) is None:
        return None
    year, month = int(found["year"]), found["month"]
    if year == 0 or (month is not None and not 1 <= int(month) <= 12):
        return None
    start = _midnight(year, int(month or 1), 1)
    if month is None or int(month) == 12:
        return start, _midnight(year + 1, 1, 1)
    return start, _midnight(year, int(month) + 1, 1)


def _full_date(found: re.Match[str]) -> tuple[int, int] | None:
    clock, zone = found["clock"] or "00:00", found["zone"] or "Z"
    zone = "+00:00" if zone in "Zz" else zone if len(zone) != 5 else f"{zone[:3]}:{zone[3:]}"
    zone = f"{zone}:00" if len(zone) == 3 else zone
    try:
        moment = datetime.fromisoformat(f"{found['year']}-{found['month']}-{found['day']}T{clock}{zone}")
    except ValueError:
        return None
    start = (moment - _EPOCH) // _MICROSECOND
    if found["clock"] is None:
        return start, start + 86_400_000_000
    start += int((found["fraction"] or "0").ljust(6, "0")[:6])
    return start, start + 1


def _midnight(year: int, month: int, day: int) -> int:
    if year == 10_000:
        return _midnight(9999, 12, 31) + 86_400_000_000
    return (datetime(year, month, day, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def boolean_of(text: str, *, words_only: bool = False) -> bool | None:
    """Return True or False for a text such as true, no or 1; with `words_only` for true and false alone.

    Examples
    --------
    >>> boolean_of("Yes"), boolean_of("false"), boolean_of("maybe"), boolean_of("1", words_only=True)
    (True, False, None, None)
    """
    word = text.strip().lower()
    if word in (_TRUE[:1] if words_only else _TRUE):
        return True
    return False if word in (_FALSE[:1] if words_only else _FALSE) else None


def list_of(text: str) -> list[Any]:
    """Return the entries of a list that is written as a JSON array, or with | or ; between them.

    Examples
    --------
    >>> list_of("red | green"), list_of("a;b;"), list_of('["x", 2]'), list_of("one")
    (['red', 'green'], ['a', 'b'], ['x', 2], ['one'])
    """
    if (array := json_array(text)) is not None:
        return array
    parts = text.split("|") if "|" in text else text.split(";")
    return [part.strip() for part in parts if part.strip()]


def json_array(text: str) -> list[Any] | None:
    """Return the list of texts, numbers and booleans that a text holds as JSON; None for anything else."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or any(isinstance(entry, list | dict) for entry in found):
        return None
    return [entry for entry in found if entry is not None]


def text_of(value: Any) -> str:
    """Return a value as it is compared with texts: texts as they are, 20 and 20.0 alike, true and false.

    Examples
    --------
    >>> text_of("a"), text_of(20.0), text_of(True), text_of(1.5)
    ('a', '20', 'true', '1.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) <= MAX_EXACT_WHOLE:
        value = int(value)
    return json.dumps(value, ensure_ascii=False, default=str)
