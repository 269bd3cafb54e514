"""Conditions on metadata: which items satisfy them, and what may be wrong with a value that no item has."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.data.columns import Column, ListColumn, TextColumn, Value
from vizsla.data.values import DATE, MAX_EXACT_WHOLE, NUMBER, TEXT, date_span, text_of
from vizsla.errors import InputError
from vizsla.typing import BoolArray

if TYPE_CHECKING:
    from vizsla.data.metadata import ItemMetadata

MAX_CONDITION_DEPTH = 50
"""How deep conditions may lie inside conditions."""
MAX_CONDITIONS = 10_000
ORDERS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
ONE, SEVERAL, WORDS = {"eq": "=", "ne": "!="}, {"in": "in", "nin": "not in"}, ("contains", "startswith")
TYPES = (*ONE, *ORDERS, *SEVERAL, *WORDS, "isnull", "and", "or", "not")
KEYWORDS = {"and", "or", "not", "in", "contains", "startswith", "is", "null"}
_BARE_FIELD = re.compile(r"[^\W\d][\w.\-]*")


class Condition(ABC):
    """A condition on items, made by `where`; `&`, `|` and `~` combine conditions, and `str` returns the text.

    A condition is true or false of every item, so `not` is the complement: what a missing value does not fulfill, it
    fulfills under `not`, and `!=` and `not in` are the complements of `=` and `in`.
    """

    tight: ClassVar[bool] = True
    """Whether it needs no parentheses inside of others."""
    depth: int = 0
    """How deep other conditions lie inside."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the condition as JSON has it."""

    @abstractmethod
    def holds(self, details: ItemMetadata) -> BoolArray:
        """Return which items fulfill it."""

    @abstractmethod
    def comparisons(self) -> Iterator[FieldCondition]:
        """Yield all comparisons inside."""

    def to_json(self) -> str:
        """Return the condition as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def mask(self, items: Strings) -> BoolArray:
        """Return which items of a catalog fulfill it; a catalog that knows only ids raises."""
        return self._details(items).mask(self)

    def hints(self, items: Strings) -> tuple[str, ...]:
        """Say which values no item has, and what may have been meant instead."""

        return hints(self, self._details(items))

    def _details(self, items: Strings) -> ItemMetadata:
        details = details_of(items)
        if details is None:
            field = next(self.comparisons()).field
            raise InputError(
                f"`where` must be ids: nothing else is known of these items. Got a condition on {field!r:.60}. "
                "Build anew from data with metadata (`meta=`, --meta)."
            )
        return details

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition from its text; what is not understood raises, and the place is marked."""
        from vizsla.data.where_grammar import parse

        return parse(text)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Condition:
        """Read a condition in the shape of OpenAI's filters; what is not understood raises."""
        left = [MAX_CONDITIONS]
        return _read(value, left, 0)

    def __and__(self, other: Condition) -> Condition:
        return And((*_parts(self, And), *_parts(other, And))) if isinstance(other, Condition) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return Or((*_parts(self, Or), *_parts(other, Or))) if isinstance(other, Condition) else NotImplemented

    def __invert__(self) -> Condition:
        return Not(self)

    def __repr__(self) -> str:
        return f"where({str(self)!r})"


