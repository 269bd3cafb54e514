"""The warning that a dataset was read by a documented rule which left something out or let it pass."""

from __future__ import annotations

import warnings

from vizsla.checked import caller_level


class DatasetWarning(UserWarning):
    """Something in the data was handled by a documented rule; the message counts it."""


class Tally:
    """Collects counted messages while a dataset is read, and emits each once.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(0, "items with an empty text")
    >>> tally.add(2, "items with an empty text")
    >>> tally.messages
    ('2 items with an empty text',)
    """

    def __init__(self) -> None:
        self.messages: tuple[str, ...] = ()

    def add(self, count: int, what: str) -> None:
        """Note that `what` was seen `count` times; nothing happens for 0."""
        if count:
            self.messages += (f"{count} {what}",)

    def emit(self, *, since: int = 0) -> None:
        """Warn once for every message from number `since` on."""
        for message in self.messages[since:]:
            warnings.warn(message, DatasetWarning, stacklevel=caller_level())
