"""The warning that there was nothing to choose by."""

from __future__ import annotations


class ChoiceWarning(UserWarning):
    """The clicks are too few to choose settings by, so what stood was kept; the message says what that is."""