@dataclass(frozen=True, repr=False)
class FieldCondition(Condition):
    """A field, how it is compared, and with what.

    Parameters
    ----------
    type : str
        One of eq, ne, lt, lte, gt, gte, in, nin, contains, startswith, isnull.
    field : str
        Which field.
    values : tuple
        Texts, numbers or booleans: none for isnull, any number for in and nin, one for the others.

    Examples
    --------
    >>> Condition.parse("price<20").to_dict()
    {'type': 'lt', 'key': 'price', 'value': 20}
    >>> print(FieldCondition("in", "brand", ("Ace, Inc.", "Bo")))
    brand in ("Ace, Inc.", "Bo")
    """

    type: str
    field: str
    values: tuple[Value, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return type, key and value."""
        if self.type == "isnull":
            return {"type": self.type, "key": self.field}
        value = list(self.values) if self.type in SEVERAL else self.values[0]
        return {"type": self.type, "key": self.field, "value": value}

    def holds(self, details: ItemMetadata) -> BoolArray:
        """Compare a column."""
        column = details.column(self.field)
        try:
            return self._mask(column)
        except InputError as error:
            detail = f"The condition is {str(self)!r:.200}, and {self.field!r:.60} is a {column.kind}."
            raise InputError(f"{error} {detail}") from None

    def _mask(self, column: Column) -> BoolArray:
        if self.type == "isnull":
            return column.missing()
        if self.type in ("eq", "in"):
            return column.equal(self.values)
        if self.type in ("ne", "nin"):
            return ~column.equal(self.values)
        value = self.values[0]
        if self.type in WORDS:
            return (column.contains if self.type == "contains" else column.startswith)(text_of(value))
        if isinstance(column, TextColumn) and column.nearly == DATE and date_span(text_of(value), reduced=False):
            raise InputError(
                f"A field of texts must not be compared with a date where most texts are dates. Got {value!r}: "
                f"{declare(self.field, DATE)}."
            )
        if column.kind == TEXT and not isinstance(value, str):
            raise InputError(
                f"A field of texts must be compared with a text. Got the number {text_of(value)}: declare the field "
                f'when the data are read (meta="{self.field}:number", --meta {self.field}:number), or write '
                f'"{text_of(value)}" in quotes to compare characters.'
            )
        return column.ordered(self.type, value)

    def comparisons(self) -> Iterator[FieldCondition]:
        """Yield itself."""
        yield self

    def __str__(self) -> str:
        field = self.field
        if not _BARE_FIELD.fullmatch(field) or field.lower() in KEYWORDS:
            field = _quoted(field)
        if self.type == "isnull":
            return f"{field} is null"
        if self.type in SEVERAL:
            return f"{field} {SEVERAL[self.type]} ({', '.join(map(_written, self.values))})"
        operator = {**ONE, **ORDERS}.get(self.type, self.type)
        return f"{field} {operator} {_written(self.values[0])}"


@dataclass(frozen=True, repr=False)
class And(Condition):
    """A conjunction of conditions.

    Examples
    --------
    >>> And((FieldCondition("eq", "a", (1,)), Or((FieldCondition("eq", "b", (2,)), FieldCondition("eq", "c", (3,))))))
    where('a = 1 and (b = 2 or c = 3)')
    """

    parts: tuple[Condition, ...]
    tight = False
    type: ClassVar[str] = "and"

    def __post_init__(self) -> None:
        _note_depth(self, self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the parts as `filters`."""
        return {"type": self.type, "filters": [part.to_dict() for part in self.parts]}

    def holds(self, details: ItemMetadata) -> BoolArray:
        """Intersect."""
        return reduce(np.logical_and, (part.holds(details) for part in self.parts))

    def comparisons(self) -> Iterator[FieldCondition]:
        """Yield those of the parts."""
        for part in self.parts:
            yield from part.comparisons()

    def __str__(self) -> str:
        return f" {self.type} ".join(map(_grouped, self.parts))


@dataclass(frozen=True, repr=False)
class Or(And):
    """A disjunction of conditions."""

    type: ClassVar[str] = "or"

    def holds(self, details: ItemMetadata) -> BoolArray:
        """Unite."""
        return reduce(np.logical_or, (part.holds(details) for part in self.parts))


@dataclass(frozen=True, repr=False)
class Not(Condition):
    """The negation of a condition."""

    part: Condition

    def __post_init__(self) -> None:
        _note_depth(self, (self.part,))

    def to_dict(self) -> dict[str, Any]:
        """Return the part as the one of `filters`."""
        return {"type": "not", "filters": [self.part.to_dict()]}

    def holds(self, details: ItemMetadata) -> BoolArray:
        """Complement."""
        return ~self.part.holds(details)

    def comparisons(self) -> Iterator[FieldCondition]:
        """Yield those of the part."""
        yield from self.part.comparisons()

    def __str__(self) -> str:
        return f"not {_grouped(self.part)}"


def _note_depth(condition: Condition, parts: tuple[Condition, ...]) -> None:
    """Note how deep the parts of a condition lie; too deep raises, since a text of it could not be read back."""
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MAX_CONDITION_DEPTH:
        raise InputError(f"Conditions must be at most {MAX_CONDITION_DEPTH} deep. Got more: join many by one `where`.")
    object.__setattr__(condition, "depth", depth)


def where(*conditions: str | Mapping[str, Any] | Condition) -> Condition:
    """Return a condition on items' metadata, to be given to a search as `where`; several must all hold.

    Parameters
    ----------
    *conditions : str or dict
        A text with `and`, `or`, `not` and parentheses around comparisons: `field=value`, `field=a,b` (one of these),
        `field!=value`, `field<20`, `<=`, `>`, `>=`, `field=5..20` (both ends included; one may be missing),
        `field in (a, b)`, `field not in (a, b)`, `field contains word`, `field startswith word`, `field is null`,
        `field is not null`. Values and fields with special characters stand in double or single quotes, and so do
        values with one of the words and, or, not, in, contains, startswith, is and null. A comma stands between values,
        and is no decimal point. A text is read as a field of numbers has them: `price="$5.00"` is `price=5`.
        Or a dict in the shape of OpenAI's filters: `{"type": "lt", "key": "price", "value": 20}`, with the types eq,
        ne, lt, lte, gt, gte, in, nin, contains, startswith, isnull; and `{"type": "and", "filters": […]}`, with and,
        or, not.

    Examples
    --------
    >>> from vizsla import Dataset, bm25
    >>> fruit = [{"id": "f", "text": "a fig", "price": 3}, {"id": "p", "text": "a pear", "price": 7}]
    >>> bm25(Dataset.of(fruit))("a fig or a pear", where=where("price<5 or price is null")).ids
    [['f']]
    >>> where({"type": "lt", "key": "price", "value": 20}, "brand=Ace Inc,Bo")
    where('price < 20 and brand in ("Ace Inc", "Bo")')
    """
    if not conditions:
        raise InputError("`where` must have a condition such as price<20. Got none.")
    made = tuple(map(_condition, conditions))
    return made[0] if len(made) == 1 else And(made)


def _condition(given: Any) -> Condition:
    if isinstance(given, Condition):
        return given
    if isinstance(given, str):
        return Condition.parse(given)
    if isinstance(given, Mapping):
        return Condition.from_dict(given)
    raise InputError(f"`where` must be conditions as texts or dicts. Got {type(given).__name__}.")


def _read(value: Any, left: list[int], depth: int) -> Condition:
    left[0] -= 1
    if depth > MAX_CONDITION_DEPTH or left[0] < 0:
        raise InputError(
            f"Conditions must be at most {MAX_CONDITION_DEPTH} deep and {MAX_CONDITIONS:,} in all. Got more."
        )
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in TYPES:
        raise InputError(f'`where` as a dict must have a "type": {", ".join(TYPES)}. Got {value!r:.80}.')
    if kind in ("and", "or", "not"):
        filters = value.get("filters")
        wanted = "one condition" if kind == "not" else "conditions"
        if set(value) != {"type", "filters"} or not isinstance(filters, list | tuple) or not filters:
            raise InputError(f'`where` of type {kind!r} must have {wanted} as "filters". Got {value!r:.80}.')
        if kind == "not" and len(filters) != 1:
            raise InputError(f'`where` of type "not" must have one condition as "filters". Got {len(filters)}.')
        parts = tuple(_read(part, left, depth + 1) for part in filters)
        return Not(parts[0]) if kind == "not" else joined(kind, parts)
    field = value.get("key")
    expected = {"type", "key"} if kind == "isnull" else {"type", "key", "value"}
    if set(value) != expected or not isinstance(field, str) or not field:
        raise InputError(f"`where` of type {kind!r} must have {', '.join(sorted(expected))}. Got {value!r:.80}.")
    return FieldCondition(kind, field, _values(kind, value.get("value")))


def declare(field: str, kind: str) -> str:
    """Say how a field of texts becomes one of the kind that most of them have."""
    said = f'declare the field when the data are read (meta="{field}:{kind}", --meta {field}:{kind})'
    return f"{said}, and what is no {kind} is missing; declared as text, it is compared by its characters"


def joined(kind: str, parts: tuple[Condition, ...]) -> Condition:
    """Return conditions joined by "and" or "or"; one stays what it is."""
    return parts[0] if len(parts) == 1 else (And if kind == "and" else Or)(parts)


def _values(kind: str, value: Any) -> tuple[Value, ...]:
    if kind == "isnull":
        return ()
    if kind in SEVERAL:
        if not isinstance(value, list | tuple) or not value:
            raise InputError(f"`where` of type {kind!r} must have a list of values. Got {value!r:.80}.")
        return tuple(_value(one, kind) for one in value)
    return (_value(value, kind),)


def _value(value: Any, kind: str) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str | int | float):
        hint = ': ask for what is missing by {"type": "isnull", "key": …}' if value is None else ""
        raise InputError(f"A condition must compare with texts, numbers or booleans. Got {value!r:.60}{hint}.")
    return plain_value(value, kind)


