"""The sections of a document: Markdown by its headings, HTML by its heading tags, plain text as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import NamedTuple


class Section(NamedTuple):
    """A heading and the paragraphs under it, up to the next heading.

    Attributes
    ----------
    heading : str
        The heading; empty before the first one.
    trail : tuple of str
        The headings above it and itself, from the outermost.
    paragraphs : tuple of str
        What stands under it.
    line : int
        Where it begins.
    """

    heading: str
    trail: tuple[str, ...]
    paragraphs: tuple[str, ...]
    line: int


# Neighbours in a pattern never take the same character: one that no line fits is then refused in a single pass.
_HEADING = re.compile(r" {0,3}(#{1,6})\s(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")


class _Outline:
    """Collects sections while a document is read."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self._trail: dict[int, str] = {}
        self._heading, self._line = "", 1
        self._paragraphs: list[str] = []
        self._words: list[str] = []

    def heading(self, level: int, text: str, line: int) -> None:
        self.end()
        self._trail = {depth: name for depth, name in self._trail.items() if depth < level} | {level: text}
        self._heading, self._line = text, line

    def words(self, text: str) -> None:
        self._words.append(text)

    def paragraph(self) -> None:
        text = "\n".join(self._words).strip()
        if text:
            self._paragraphs.append(text)
        self._words = []

    def end(self) -> None:
        self.paragraph()
        if self._paragraphs or self._heading:
            trail = tuple(self._trail[depth] for depth in sorted(self._trail))
            self.sections.append(Section(self._heading, trail, tuple(self._paragraphs), self._line))
        self._paragraphs = []


def markdown_sections(text: str) -> list[Section]:
    """Return the sections of a Markdown document; what stands in a fence of code is no heading.

    Examples
    --------
    >>> [(s.trail, s.paragraphs) for s in markdown_sections("Hello.\\n\\n# Fig\\nSweet.\\n\\n## Tree\\nTall.")]
    [((), ('Hello.',)), (('Fig',), ('Sweet.',)), (('Fig', 'Tree'), ('Tall.',))]
    """
    outline, fence, before = _Outline(), "", ""
    lines = _without_front_matter(text.splitlines())
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        found = None if fence else _HEADING.fullmatch(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            outline.words(line)
        elif found and (heading := found[2].strip().rstrip("#").strip()):
            outline.heading(len(found[1]), heading, number)
        elif not fence and before.strip() and (under := _UNDERLINE.fullmatch(line)) and len(outline._words) == 1:
            outline._words.clear()
            outline.heading(1 if under[1][0] == "=" else 2, before.strip(), number - 1)
        elif fence or line.strip():
            outline.words(line)
        else:
            outline.paragraph()
        before = "" if fence else line
    outline.end()
    return outline.sections


def text_sections(text: str) -> list[Section]:
    """Return a plain text as one section, its paragraphs between blank lines."""
    outline = _Outline()
    for line in text.splitlines():
        if line.strip():
            outline.words(line)
        else:
            outline.paragraph()
    outline.end()
    return outline.sections


def html_sections(text: str) -> list[Section]:
    """Return the sections of an HTML page; scripts, styles and the head are left out, but for the title.

    Examples
    --------
    >>> page = "<title>Figs</title><h1>Fig</h1><p>Sweet &amp; small.</p><script>x</script><p>Ripe.</p>"
    >>> [(s.heading, s.paragraphs) for s in html_sections(page)]
    [('Fig', ('Sweet & small.', 'Ripe.'))]
    """
    page = _Page()
    page.feed(_without_loose_ends(text))
    page.close()
    page.outline.end()
    return page.outline.sections


def _without_loose_ends(text: str) -> str:
    """Write as words what begins and never ends: the parser would search for each one's end up to the page's."""
    for begin, end in (("<!--", "-->"), ("<![", "]>"), ("<", ">")):
        rest = text.rfind(end) + 1
        text = text[:rest] + text[rest:].replace(begin, f"&lt;{begin[1:]}")
    return text


class _Page(HTMLParser):
    SILENT = frozenset({"script", "style", "head", "title", "template", "noscript", "svg"})
    BLOCKS = frozenset(
        [
            "p",
            "div",
            "li",
            "ul",
            "ol",
            "table",
            "tr",
            "td",
            "th",
            "pre",
            "blockquote",
            "section",
            "article",
            "header",
            "footer",
            "main",
            "nav",
            "aside",
            "br",
            "dd",
            "dt",
            "dl",
        ]
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.outline = _Outline()
        self._silent: list[str] = []
        self._heading: tuple[int, int, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.SILENT:
            self._silent.append(tag)
        elif re.fullmatch("h[1-6]", tag):
            self._heading = (int(tag[1]), self.getpos()[0], [])
        elif tag in self.BLOCKS and self._heading is None:
            self.outline.paragraph()
            if tag == "body":
                self._silent.clear()

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()
        elif self._heading is not None and re.fullmatch("h[1-6]", tag):
            level, line, words = self._heading
            self.outline.heading(level, " ".join("".join(words).split()), line)
            self._heading = None
        elif tag in self.BLOCKS and self._heading is None:
            self.outline.paragraph()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._heading is not None:
            self._heading[2].append(data)
        elif data.strip():
            self.outline.words(" ".join(data.split()))


def _without_front_matter(lines: list[str]) -> list[str]:
    """Blank the lines of settings between two rules at the very top, as many note-takers write them."""
    if not lines or lines[0].strip() != "---":
        return lines
    end = next((at for at, line in enumerate(lines[1:100], 1) if line.strip() == "---"), None)
    return lines if end is None else [*[""] * (end + 1), *lines[end + 1 :]]


SPLITTERS: dict[str, Callable[[str], list[Section]]] = {
    ".md": markdown_sections,
    ".markdown": markdown_sections,
    ".txt": text_sections,
    ".rst": text_sections,
    ".html": html_sections,
    ".htm": html_sections,
}


def document_sections(suffix: str, text: str) -> Iterator[Section]:
    """Yield the sections of a document by its file's ending."""
    yield from SPLITTERS[suffix.lower()](text)
