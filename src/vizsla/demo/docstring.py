"""Parse docstrings: the calls at the head, the summary, the rest, and cross-references."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

# "D.pop(k[, d]) -> v, remove the key" and "eig(a) -- eigenvalues": C code writes the call into the docstring.
_CALL = re.compile(r"(?:\w+\.)*(?P<name>\w+)\s?\((?P<rest>.*)", re.DOTALL)
_RESULT = re.compile(
    r"\s*(?:-+>\s*(?P<result>\([^)]*\)|[\w. \[\]|'\"*]*?))?\s*"
    r"(?:(?:\.\s|:\s|--+\s|-\s|,\s|;\s)\s*(?P<said>\S.*))?\.?$"
)
_MAX_SENTENCE_WORDS = 40  # Words; a longer first sentence is a list or a table without full stops.
_BELOW = re.compile(r"\s*\n\s*->")
_MARKER = re.compile(r"--\n+")  # Ends a signature that C code meant for Python's eyes only.
_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!cf)(?<!vs)[.!?][\"')`]*(?=\s+[\"'(`*]*[A-Z\d]|\s*$)")
_PROMPT = r"[ \t]*(?:>>>|\.\.\.)[^\n]*\n"
_PRINTED = re.compile(rf"(^{_PROMPT})((?:(?!{_PROMPT})[^\n]*\S[^\n]*(?:\n|\Z))+)", re.MULTILINE)


class Docstring(NamedTuple):
    """The parts of a docstring; the summary is not in `body`."""

    calls: str
    summary: str
    body: str


def split_docstring(doc: str, names: Collection[str]) -> Docstring:
    """Take a clean docstring apart.

    The summary is the first sentence of the first paragraph that is not a call of the function itself: most often
    a docstring's first line, but writers of C code put calls above it, and some sentences need two lines.

    Parameters
    ----------
    doc : str
        A docstring without common indentation.
    names : collection of str
        The names, without module and class, that the documented object may have in a call.

    Examples
    --------
    >>> split_docstring("add(x, y)\\n\\nAdd two\\nnumbers. Slowly.\\n\\nNotes.", {"add"})
    Docstring(calls='add(x, y)', summary='Add two numbers.', body='Slowly.\\n\\nNotes.')
    >>> split_docstring("D.clear() -> None.  Remove all items from D.", {"clear"}).summary
    'Remove all items from D.'
    """
    calls: list[str] = []
    rest = doc.strip()
    while (call := _leading_call(rest, names)) is not None:
        written, said, rest = call
        calls.append(written)
        if said:
            rest = f"{said}\n\n{rest}"
            break
    paragraph, _, below = rest.partition("\n\n")
    summary, more = ("", paragraph) if _is_title(paragraph) else first_sentence(paragraph)
    if summary.count(" ") >= _MAX_SENTENCE_WORDS:
        summary, more = "", paragraph
    return Docstring("\n".join(calls), summary, _without(summary, f"{more}\n\n{below}").strip())


def first_sentence(paragraph: str) -> tuple[str, str]:
    """Return the first sentence, on one line, and the rest.

    Examples
    --------
    >>> first_sentence("Scale, e.g. Double,\\nthe input. In place.")
    ('Scale, e.g. Double, the input.', 'In place.')
    """
    end = _SENTENCE.search(paragraph)
    cut = end.end() if end is not None else len(paragraph)
    return " ".join(paragraph[:cut].split()), paragraph[cut:].strip()


def without_varying(doc: str) -> str:
    """Return the docstring without printed examples that "may vary": SciPy makes some anew at every import.

    Examples
    --------
    >>> without_varying(">>> draw()\\narray([3,\\n 4])  # may vary\\n\\n>>> 1\\n1\\n")
    '>>> draw()\\n\\n>>> 1\\n1\\n'
    """
    return _PRINTED.sub(lambda found: found[1] if "may vary" in found[2] else found[0], doc)


def _leading_call(text: str, names: Collection[str]) -> tuple[str, str, str] | None:
    """Return the call that the text begins with, what its line says about it, and the text below."""
    start = _CALL.match(text)
    if start is None or start["name"] not in names:
        return None
    end = _closing_bracket(text, start.start("rest"))
    if end is None:
        return None
    arrow = _BELOW.match(text, end)  # "-> result" may stand on a line of its own
    line_end = text.find("\n", arrow.end() if arrow else end)
    line_end = len(text) if line_end < 0 else line_end
    after = _RESULT.match(text[end:line_end])
    if after is None:
        return None
    said, result = after["said"] or "", (after["result"] or "").strip()
    if not said and result.count(" ") > 1 and not result.startswith("("):
        said, result = result, ""  # "od.copy() -> a shallow copy of od"
    below = text[line_end:].lstrip("\n")
    below = _MARKER.sub("", below, count=1) if below.startswith("--\n") else below
    if said and not _SENTENCE.search(said):
        more, _, below = below.partition("\n\n")
        said = f"{said} {' '.join(more.split())}".strip()
    call = text[:end] + (f" -> {result}" if result else "")
    return " ".join(call.split()), said, below.lstrip()


def _closing_bracket(text: str, start: int) -> int | None:
    depth = 1
    for place in range(start, min(len(text), start + 2000)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return None


def _without(summary: str, body: str) -> str:
    """Drop repetitions of the summary: some writers begin anew below it."""
    words = summary.rstrip(".").split()
    return re.sub(r"\s+".join(map(re.escape, words)) + r"(?!\w)\.?", "", body) if len(words) > 2 else body


def _is_title(paragraph: str) -> bool:
    """Tell whether a section or a list begins here, so that there is no summary."""
    lines = paragraph.split("\n")
    rule = lines[1].strip() if len(lines) > 1 else ""
    return lines[0].endswith(":") or (len(rule) > 2 and set(rule) <= {"-", "="})


_TARGET = r"(?::[\w:]+:)?`~?(?:[\w.]+ <)?[\w.]+>?`|[\w.]+"
_ENTRY = re.compile(rf"(?P<names>(?:{_TARGET})(?:\s*,\s*(?:{_TARGET}))*)\s*,?\s*(?::(?:\s+(?P<said>.*)|$)|$)")
_NAME = re.compile(r":[\w:]+:`|([\w.]*\w)")
_TITLE = re.compile(r"see also", re.IGNORECASE)


class Entry(NamedTuple):
    """One entry: its names as they are written, and what is said about them, if anything."""

    names: tuple[str, ...]
    said: str


def see_also(doc: str) -> list[Entry]:
    """Return the entries of the section "See Also", in order.

    Examples
    --------
    >>> see_also("See Also\\n--------\\nmean, ma.var : moments of\\n    an array.\\n:func:`prod`\\n    Product.")
    [Entry(names=('mean', 'ma.var'), said='moments of an array.'), Entry(names=('prod',), said='Product.')]
    """
    lines = doc.split("\n")
    entries: list[Entry] = []
    for line in (lines[place] for place in _section(lines)):
        entry = _ENTRY.fullmatch(line.rstrip()) if line[:1].strip() else None
        if entry is not None:
            entries.append(Entry(_names(entry["names"]), (entry["said"] or "").strip()))
        elif line[:1].strip():
            entries.append(Entry((), ""))  # Prose: what follows, indented, belongs to it and to no name.
        elif line.strip() not in ("", "..") and entries and entries[-1].names:
            entries[-1] = Entry(entries[-1].names, f"{entries[-1].said} {line.strip()}".strip())
    return [entry for entry in entries if entry.names]


def without_descriptions(doc: str) -> str:
    """Return the docstring with the names, but not the descriptions, in its section "See Also".

    Examples
    --------
    >>> without_descriptions("See Also\\n--------\\nmean : average.\\nvar\\n\\nNotes\\n-----\\nFast.")
    'See Also\\n--------\\nmean, var\\n\\nNotes\\n-----\\nFast.'
    """
    lines = doc.split("\n")
    section = _section(lines)
    if not section:
        return doc
    names = ", ".join(name for entry in see_also(doc) for name in entry.names)
    below = ["", *lines[section.stop :]] if section.stop < len(lines) else []
    return "\n".join([*lines[: section.start], names, *below])


def _section(lines: list[str]) -> range:
    """Return the places of the section's lines, without title and rule."""
    for place in range(len(lines) - 1):
        if _TITLE.fullmatch(lines[place].strip()) and _is_rule(lines[place + 1]):
            end = next(_titles(lines, place + 2), len(lines))
            return range(place + 2, end)
    return range(0)


def _titles(lines: list[str], start: int) -> Iterator[int]:
    return (place for place in range(start, len(lines) - 1) if lines[place].strip() and _is_rule(lines[place + 1]))


def _is_rule(line: str) -> bool:
    return len(line.strip()) > 2 and set(line.strip()) <= {"-", "="}


def _names(written: str) -> tuple[str, ...]:
    return tuple(match[1] for match in _NAME.finditer(written) if match[1])
