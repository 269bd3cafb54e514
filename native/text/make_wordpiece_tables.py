"""Writes the tables of wordpiece_normalizer.hpp by asking Hugging Face `tokenizers` what it does to every character.

Its Unicode tables are of several versions at once, so no other source gives the same ids. It takes minutes:
`python native/text/make_wordpiece_tables.py`, with the extra `onnx` installed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

import tokenizers
from tokenizers import normalizers, pre_tokenizers

CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)
"""Syllables are taken apart by arithmetic, not by a table."""
OFF = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}


def step(name: str) -> Callable[[str], str]:
    """Return one of the normalizer's four steps as a function."""
    return normalizers.BertNormalizer(**(OFF | {name: True})).normalize_str  # type: ignore[no-any-return]


def changed(function: Callable[[str], str]) -> dict[int, str]:
    """Return what becomes of every character that a step changes."""
    made = ((code, function(chr(code))) for code in CODES)
    return {code: text for code, text in made if text != chr(code)}


def punctuation() -> list[int]:
    """Return the characters that are words of their own."""
    cut = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    return [code for code in CODES if len(cut(f"a{chr(code)}a")) == 3]


def combining_classes(codes: Iterable[int]) -> dict[int, int]:
    """Return the combining class that `tokenizers` gives each character, found by what it is sorted before."""
    known = {unicodedata.combining(chr(code)): chr(code) for code in range(0x300, 0x1000)}
    known = {number: mark for number, mark in known.items() if number}
    sort = normalizers.NFD().normalize_str
    return {code: _class(chr(code), known, sort) for code in codes}


def _class(mark: str, known: dict[int, str], sort: Callable[[str], str]) -> int:
    def swaps(one: str, other: str) -> bool:
        return sort(f"a{one}{other}") != f"a{sort(one)}{sort(other)}"

    below = [number for number, other in known.items() if swaps(mark, other)]
    above = [number for number, other in known.items() if swaps(other, mark)]
    if not below and not above:
        return 0
    level = [number for number in known if number not in below and number not in above]
    return level[0] if level else (max(below, default=0) + min(above, default=255)) // 2


def ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last of every run of codes."""
    found: list[tuple[int, int]] = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def runs(pairs: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """Return (first, last, step, distance) of characters that one other stands for."""
    found: list[tuple[int, int, int, int]] = []
    for code, other in sorted(pairs.items()):
        first, last, step, known = found[-1] if found else (0, 0, 0, 0)
        gap = code - last
        if found and known == other - code and gap <= 2 and (gap == step or first == last):
            found[-1] = (first, code, gap, known)
        else:
            found.append((code, code, 1, other - code))
    return found


def rows(entries: Iterable[tuple[int, ...]]) -> str:
    """Return C++ initializers, several to a line."""
    line, lines = " ", []
    for entry in entries:
        text = " {" + ", ".join(f"0x{n:X}" if n > 9 else str(n) for n in entry) + "},"
        if len(line) + len(text) > 118:
            lines.append(line)
            line = " "
        line += text
    return "\n".join([*lines, line])


def header(name: str, body: str) -> None:
    """Write a header beside this script."""
    version = tokenizers.__version__
    text = f"""// Written by make_wordpiece_tables.py from Hugging Face tokenizers {version}: do not edit.
#pragma once

{body}
"""
    Path(__file__).with_name(name).write_text(text, encoding="ascii")


def table(name: str, kind: str, about: str, entries: Iterable[tuple[int, ...]]) -> str:
    """Return a C++ array."""
    return f"// {about}\ninline constexpr {kind} {name}[] = {{\n{rows(entries)}\n}};\n"


def main() -> None:
    """Write both headers."""
    cleaned, cjk = changed(step("clean_text")), changed(step("handle_chinese_chars"))
    stripped = {code: text for code, text in changed(step("strip_accents")).items() if code not in HANGUL}
    lowered = changed(step("lowercase"))
    single = {code: ord(text) for code, text in stripped.items() if len(text) == 1}
    several = {code: text for code, text in stripped.items() if len(text) > 1}
    marks = {code for code, text in stripped.items() if not text}
    classes = combining_classes({code for code in CODES if unicodedata.combining(chr(code))} | marks)
    kept = [(code, number) for code, number in sorted(classes.items()) if number and code not in marks]
    by_class: dict[int, list[int]] = {}
    for code, number in kept:
        by_class.setdefault(number, []).append(code)
    firm = {mark for mark in marks if not classes[mark]}
    lower = {code: ord(text) for code, text in lowered.items() if len(text) == 1}
    odd_lower = {code: text for code, text in lowered.items() if len(text) > 1}
    assert odd_lower == {0x130: "i\u0307"}, odd_lower
    assert max((len(text) for text in several.values()), default=0) <= 4
    parts = [
        table("removed", "Range", "Control characters and the like.", ranges(c for c, t in cleaned.items() if not t)),
        table("spaces", "Range", "What separates words.", ranges([c for c, t in cleaned.items() if t == " "] + [32])),
        table("punctuation", "Range", "Each a word of its own.", ranges(punctuation())),
        table("ideographs", "Range", "Each a word of its own, if wished.", ranges(cjk)),
        table("marks", "Range", "Removed with the accents.", ranges(marks)),
        table("starters", "Range", "Marks that others are not sorted across.", ranges(firm)),
        table(
            "classes", "Class", "Marks that stay and are sorted: first, last, class.",
            [(a, b, number) for number, codes in sorted(by_class.items()) for a, b in ranges(codes)],
        ),
        table("lower", "Run", "Lower case that is one character.", runs(lower)),
    ]  # fmt: skip
    header(
        "wordpiece_ranges.hpp",
        "#include <cstdint>\n\nnamespace vizsla::wordpiece_ranges {\n\n"
        "struct Range {\n  std::uint32_t first, last;\n};\n\n"
        "struct Class {\n  std::uint32_t first, last, number;\n};\n\n"
        "struct Run {\n  std::uint32_t first, last, step;\n  std::int32_t distance;\n};\n\n"
        + "\n".join(parts)
        + "\n}  // namespace vizsla::wordpiece_ranges",
    )
    header(
        "wordpiece_decompositions.hpp",
        '#include <cstdint>\n\n#include "text/wordpiece_ranges.hpp"\n\nnamespace vizsla::wordpiece_ranges {\n\n'
        + "struct Base {\n  std::uint32_t code, base;\n};\n\n"
        + table("bases", "Base", "What is left without accents, where it is one character.", sorted(single.items()))
        + "\nstruct Parts {\n  std::uint32_t code, parts[4];\n};\n\n"
        + table("several", "Parts", "Where it is several.", [(c, *map(ord, t)) for c, t in sorted(several.items())])
        + "\n}  // namespace vizsla::wordpiece_ranges",
    )


if __name__ == "__main__":
    main()
