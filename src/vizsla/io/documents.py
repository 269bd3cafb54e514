"""Folders of text and Markdown documents, split into sections and passages."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from vizsla.core.catalog import Item
from vizsla.core.validation import WarningLog
from vizsla.errors import DataError, InputError, check_positive
from vizsla.io.bad_lines import STRICT, Reading, Refusals
from vizsla.io.files import VARIABLE, Line, max_document_bytes


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


# Neighbors in a pattern never take the same character: one that no line fits is then refused in a single pass.
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


WORDS = 200
"""Of a passage, unless told otherwise: about what an answer of a search engine quotes from."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


class Passage(NamedTuple):
    """A piece of a document, with the section that it is from and its place there, from 1."""

    section: Section
    place: int
    text: str


def check_sizes(words: int, overlap: int) -> None:
    """Raise unless passages of so many words can overlap by so many."""
    check_positive("passage_words", words)
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap < words:
        raise InputError(f"`overlap_words` must be from 0 to below `passage_words` ({words}). Got {overlap!r}.")


def passages(section: Section, *, words: int = WORDS, overlap: int = 0) -> Iterator[Passage]:
    """Yield a section's passages of at most `words` words; each begins with the last `overlap` words of the one before.

    Paragraphs stay whole where they fit; a longer one is split between sentences, and a longer sentence between words.

    Examples
    --------
    >>> fig = Section("", ("Fig",), ("A fig is sweet. It grows on trees.", "Pick it ripe."), 1)
    >>> [passage.text for passage in passages(fig, words=4)]
    ['A fig is sweet.', 'It grows on trees.', 'Pick it ripe.']
    >>> [passage.text for passage in passages(fig, words=6, overlap=2)]
    ['A fig is sweet.', 'is sweet. It grows on trees.', 'on trees. Pick it ripe.']
    """
    place, taken, count, fresh = 1, list[str](), 0, False
    for piece in _pieces(section.paragraphs, words - overlap):
        size = len(piece.split())
        if fresh and count + size > words:
            yield Passage(section, place, "\n".join(taken))
            tail = " ".join("\n".join(taken).split()[-overlap:]) if overlap else ""
            place, taken, count = place + 1, [], len(tail.split())
            if tail:
                piece = f"{tail} {piece}"
        taken.append(piece)
        count, fresh = count + size, True
    if taken:
        yield Passage(section, place, "\n".join(taken))


def _pieces(paragraphs: tuple[str, ...], most: int) -> Iterator[str]:
    for paragraph in paragraphs:
        if len(paragraph.split()) <= most:
            yield paragraph
            continue
        for sentence in _SENTENCE.split(paragraph):
            words = sentence.split()
            yield from (" ".join(words[at : at + most]) for at in range(0, len(words), most))


TYPES = ", ".join(SPLITTERS)
MOST_TYPES = 6
"""How many file types a summary names."""
NAME, LINK, SPECIAL, CLOSED = (
    "with a name that is not UTF-8",
    "links",
    "no regular files",
    "folders that cannot be read",
)


class Documents:
    """The documents of a folder, and what else is there, by the reason for which it is left out.

    Parameters
    ----------
    paths : list of Path
        The documents.

    Examples
    --------
    >>> found = Documents([Path("notes/a.md")])
    >>> found.leave_out("notes/b.pdf", suffix=".pdf")
    >>> found.leave_out("notes/c.pdf", suffix=".pdf")
    >>> found.leave_out("notes/d.md", LINK)
    >>> found.left_out(), found.reasons()
    (3, '2 of types that are not read (.pdf 2), such as notes/b.pdf; 1 links, such as notes/d.md')
    """

    def __init__(self, paths: list[Path]):
        self.paths = paths
        self._types: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def leave_out(self, name: str, reason: str = "", *, suffix: str = "") -> None:
        """Count a file that is left out: for a reason, or because of its type."""
        if reason:
            self._reasons[reason] += 1
        else:
            self._types[suffix.lower() or "no suffix"] += 1
        self._examples.setdefault(reason, _shown(name))

    def left_out(self) -> int:
        """Return how many files are left out."""
        return self._types.total() + self._reasons.total()

    def reasons(self) -> str:
        """Say in words why files are left out, with the number and an example of each."""
        said = []
        if self._types:
            types = f"{self._types.total()} of types that are not read ({_listed(self._types)})"
            said.append(f"{types}, such as {self._examples['']}")
        said += [f"{count} {reason}, such as {self._examples[reason]}" for reason, count in self._reasons.items()]
        return "; ".join(said)

    def summary(self, unread: Collection[Path] = ()) -> str:
        """Say how many documents of which types were read: all but those that could not be."""
        types = Counter(path.suffix.lower() for path in self.paths if path not in unread)
        return f"{types.total()} documents ({_listed(types)})"


def documents(folder: Path) -> Documents:
    """Return the documents of a folder and of those inside, sorted; hidden ones are left alone.

    Links are followed only to a file inside of the folder: what lies outside was not asked for.
    """
    found = Documents([])
    inside = folder.resolve()
    for path in sorted(_files(folder, found), key=os.fsencode):
        name = path.relative_to(folder).as_posix()
        if not _is_utf8(name):
            found.leave_out(name, NAME)
        elif path.suffix.lower() not in SPLITTERS:
            found.leave_out(name, suffix=path.suffix)
        elif path.is_symlink() and not _leads_inside(path, inside):
            found.leave_out(name, LINK)
        elif not path.is_file():
            found.leave_out(name, SPECIAL)
        else:
            found.paths.append(path)
    return found


