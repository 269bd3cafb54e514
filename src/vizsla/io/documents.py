"""Folders of documents, read once and divided into passages."""

from __future__ import annotations

import os
import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from vizsla.core.catalog import Item
from vizsla.core.validation import WarningLog, as_path, validate_args
from vizsla.data.parents import TRAIL
from vizsla.errors import DataError, InputError
from vizsla.io.bad_lines import STRICT_READING, BadLines, Reading
from vizsla.io.document_readers import CODE_TYPES, READERS
from vizsla.io.files import RECORD_SIZE_VARIABLE, Line, max_document_bytes
from vizsla.io.passages import DEFAULT_SIZES, ParsedDocument, PassageSizes, passages


def types() -> str:
    """Name the types of documents that are read."""
    code = set(CODE_TYPES.split())
    return ", ".join([*(suffix for suffix in READERS if suffix not in code), "source code"])


@validate_args
def read_document(path: str | Path, *, encoding: str = "utf-8") -> ParsedDocument:
    """Read one document: its whole text, the parent of its passages, and its headings.

    The `start` and `end` of a passage's metadata are positions in this text.

    Parameters
    ----------
    path : path
        A file of a type that is read.
    encoding : str
        Of a text file.

    Returns
    -------
    ParsedDocument
        With `text` and `headings`.
    """
    return parsed(as_path(path), file_content(as_path(path)), Reading(encoding))


def file_content(path: Path) -> bytes:
    """Return the bytes of a document; one that is too long or cannot be read raises."""
    try:
        with path.open("rb") as file:
            content = file.read(max_document_bytes() + 1)
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})."
        raise DataError(problem, path=path, remedy="Check its permissions.") from None
    if len(content) > max_document_bytes():
        problem = f"the document has more than {max_document_bytes() >> 20} MB."
        raise DataError(problem, path=path, remedy=f"Split it, or allow more with {RECORD_SIZE_VARIABLE}.")
    return content


