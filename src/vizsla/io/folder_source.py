"""A folder of documents, or one document, as passages that can be found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.documents import TYPES, Documents, documents
from vizsla.io.limits import VARIABLE, max_document_bytes
from vizsla.io.line_file import Line
from vizsla.io.passages import WORDS, Passage, check_sizes, passages
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.io.sections import document_sections
from vizsla.item import Item

_NO_SLUG = re.compile(r"[^\w\- ]+")


class FolderSource:
    """The passages of documents: the types of `vizsla.io.sections.SPLITTERS`.

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

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the passage: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Item | None:
        """A folder is read from the start."""
        return None

    def report(self, tally: Tally) -> None:
        """Count files that are not read, documents that cannot be, and those without a word."""
        if count := self.found.left_out():
            tally.add(count, f"files left out of {self.name}: {self.found.reasons()}")
        self._refusals.report(tally)
        tally.add(self._silent, f"documents without a word left out of {self.name}")

    def _walk(self) -> Iterator[tuple[Line, Item]]:
        self._refusals.begin()
        silent, count = 0, 0
        for path in self.found.paths:
            try:
                text = self._text(path)
            except DataError as error:
                self._refusals.add(error, str(path))
                continue
            empty = True
            for line, item in self._items(path, text):
                empty = False
                count += 1
                yield Line(path, line), item
            silent += empty
        self._silent = silent
        if not count:
            tally = Tally()
            self.report(tally)
            problem = f"there are no items: {'; '.join(tally.messages)}"
            raise DataError(problem, path=self.name, remedy=f"Give documents that hold text ({TYPES}).")

    def _text(self, path: Path) -> str:
        encoding = "utf-8-sig" if self._how.encoding == "utf-8" else self._how.encoding
        try:
            if path.stat().st_size > max_document_bytes():
                problem = f"the document has more than {max_document_bytes() >> 20} MB."
                raise DataError(problem, path=path, remedy=f"Split it, or allow more with {VARIABLE}.")
            text = path.read_bytes().decode(encoding)
        except OSError as error:
            problem = f"the file cannot be read ({error.strerror})."
            raise DataError(problem, path=path, remedy="Check its permissions.") from None
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