def plain_value(value: Value, kind: str) -> Value:
    """Return a value in the one form that it has in conditions: 20.0 as 20, and words for `contains` as text."""
    if kind in WORDS or isinstance(value, str):
        return text_of(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"A condition must compare with finite numbers. Got {value}.")
    if abs(value) <= MAX_EXACT_WHOLE:
        return int(value) if value == int(value) else float(value)
    if isinstance(value, float):
        return value
    if abs(value) > 10**300:
        raise InputError("A condition must compare with numbers below 10^300. Got a larger one.")
    return float(value) if kind in ORDERS else str(value)  # as a text a long id stays exact


def _parts(condition: Condition, kind: type[And]) -> tuple[Condition, ...]:
    """Return the parts of a condition of this kind, so that many that are joined one by one stay flat."""
    return condition.parts if isinstance(condition, And) and type(condition) is kind else (condition,)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _written(value: Value) -> str:
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _grouped(part: Condition) -> str:
    return str(part) if part.tight else f"({part})"


MAX_VALUES_COMPARED = 2000
"""Distinct values among which a similar one is looked for."""
MAX_HINTS = 10


def hints(condition: Condition, details: ItemMetadata) -> tuple[str, ...]:
    """Return hints about a condition: values that no item has, or that its parts exclude each other.

    Examples
    --------
    >>> from vizsla import Dataset, where
    >>> fruit = Dataset.of([{"id": "f", "text": "a fig", "brand": "Ace"}]).item_ids
    >>> where("brand=ace").hints(fruit)
    ("no item has brand = 'ace'; did you mean 'Ace'?",)
    """
    hints: dict[str, None] = {}
    for comparison in condition.comparisons():
        hints |= dict.fromkeys(_hints_of(comparison, details))
        if len(hints) >= MAX_HINTS:
            break
    if not hints and not condition.holds(details).any():
        hints["no item fulfills all of the conditions, though each value occurs"] = None
    return tuple(hints)[:MAX_HINTS]


