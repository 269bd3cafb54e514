"""Readers of documents: functions from the content of a file to its text and headings, one per type."""

from __future__ import annotations

import html
import io
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

from vizsla import _native
from vizsla._internal.lazy import import_extra
from vizsla.errors import DataError, InputError
from vizsla.io.files import RECORD_SIZE_VARIABLE, max_document_bytes
from vizsla.io.passages import Heading, ParsedDocument

# Neighbors in a pattern never take the same character: one that no line fits is then refused in a single pass.
_MARKDOWN = re.compile(r"^ {0,3}(?:(#{1,6})[^\S\n]([^\n]*)|(`{3,}|~{3,})[^\n]*|(=+|-+)[^\S\n]*$)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"---[^\S\n]*\n")
MAX_FRONT_MATTER_LINES = 100


def read_markdown(text: str) -> ParsedDocument:
    """Return the outline of a Markdown document; what stands in a fence of code is no heading.

    Examples
    --------
    >>> read_markdown("Hello.\\n\\n# Fig\\nSweet.\\n\\nTree\\n----\\nTall.").headings
    (Heading(level=1, text='Fig', start=8, end=13), Heading(level=2, text='Tree', start=22, end=31))
    """
    headings, fence, start = list[Heading](), "", _behind_front_matter(text)
    behind = start  # the end of the last heading: what an underline stands below is not part of it
    for found in _MARKDOWN.finditer(text, start):
        sign, words, opened, under = found.groups()
        if opened:
            if not fence:
                fence = opened
            elif opened.startswith(fence):
                fence = ""
        elif fence:
            continue
        elif sign:
            if heading := words.strip().rstrip("#").strip():
                headings.append(Heading(len(sign), heading, found.start(), found.end()))
                behind = found.end()
        elif (first := _underlined(text, found.start(), behind)) >= 0:
            heading = text[first : found.start()].strip()
            headings.append(Heading(1 if under[0] == "=" else 2, heading, first, found.end()))
            behind = found.end()
    return ParsedDocument(text, tuple(headings), start)


def _underlined(text: str, at: int, behind: int) -> int:
    """Return where the line above begins, if it is a paragraph of its own; -1 otherwise."""
    first = text.rfind("\n", behind, max(at - 1, behind)) + 1 or behind
    if first >= at or not text[first:at].strip() or text[first:at].lstrip()[0] in "#>`~|":
        return -1
    if first - 1 <= behind:
        return first
    above = text.rfind("\n", behind, first - 1) + 1 or behind
    return -1 if text[above:first].strip() else first


def _behind_front_matter(text: str) -> int:
    """Return where the text begins behind settings between two rules at the top, as many note-takers write them."""
    head = _FRONT_MATTER.match(text)
    if head is None:
        return 0
    at = head.end()
    for _ in range(MAX_FRONT_MATTER_LINES):
        end = text.find("\n", at)
        if text[at : end if end >= 0 else len(text)].strip() == "---":
            return end + 1 if end >= 0 else len(text)
        if end < 0:
            break
        at = end + 1
    return 0


def read_text(text: str) -> ParsedDocument:
    """Return a plain text: one section."""
    return ParsedDocument(text)


_REFERENCE = re.compile("\x1a(\\w+;?)")
_TITLE = re.compile(r"<title[^<>]*>([^<]*)</title", re.IGNORECASE)
TITLE_CHARS = 20_000
"""How far into a page its title is looked for."""
_PERMALINKS = " ¶§#\N{LINK SYMBOL}\uf0c1"


def read_html(text: str) -> ParsedDocument:
    """Return the text of an HTML page without navigation, banners, footers, asides, scripts and permalinks.

    A page without headings is headed by its title, which is not part of the text.

    Examples
    --------
    >>> page = "<nav>Home</nav><h1>Fig<a class=headerlink>¶</a></h1><p>Sweet &amp; small.<script>x</script><p>Ripe."
    >>> read_html(page)
    ParsedDocument(text='Fig\\n\\nSweet & small.\\n\\nRipe.', headings=(Heading(level=1, text='Fig', ...),), start=0)
    """
    marked = _native.html_text(text)
    if "\x1a" in marked:
        marked = _REFERENCE.sub(lambda found: html.unescape(f"&{found[1]}").replace("\xa0", " "), marked)
    first, *rest = marked.split("\x02")
    parts, at, headings = [first], len(first), list[Heading]()
    for part in rest:
        heading, _, body = part[1:].partition("\x03")
        heading = heading.rstrip(_PERMALINKS) if heading[-1:] in _PERMALINKS else heading
        if heading:
            headings.append(Heading(int(part[0]), heading, at, at + len(heading)))
        parts += heading, body
        at += len(heading) + len(body)
    if not headings and (title := _TITLE.search(text, 0, TITLE_CHARS)) and (words := html.unescape(title[1]).split()):
        headings.append(Heading(1, " ".join(words).replace("\0", ""), 0, 0))
    return ParsedDocument("".join(parts), tuple(headings))


_RST = re.compile(
    r"^(?:([^\w\s])\1{2,}[^\S\n]*\n)?(\S[^\n]*|[^\S\n]+\S[^\n]*)\n(([^\w\s])\4{1,})[^\S\n]*$", re.MULTILINE
)


def read_rst(text: str) -> ParsedDocument:
    """Return the outline of a reStructuredText document; the first style of underlines is level 1, the next level 2.

    Examples
    --------
    >>> [heading[:2] for heading in read_rst("====\\nFigs\\n====\\n\\nTree\\n----\\nTall.").headings]
    [(1, 'Figs'), (2, 'Tree')]
    """
    styles, headings, at = dict[tuple[str, bool], int](), list[Heading](), 0
    while found := _RST.search(text, at):
        over, words, line, sign = found.groups()
        heading = words.strip()
        above = text[max(0, found.start() - 2) : found.start()]
        if len(line) < len(heading) or (over and over != sign) or heading[0] == sign or above.strip("\n"):
            at = found.start(3)
            continue
        level = styles.setdefault((sign, bool(over)), len(styles) + 1)
        headings.append(Heading(level, heading, found.start(), found.end()))
        at = found.end()
    return ParsedDocument(text, tuple(headings))


def read_notebook(text: str) -> ParsedDocument:
    """Return the Markdown and the code of a Jupyter notebook; outputs are left out."""
    try:
        cells = json.loads(text)["cells"]
        sources = [(cell["cell_type"], "".join(cell["source"]).strip()) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"the file is no Jupyter notebook ({type(error).__name__}).") from None
    parts, at, headings = list[str](), 0, list[Heading]()
    for kind, source in sources:
        if source and kind in ("markdown", "code"):
            if kind == "markdown":
                headings += [
                    one._replace(start=one.start + at, end=one.end + at) for one in read_markdown(source).headings
                ]
            parts.append(source)
            at += len(source) + 2
    return ParsedDocument("\n\n".join(parts), tuple(headings))


_DEFINITION = re.compile(
    r"^([^\S\n]{0,8})(?:(?:export|default|pub|public|private|protected|internal|static|async|abstract|final|unsafe|data|"
    r"sealed|local)[^\S\n]+){0,6}(?:def|class|function|func|fn|fun|struct|enum|trait|impl|interface|module|namespace|"
    r"object|sub|proc|CREATE TABLE|create table)[^\S\n]+([\w.$]+(?:::[\w$]+)*)",
    re.MULTILINE,
)


def read_code(text: str) -> ParsedDocument:
    """Return the outline of source code: a definition of a function or a class begins a section, by its indentation.

    Examples
    --------
    >>> [heading[:2] for heading in read_code("class Fig:\\n    def ripe(self): ...\\n\\ndef eat(): ...").headings]
    [(1, 'Fig'), (2, 'ripe'), (1, 'eat')]
    """
    found = _DEFINITION.finditer(text)
    return ParsedDocument(text, tuple(Heading(1 + bool(one[1]), one[2], one.start(), one.start()) for one in found))


_UNHEARD = logging.NullHandler()
"""Where pypdf's warnings go, such as "EOF marker not found", unless a program listens: they name no file."""


def read_pdf(content: bytes) -> ParsedDocument:
    """Return the text of a PDF file, page by page."""
    pypdf: Any = import_extra("pypdf", "Reading PDF files", "pdf")
    logging.getLogger("pypdf").addHandler(_UNHEARD)  # the same handler once more changes nothing
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages]
    except Exception as error:
        raise DataError(f"the PDF file cannot be read ({type(error).__name__}: {error!s:.80}).") from None
    return ParsedDocument("\n\n".join(page.strip() for page in pages if page.strip()).replace("\0", " "))


