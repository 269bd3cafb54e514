"""Every error that Vizsla raises on purpose: what was expected, what came, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class VizslaError(Exception):
    """The parent of all errors that Vizsla raises on purpose."""


class InputError(VizslaError, ValueError):
    """An argument is not what the call can use."""


class DataError(VizslaError, ValueError):
    """A user's data file breaks the rules of its format; the message names file, line and remedy."""

    def __init__(self, problem: str, *, path: str | Path | None = None, line: int | None = None, remedy: str = ""):
        place = f"{path}" if path is not None else "input"
        if line is not None:
            place += f", line {line}"
        super().__init__(" ".join(part for part in (f"{place}: {problem}", remedy) if part))
        self.problem, self.path, self.line, self.remedy = problem, path, line, remedy


class FormatError(VizslaError):
    """An artifact is damaged, incomplete, or not an artifact; the message names the file."""


class EngineError(VizslaError):
    """An engine cannot store or read now: a full disk, a folder that cannot be written, another process that holds it.

    Nothing of the call was stored. What was acknowledged before is there.
    """


class CompositionError(VizslaError, ValueError):
    """Parts that cannot be combined, or a composition string that cannot be read."""


class ContractError(VizslaError):
    """A kind that does not keep what its base class promises; the message names the promise."""


class BudgetError(VizslaError):
    """A call that a Budget does not cover; it was not made, and nothing was spent."""


class ScorerError(VizslaError):
    """A scorer did not answer, for a reason that may pass: a service that is busy, a connection that broke.

    Parameters
    ----------
    message : str
        The message.
    wait_s : float, optional
        How many seconds to wait before the next attempt, if the scorer gave a time.
    answered : sequence of float
        Scores of the first pairs, which came before it failed: they need not be sent again.
    sent : int, optional
        How many of the first pairs were sent, those included; all of them unless given.
    """

    def __init__(
        self, message: str, *, wait_s: float | None = None, answered: Sequence[float] = (), sent: int | None = None
    ):
        super().__init__(message)
        self.wait_s, self.answered, self.sent = wait_s, answered, sent


class ServiceError(VizslaError):
    """A service answered with an error, or not at all, for a reason that may pass.

    Parameters
    ----------
    message : str
        The message.
    status : int
        The HTTP status; 0 without an answer.
    wait_s : float, optional
        How many seconds to wait before the next attempt, if the service gave a time.
    """

    def __init__(self, message: str, status: int = 0, *, wait_s: float | None = None):
        super().__init__(message)
        self.status, self.wait_s = status, wait_s


class PlacementError(VizslaError):
    """A cluster cannot be used: it refuses, has no worker or too little memory, or runs other versions."""


class WorkerLostError(VizslaError):
    """A worker has ended before its answer came; what it had acknowledged is on its disk."""


class ShardLostError(VizslaError):
    """A shard's folder is not there; other shards may have stored their part of a write, which may be repeated."""


class MissingExtraError(VizslaError, ImportError):
    """A feature needs a package that is not installed; the message gives the command that installs it."""

    def __init__(self, feature: str, extra: str):
        super().__init__(f"{feature} needs an extra. Install it with: pip install 'vizsla[{extra}]'")
        self.extra = extra


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise unless `value` is one of `choices`.

    Examples
    --------
    >>> check_choice("variant", "lucene", ["lucene", "atire"])
    """
    if not any(isinstance(value, type(choice)) and value == choice for choice in choices):
        raise InputError(f"`{name}` must be one of {', '.join(map(str, choices))}. Got {value!r}.")


class RecipeError(InputError):
    """A retriever cannot be built from its recipe: it has none, or a live object or a member is missing."""


MAX_NATIVE_INT = 2**63 - 1
"""The largest whole number that native code takes."""


def check_positive(name: str, value: int) -> int:
    """Return `value` as an int, or raise when it is not a whole number above 0 that fits into 64 bits.

    Examples
    --------
    >>> check_positive("k", 10)
    10
    """
    try:
        whole = None if isinstance(value, bool) else value.__index__()
    except (AttributeError, TypeError):  # an array of several numbers has the method, and refuses
        raise InputError(f"`{name}` must be a whole number above 0. Got {value!r}.") from None
    if whole is None or whole < 1:
        raise InputError(f"`{name}` must be a whole number above 0. Got {value!r}.")
    if whole > MAX_NATIVE_INT:
        got = f"{value!r}" if whole < 10**24 else f"one of {whole.bit_length():,} bits"
        raise InputError(f"`{name}` must be a whole number below 2^63. Got {got}.")
    return whole


def check_range(name: str, value: float, low: float, high: float) -> float:
    """Return `value`, or raise when it is not between `low` and `high`, both included.

    Examples
    --------
    >>> check_range("b", 0.75, 0, 1)
    0.75
    """
    try:
        inside = not isinstance(value, bool) and bool(low <= value <= high)
    except (TypeError, ValueError):
        inside = False
    if not inside:
        raise InputError(f"`{name}` must be between {low:g} and {high:g}. Got {value!r}.")
    return value
