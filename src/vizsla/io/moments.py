"""Times of a log, as people write them: dates, dates with a clock, seconds or milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime

MILLISECONDS = 1e11
"""A number from here on counts milliseconds: as seconds it would be the year 5138."""


def moment_of(text: str) -> float | None:
    """Return a time as seconds since 1970, in UTC unless it names a zone; None for what is no time.

    Examples
    --------
    >>> moment_of("1970-01-02"), moment_of("1970-01-01 00:01:00"), moment_of("1700000000000"), moment_of("soon")
    (86400.0, 60.0, 1700000000.0, None)
    >>> moment_of("19700102")
    86400.0
    """
    text = text.strip()
    if not _is_date_number(text):
        try:
            number = float(text)
        except ValueError:
            return _written(text)
        seconds = number / 1000 if abs(number) >= MILLISECONDS else number
        return seconds if abs(seconds) < MILLISECONDS else None
    return _written(text)


def _is_date_number(text: str) -> bool:
    return len(text) == 8 and text.isdecimal() and text[:2] in ("19", "20")


def _written(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp()
    except (OverflowError, OSError):
        return None
