"""One field of the metadata, a value an item, in flat arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import FormatError, InputError
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

Mask = NDArray[np.bool_]


class Column(ABC):
    """A value for each item, or none."""

    kind: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @abstractmethod
    def at(self, number: int) -> Any:
        """Return an item's value: a text, a number, True or False; None where it has none."""

    @abstractmethod
    def equal(self, values: Sequence[str]) -> Mask:
        """Return which items have one of these values, as they are written in a condition."""

    @abstractmethod
    def between(self, low: str | None, high: str | None, *, open_low: bool = False, open_high: bool = False) -> Mask:
        """Return which items have a value from `low` to `high`; open ends are left out themselves."""

    @abstractmethod
    def write(self, writer: ArtifactWriter, name: str) -> None:
        """Store the arrays."""

    @classmethod
    @abstractmethod
    def read(cls, reader: ArtifactReader, name: str, count: int) -> Self:
        """Read and check the arrays."""


class NumberColumn(Column):
    """Numbers; NaN is none.

    Examples
    --------
    >>> prices = NumberColumn(np.array([3.0, np.nan, 7.5]))
    >>> prices.at(0), prices.at(1), prices.between("5", None).tolist()
    (3, None, [False, False, True])
    """

    kind = "number"

    def __init__(self, values: NDArray[np.float64]):
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def at(self, number: int) -> float | int | None:
        """Return a number, a whole one without a point."""
        value = float(self.values[number])
        if np.isnan(value):
            return None
        return int(value) if value.is_integer() else value

    def equal(self, values: Sequence[str]) -> Mask:
        """Compare as numbers."""
        return np.isin(self.values, [_number(value) for value in values])

    def between(self, low: str | None, high: str | None, *, open_low: bool = False, open_high: bool = False) -> Mask:
        """Compare as numbers; an item without one is never between."""
        mask = ~np.isnan(self.values)
        if low is not None:
            bound = _number(low)
            mask &= self.values > bound if open_low else self.values >= bound
        if high is not None:
            bound = _number(high)
            mask &= self.values < bound if open_high else self.values <= bound
        return mask

    def write(self, writer: ArtifactWriter, name: str) -> None:
        """Store one array."""
        writer.array(f"{name}.numbers", self.values)

    @classmethod
    def read(cls, reader: ArtifactReader, name: str, count: int) -> Self:
        """Read one array."""
        values = reader.array(f"{name}.numbers", np.float64, finite=False)  # NaN is none
        if len(values) != count or np.isinf(values).any():
            raise FormatError(f"{reader.path / name}.numbers.npy: expected {count} numbers that are finite.")
        return cls(values)


class TextColumn(Column):
    """Texts, and each item's number of its own, -1 for none; where they repeat, most stand there once.

    Examples
    --------
    >>> brands = TextColumn(Strings.of(["Ace", "Bo"]), np.array([1, -1, 0], np.int32))
    >>> brands.at(0), brands.at(1), brands.equal(["Ace", "Cy"]).tolist(), brands.between("B", None).tolist()
    ('Bo', None, [False, False, True], [True, False, False])
    """

    kind = "text"

    def __init__(self, values: Strings, codes: NDArray[np.int32]):
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, number: int) -> str | None:
        """Return a text."""
        code = int(self.codes[number])
        return None if code < 0 else self.values[code]

    def equal(self, values: Sequence[str]) -> Mask:
        """Compare letter by letter."""
        wanted = set(values)
        return np.array([*(value in wanted for value in self.values), False], np.bool_)[self.codes]

    def between(self, low: str | None, high: str | None, *, open_low: bool = False, open_high: bool = False) -> Mask:
        """Compare in the order of characters, which is that of time for dates such as 2024-05-01."""
        inside = [
            (low is None or value > low or (value == low and not open_low))
            and (high is None or value < high or (value == high and not open_high))
            for value in self.values
        ]
        return np.array([*inside, False], np.bool_)[self.codes]  # the last one is for -1

    def write(self, writer: ArtifactWriter, name: str) -> None:
        """Store the texts and the numbers."""
        writer.strings(f"{name}.values", self.values)
        writer.array(f"{name}.codes", self.codes)

    @classmethod
    def read(cls, reader: ArtifactReader, name: str, count: int) -> Self:
        """Read the texts and the numbers."""
        values, codes = reader.strings(f"{name}.values"), reader.array(f"{name}.codes", np.int32)
        if len(codes) != count or (count and not -1 <= codes.min() <= codes.max() < len(values)):
            raise FormatError(f"{reader.path / name}.codes.npy: expected a text's number for each of {count} items.")
        return cls(values, codes)


class FlagColumn(TextColumn):
    """True, False or none.

    Examples
    --------
    >>> FlagColumn(Strings.of(["false", "true"]), np.array([1, -1], np.int32)).at(0)
    True
    """

    kind = "flag"

    def at(self, number: int) -> bool | None:  # type: ignore[override]
        """Return True or False."""
        text = super().at(number)
        return None if text is None else text == "true"


COLUMNS: dict[str, type[Column]] = {kind.kind: kind for kind in (NumberColumn, TextColumn, FlagColumn)}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"A condition on a field of numbers must give a number. Got {text!r:.60}.") from None