def read_docx(content: bytes) -> ParsedDocument:
    """Return the paragraphs and tables of a Word document, with its headings."""
    docx: Any = import_extra("docx", "Reading Word documents", "docx")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > max_document_bytes():
            problem = f"the document has more than {max_document_bytes() >> 20} MB unpacked."
            raise DataError(problem, remedy=f"Split it, or allow more with {RECORD_SIZE_VARIABLE}.")
        blocks = list(_docx_blocks(docx.Document(io.BytesIO(content))))
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"the Word document cannot be read ({type(error).__name__}: {error!s:.80}).") from None
    parts, at, headings = list[str](), 0, list[Heading]()
    for level, block in blocks:
        if level:
            headings.append(Heading(level, block, at, at + len(block)))
        parts.append(block)
        at += len(block) + 2
    return ParsedDocument("\n\n".join(parts), tuple(headings))


def _docx_blocks(document: Any) -> Iterator[tuple[int, str]]:
    """Yield paragraphs and tables with the level of a heading, 0 for others."""
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            rows = [" | ".join(dict.fromkeys(cell.text.strip() for cell in row.cells)) for row in block.rows]
            text, level = "\n".join(rows).strip(), 0
        else:
            style = re.fullmatch(r"Heading ([1-6])|(Title)", block.style.name if block.style is not None else "")
            text, level = block.text.strip(), int(style[1] or 1) if style else 0
            text = " ".join(text.split()) if level else text
        if text:
            yield level, text


