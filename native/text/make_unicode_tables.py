"""Writes unicode_ranges.hpp from Python's unicodedata: what makes words, lower case, what needs no spaces.

Run it with the oldest Python that Vizsla supports: `python native/text/make_unicode_tables.py`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

LAST = 0x10FFFF
FOLDED = {"İ": "i", "ς": "σ"}
"""İ loses its dot and the final sigma its form, so that one word has one spelling wherever it stands."""

UNSPACED = ("CJK ", "IDEOGRAPHIC ", "HIRAGANA ", "KATAKANA", "HALFWIDTH KATAKANA", "BOPOMOFO ")
UNSPACED += ("HANGUL ", "HALFWIDTH HANGUL", "THAI ", "LAO ", "KHMER ", "MYANMAR ", "TAI ", "NEW TAI ")
"""Scripts without spaces between words, or (Hangul) with endings that a query lacks: how their letters' names begin."""


def is_word(character: str) -> bool:
    """Return whether a character belongs to words: a letter, a mark, a number, or the underscore."""
    return unicodedata.category(character)[0] in "LMN" or character == "_"


def is_mark(character: str) -> bool:
    """Return whether a character belongs to the one before it."""
    return unicodedata.category(character)[0] == "M"


def is_unspaced(character: str) -> bool:
    """Return whether a character is a letter of a script that is searched by n-grams; digits are words everywhere."""
    letter = unicodedata.category(character) in ("Lo", "Lm", "Nl")
    return letter and unicodedata.name(character, "").startswith(UNSPACED)


def lower(character: str) -> str:
    """Return the one character that stands for this one in lower case."""
    lowered = FOLDED.get(character, character.lower())
    if len(lowered) != 1:
        raise ValueError(f"U+{ord(character):04X} has no single lower-case character: add it to FOLDED.")
    return lowered


def ranges_of(holds: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the first and last code point of every run of characters for which this holds."""
    ranges: list[tuple[int, int]] = []
    for code in filter(lambda c: holds(chr(c)), range(LAST + 1)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return ranges


def lower_runs() -> list[tuple[int, int, int, int]]:
    """Return (first, last, step, distance) of the characters whose lower case differs."""
    runs: list[tuple[int, int, int, int]] = []
    for code in (c for c in range(LAST + 1) if is_word(chr(c)) and lower(chr(c)) != chr(c)):
        distance = ord(lower(chr(code))) - code
        first, last, step, known = runs[-1] if runs else (0, 0, 0, 0)
        gap = code - last
        if runs and known == distance and gap <= 2 and (gap == step or first == last):
            runs[-1] = (first, code, gap, distance)
        else:
            runs.append((code, code, 1, distance))
    return runs


def rows(entries: Iterable[tuple[int, ...]]) -> str:
    """Return C++ initializers, several to a line."""
    line, lines = " ", []
    for entry in entries:
        text = " {" + ", ".join(f"0x{n:X}" if n > 9 else str(n) for n in entry) + "},"
        if len(line) + len(text) > 110:
            lines.append(line)
            line = " "
        line += text
    return "\n".join([*lines, line])


def main() -> None:
    """Write the header beside this script."""
    header = f"""// Written by make_unicode_tables.py from Unicode {unicodedata.unidata_version}: do not edit.
#pragma once

#include <cstdint>

namespace vizsla::unicode_ranges {{

inline constexpr char version[] = "{unicodedata.unidata_version}";

struct Range {{
  std::uint32_t first, last;
}};

// Letters, marks, numbers, and the underscore.
inline constexpr Range words[] = {{
{rows(ranges_of(is_word))}
}};

// Letters of scripts that are searched by n-grams.
inline constexpr Range unspaced[] = {{
{rows(ranges_of(is_unspaced))}
}};

// Marks, which belong to the character before them.
inline constexpr Range marks[] = {{
{rows(ranges_of(is_mark))}
}};

struct LowerRun {{
  std::uint32_t first, last, step;
  std::int32_t distance;
}};

// Word characters whose lower case is another character.
inline constexpr LowerRun lower[] = {{
{rows(lower_runs())}
}};

}}  // namespace vizsla::unicode_ranges
"""
    Path(__file__).with_name("unicode_ranges.hpp").write_text(header, encoding="ascii")


if __name__ == "__main__":
    main()