def _files(folder: Path, found: Documents) -> Iterator[Path]:
    """Yield everything in a folder that is no folder; links to folders are not followed."""

    def closed(error: OSError) -> None:
        found.leave_out(os.path.relpath(str(error.filename), folder), CLOSED)

    for at, folders, names in os.walk(folder, onerror=closed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in folders:
            if os.path.islink(os.path.join(at, name)):  # noqa: PTH114, PTH118 - bytes that are no UTF-8 stay as they are
                found.leave_out(os.path.relpath(os.path.join(at, name), folder), LINK)  # noqa: PTH118
        yield from (Path(at, name) for name in names if not name.startswith("."))


def _leads_inside(link: Path, folder: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(folder)
    except (OSError, RuntimeError):  # it leads nowhere, or in a circle
        return False


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(name: str) -> str:
    """Return a name that can be printed: bytes that are no UTF-8 become escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _listed(types: Counter[str]) -> str:
    """Name the commonest types with their counts."""
    said = [f"{suffix} {count}" for suffix, count in types.most_common(MOST_TYPES)]
    rest = types.total() - sum(count for _, count in types.most_common(MOST_TYPES))
    return ", ".join([*said, f"others {rest}"] if rest else said)


_NO_SLUG = re.compile(r"[^\w\- ]+")


class FolderSource:
    """The passages of documents: the types of `vizsla.io.documents.SPLITTERS`.

    A document that cannot be read is left out and counted, unless `how` says otherwise.

    An id is the document's path, with `#heading` for what stands under a heading, as a web page would be linked to,
    and with `:2`, `:3` … for the further passages of a section. It depends on nothing outside of its document.

    Parameters
    ----------
    path : Path
        A folder, or one document.
    how : Reading
        The encoding, and what becomes of documents that cannot be read.
    words, overlap : int
        How many words a passage has at most, and how many it shares with the one before.
    """

    def __init__(self, path: Path, *, how: Reading = STRICT, words: int = WORDS, overlap: int = 0):
        check_sizes(words, overlap)
        self.name, self._root, self._how = str(path), path if path.is_dir() else path.parent, how
        self.found = documents(path) if path.is_dir() else Documents([path])
        self._words, self._overlap = words, overlap
        self._refusals, self._silent = Refusals(how, str(path), what="documents"), 0
        self._unread: set[Path] = set()

    def __str__(self) -> str:
        return f"{self.name}: {self.found.summary(self._unread)}"

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the passage: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Item | None:
        """A folder is read from the start."""
        return None

    def report(self, tally: WarningLog) -> None:
        """Count files that are not read, documents that cannot be, and those without a word."""
        if count := self.found.left_out():
            tally.add(count, f"files left out of {self.name}: {self.found.reasons()}")
        self._refusals.report(tally)
        tally.add(self._silent, f"documents without a word left out of {self.name}")

    def content(self, path: Path) -> bytes:
        """Return the bytes of a document; one that is too long or cannot be read raises."""
        try:
            if path.stat().st_size > max_document_bytes():
                problem = f"the document has more than {max_document_bytes() >> 20} MB."
                raise DataError(problem, path=path, remedy=f"Split it, or allow more with {VARIABLE}.")
            return path.read_bytes()
        except OSError as error:
            problem = f"the file cannot be read ({error.strerror})."
            raise DataError(problem, path=path, remedy="Check its permissions.") from None

    def items_in(self, path: Path, content: bytes) -> Iterator[Item]:
        """Yield the passages of a document with this content."""
        return (item for _, item in self._items(path, self._text(path, content)))

    def _walk(self) -> Iterator[tuple[Line, Item]]:
        self._refusals.begin()
        silent, count = 0, 0
        for path in self.found.paths:
            try:
                text = self._text(path, self.content(path))
            except DataError as error:
                self._refusals.add(error, str(path))
                self._unread.add(path)
                continue
            empty = True
            for line, item in self._items(path, text):
                empty = False
                count += 1
                yield Line(path, line), item
            silent += empty
        self._silent = silent
        if not count:
            tally = WarningLog()
            self.report(tally)
            problem = f"there are no items: {'; '.join(tally.messages)}"
            raise DataError(problem, path=self.name, remedy=f"Give documents that hold text ({TYPES}).")

    def _text(self, path: Path, content: bytes) -> str:
        encoding = "utf-8-sig" if self._how.encoding == "utf-8" else self._how.encoding
        try:
            text = content.decode(encoding)
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            line = bytes(getattr(error, "object", b""))[:start].count(b"\n") + 1
            problem = f"the line is not {self._how.encoding} ({getattr(error, 'reason', error)})."
            raise DataError(problem, path=path, line=line, remedy="Name its encoding.") from None
        if "\0" in text:
            line = text[: text.index("\0")].count("\n") + 1
            problem = "the line has a NUL byte: the file is binary, or text in another encoding."
            raise DataError(problem, path=path, line=line, remedy="Name its encoding, such as utf-16-le.")
        return text

    def _items(self, path: Path, text: str) -> Iterator[tuple[int, Item]]:
        own, seen = path.relative_to(self._root).as_posix(), dict[str, int]()
        for section in document_sections(path.suffix, text):
            slug = _NO_SLUG.sub("", section.heading.lower()).strip().replace(" ", "-")
            seen[slug] = seen.get(slug, 0) + 1
            anchor = slug if seen[slug] == 1 else f"{slug}-{seen[slug]}"
            base = own if not section.heading and seen[slug] == 1 else f"{own}#{anchor}"
            pieces = list(passages(section, words=self._words, overlap=self._overlap))
            for passage in pieces or [Passage(section, 1, "")]:  # a heading alone can be found too
                id = base if passage.place == 1 else f"{base}:{passage.place}"
                meta = {"path": own, "heading": section.heading, "line": section.line}
                yield section.line, Item(id, passage.text, " › ".join(section.trail), meta)
