"""Conditions on metadata, as people write them: `price<20`, `price=5..20`, `brand=a,b`. Parsed, never evaluated."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vizsla.catalogue import details_of
from vizsla.checked import checked
from vizsla.details.column import Column, Mask
from vizsla.errors import InputError
from vizsla.strings import Strings

_FORM = re.compile(r"([^=<>!]+)(<=|>=|!=|==|=|<|>)(.*)", re.S)  # no two neighbours take the same character: it is fast
FORMS = "field=value, field=a,b, field!=value, field<20, field>=5 or field=5..20"


@dataclass(frozen=True)
class Condition:
    """A field, how it is compared, and with what.

    Examples
    --------
    >>> Condition.parse("price=5..20")
    Condition(field='price', operator='..', values=('5', '20'))
    >>> Condition.parse('brand="Ace, Inc.",Bo')
    Condition(field='brand', operator='=', values=('Ace, Inc.', 'Bo'))
    """

    field: str
    operator: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition; what is none raises."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        field, operator, value = (part.strip() for part in found.groups()) if found else ("", "", "")
        if not field or not value:
            raise InputError(f"A condition must be like {FORMS}. Got {text!r:.80}.")
        operator = operator.replace("==", "=")
        if operator == "=" and ".." in value and not value.startswith('"'):
            low, _, high = value.partition("..")
            if not low.strip() and not high.strip():
                raise InputError(f"A range must have an end, such as 5..20 or 5... Got {text!r:.80}.")
            return cls(field, "..", (low.strip(), high.strip()))
        return cls(field, operator, _listed(value) if operator in ("=", "!=") else (value,))

    def mask(self, column: Column) -> Mask:
        """Return which items fulfil it."""
        values, operator = self.values, self.operator
        if operator == "..":
            return column.between(values[0] or None, values[1] or None)
        if operator in ("<", "<="):
            return column.between(None, values[0], open_high=operator == "<")
        if operator in (">", ">="):
            return column.between(values[0], None, open_low=operator == ">")
        return column.equal(values) if operator == "=" else ~column.equal(values)


@dataclass(frozen=True)
class Conditions:
    """Conditions that must all hold; a retriever takes them as `where`."""

    all: tuple[Condition, ...]

    def mask(self, items: Strings) -> Mask:
        """Return which items of a catalogue fulfil all of them; a catalogue that knows only ids raises."""
        details = details_of(items)
        if details is None:
            raise InputError(
                f"`where` must be ids: nothing else is known of these items. Got a condition on {self.all[0].field!r}. "
                "Build anew from data with metadata (`meta=`, --meta)."
            )
        mask = np.ones(len(items), np.bool_)
        for condition in self.all:
            mask &= condition.mask(details.column(condition.field))
        return mask


@checked
def where(*conditions: str) -> Conditions:
    """Return conditions on items' metadata, all of which must hold, to be given to a search as `where`.

    Parameters
    ----------
    *conditions : str
        Each is one of `field=value`, `field=a,b` (one of these), `field!=value`, `field<20`, `field<=20`, `field>5`,
        `field>=5`, `field=5..20` (both ends included; one may be missing). Values with commas stand in double quotes.
        A field of numbers is compared as numbers, any other as text.

    Examples
    --------
    >>> from vizsla import Dataset, bm25
    >>> fruit = [{"id": "f", "text": "a fig", "price": 3}, {"id": "p", "text": "a pear", "price": 7}]
    >>> bm25(Dataset.of(fruit))("a fig or a pear", where=where("price<5")).ids
    [['f']]
    """
    if not conditions:
        raise InputError(f"`where` must have a condition such as {FORMS}. Got none.")
    return Conditions(tuple(map(Condition.parse, conditions)))


def _listed(value: str) -> tuple[str, ...]:
    try:
        fields: Sequence[str] = next(csv.reader([value], strict=True, skipinitialspace=True))
    except csv.Error as error:
        raise InputError(
            f"The values of a condition must be separated by commas. Got {value!r:.80} ({error})."
        ) from None
    return tuple(field.strip() for field in fields)