def _hints_of(comparison: FieldCondition, details: ItemMetadata) -> list[str]:
    column, field = details.column(comparison.field), comparison.field
    if comparison.type in ("eq", "ne", "in", "nin"):
        absent = [value for value in comparison.values if not column.has(value)]
        return [f"no item has {field} = {text_of(value)!r:.60}{_instead(column, text_of(value))}" for value in absent]
    try:
        if comparison.holds(details).any():
            return []
    except InputError:
        return []
    value = "" if not comparison.values else text_of(comparison.values[0])
    return [f"no item has {str(comparison)!r:.100}{_instead(column, value)}"]


def _instead(column: Column, text: str) -> str:
    if column.kind in (NUMBER, DATE):
        return f"; values are from {column.value(0)} to {column.value(column.known - 1)}" if column.known else ""
    if isinstance(column, ListColumn):
        words = list(column.entries)
    else:
        words = column.texts[:MAX_VALUES_COMPARED] if isinstance(column, TextColumn) else ["true", "false"]
    if (
        not text
        or len(words) > MAX_VALUES_COMPARED
        or (isinstance(column, TextColumn) and column.known > MAX_VALUES_COMPARED)
    ):
        return ""
    by_case = {word.casefold(): word for word in words}
    near = get_close_matches(text.casefold()[:100], by_case, n=1)
    return f"; did you mean {by_case[near[0]]!r:.60}?" if near else ""