class Reader(NamedTuple):
    """How files of one type are read: by a function of the text, or of the bytes; and what it needs.

    Attributes
    ----------
    read : function
        Returns a ParsedDocument, or a plain text.
    binary : bool
        Whether it takes bytes.
    package, extra : str
        A package that it imports, and the extra that installs it.
    """

    read: Callable[[Any], ParsedDocument | str]
    binary: bool = False
    package: str = ""
    extra: str = ""

    def is_installed(self) -> bool:
        """Return whether the package that it needs is there."""
        return not self.package or find_spec(self.package) is not None


CODE_TYPES = (
    ".py .js .mjs .ts .jsx .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .lua .pl .sh .sql "
    ".jl .r"
)
READERS: dict[str, Reader] = {
    ".md": Reader(read_markdown),
    ".markdown": Reader(read_markdown),
    ".txt": Reader(read_text),
    ".rst": Reader(read_rst),
    ".html": Reader(read_html),
    ".htm": Reader(read_html),
    ".xhtml": Reader(read_html),
    ".ipynb": Reader(read_notebook),
    ".pdf": Reader(read_pdf, True, "pypdf", "pdf"),
    ".docx": Reader(read_docx, True, "docx", "docx"),
    **dict.fromkeys(CODE_TYPES.split(), Reader(read_code)),
}
_SUFFIX = re.compile(r"\.[^\s./\\]{1,20}")


def register_reader(suffix: str, read: Callable[[Any], ParsedDocument | str], *, binary: bool = False) -> None:
    """Read files whose names end so by a function, in place of the built-in reader if there is one.

    Parameters
    ----------
    suffix : str
        Such as ".log"; case does not matter.
    read : function
        Takes the text of a file and returns its document text, or a `ParsedDocument` with headings. What it raises
        as `vizsla.errors.DataError` or `ValueError` makes the file unreadable, which is counted and reported.
    binary : bool
        Let it take the bytes of the file.

    Examples
    --------
    >>> register_reader(".log", lambda text: text.replace("|", " "))
    >>> del READERS[".log"]
    """
    if not isinstance(suffix, str) or not _SUFFIX.fullmatch(suffix):
        raise InputError(f"`suffix` must be a dot and the end of a name, such as '.log'. Got {suffix!r:.40}.")
    if not callable(read):
        raise InputError(f"`read` must be a function of a text. Got {type(read).__name__}.")
    READERS[suffix.lower()] = Reader(read, binary)