def parsed(path: Path, content: bytes, how: Reading) -> ParsedDocument:
    """Return the document of a file with this content; one that cannot be read raises a DataError with its path."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"`path` must be a document of a type that is read ({types()}). Got {path}.")
    given = content if reader.binary else _decoded(path, content, how)
    try:
        found = reader.read(given)
    except ValueError as error:  # a DataError too, which does not know the path
        problem = (
            error.problem if isinstance(error, DataError) else f"the reader of {path.suffix} failed: {error!s:.100}"
        )
        remedy = error.remedy if isinstance(error, DataError) else ""
        raise DataError(problem, path=path, remedy=remedy) from None
    document = ParsedDocument(found) if isinstance(found, str) else found
    if "\0" in document.text:
        raise DataError("the text has a NUL character.", path=path, remedy="Leave it out in the reader.")
    return document


def _decoded(path: Path, content: bytes, how: Reading) -> str:
    encoding = "utf-8-sig" if how.encoding == "utf-8" else how.encoding
    try:
        text = content.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = bytes(getattr(error, "object", b""))[:start].count(b"\n") + 1
        problem = f"the line is not {how.encoding} ({getattr(error, 'reason', error)})."
        raise DataError(problem, path=path, line=line, remedy="Name its encoding.") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        problem = "the line has a NUL byte: the file is binary, or text in another encoding."
        raise DataError(problem, path=path, line=line, remedy="Name its encoding, such as utf-16-le.")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


MAX_TYPES_NAMED = 6
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
        elif (reader := READERS.get(path.suffix.lower())) is None:
            found.leave_out(name, suffix=path.suffix)
        elif not reader.is_installed():
            found.leave_out(name, f"that need pip install 'vizsla[{reader.extra}]'")
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
    said = [f"{suffix} {count}" for suffix, count in types.most_common(MAX_TYPES_NAMED)]
    rest = types.total() - sum(count for _, count in types.most_common(MAX_TYPES_NAMED))
    return ", ".join([*said, f"others {rest}"] if rest else said)


_NO_SLUG = re.compile(r"[^\w\- ]+")
NUMBERS = ("start_line", "end_line", "start", "end")
"""Metadata of a passage: where it stands in the text of its document."""


class KeptItems:
    """Passages in a temporary file without a name: what was read once is not read again, and takes no memory.

    Examples
    --------
    >>> kept = KeptItems()
    >>> kept.add(Item("a.md", "Sweet.", "Fig", {"path": "a.md", "heading": "Fig", **dict.fromkeys(NUMBERS, 1)}))
    >>> kept[0].text, kept[0].metadata["start_line"], len(list(kept))
    ('Sweet.', 1, 1)
    """

    BYTES_PER_READ = 1 << 20

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this object
        self._offsets = array("q", [0])

    def add(self, item: Item) -> None:
        """Append a passage."""
        values = item.metadata
        fields = [item.id, item.text, item.title, values["path"], values["heading"]]
        data = "\0".join([*fields, *(str(values[name]) for name in NUMBERS)]).encode()
        self._file.write(data)
        self._offsets.append(self._offsets[-1] + len(data))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> Item:
        return next(self._between(number, number + 1))

    def __iter__(self) -> Iterator[Item]:
        first = 0
        while first < len(self):
            last = first + 1
            while last < len(self) and self._offsets[last + 1] - self._offsets[first] <= self.BYTES_PER_READ:
                last += 1
            yield from self._between(first, last)
            first = last

    def _between(self, first: int, last: int) -> Iterator[Item]:
        self._file.flush()
        begin, end = self._offsets[first], self._offsets[last]
        data = os.pread(self._file.fileno(), end - begin, begin)
        for number in range(first, last):
            record = data[self._offsets[number] - begin : self._offsets[number + 1] - begin].decode()
            id, text, title, path, heading, *numbers = record.split("\0")
            spans = dict(zip(NUMBERS, map(int, numbers), strict=True))
            yield Item(id, text, title, {"path": path, "heading": heading, **spans})


class FolderSource:
    """The passages of documents: the types of `vizsla.io.document_readers.READERS`.

    A document that cannot be read is left out and counted, unless `how` says otherwise. The first complete reading
    keeps the passages: later ones return the same, whatever has become of the files.

    An id is the document's path, with `#heading` for what stands under a heading, as a web page would be linked to,
    and with `:2`, `:3` … for the further passages of a section. It depends on nothing outside of its document.

    Parameters
    ----------
    path : Path
        A folder, or one document.
    how : Reading
        The encoding, and what becomes of documents that cannot be read.
    sizes : PassageSizes
        Size of passages.
    """

    def __init__(self, path: Path, *, how: Reading = STRICT_READING, sizes: PassageSizes = DEFAULT_SIZES):
        self.name, self._root, self._how = str(path), path if path.is_dir() else path.parent, how
        self.found = documents(path) if path.is_dir() else Documents([path])
        self._sizes = sizes
        self._refusals, self._silent = BadLines(how, str(path), what="documents"), 0
        self._unread: set[Path] = set()
        self._kept: KeptItems | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.found.summary(self._unread)}"

    def __iter__(self) -> Iterator[Item]:
        return self._walk() if self._kept is None else iter(self._kept)

    def place(self, number: int) -> Line:
        """Return the document and the line of a passage."""
        item = self.pick(number)
        if item is None:
            item = next(item for at, item in enumerate(self) if at == number)
        return Line(self._root / item.metadata["path"], item.metadata["start_line"])

    def pick(self, number: int) -> Item | None:
        """Return one passage, once all were read."""
        return None if self._kept is None else self._kept[number]

    def report(self, tally: WarningLog) -> None:
        """Count files that are not read, documents that cannot be, and those without a word."""
        if count := self.found.left_out():
            tally.add(count, f"files left out of {self.name}: {self.found.reasons()}")
        self._refusals.report(tally)
        tally.add(self._silent, f"documents without a word left out of {self.name}")

    def content(self, path: Path) -> bytes:
        """Return the bytes of a document; one that is too long or cannot be read raises."""
        return file_content(path)

    def items_in(self, path: Path, content: bytes) -> Iterator[Item]:
        """Yield the passages of a document with this content."""
        own, seen = path.relative_to(self._root).as_posix(), dict[str, int]()
        section, base = None, own
        for passage in passages(parsed(path, content, self._how), self._sizes):
            if passage.section is not section:
                section = passage.section
                slug = _NO_SLUG.sub("", section.heading.lower()).strip().replace(" ", "-")
                anchor, count = slug, seen.get(slug, 0) + 1
                while count > 1 and (anchor := f"{slug}-{count}") in seen:
                    count += 1
                seen[slug] = count
                seen.setdefault(anchor, 1)
                base = own if not section.heading and count == 1 else f"{own}#{anchor}"
            id = base if passage.place == 1 else f"{base}:{passage.place}"
            meta = {"path": own, "heading": passage.section.heading, "start_line": passage.start_line}
            meta |= {"end_line": passage.end_line, "start": passage.start, "end": passage.end}
            yield Item(id, passage.text, TRAIL.join(passage.section.trail), meta)

    def _walk(self) -> Iterator[Item]:
        self._refusals.begin()
        silent, kept = 0, KeptItems()
        for path in self.found.paths:
            before = len(kept)
            try:
                for item in self.items_in(path, self.content(path)):
                    kept.add(item)
                    yield item
            except DataError as error:
                self._refusals.add(error, str(path))
                self._unread.add(path)
                continue
            silent += before == len(kept)
        self._silent = silent
        if not len(kept):
            tally = WarningLog()
            self.report(tally)
            problem = f"there are no items: {'; '.join(tally.messages)}"
            raise DataError(problem, path=self.name, remedy=f"Give documents that hold text ({types()}).")
        self._kept = kept
