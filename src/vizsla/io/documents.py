"""Which files of a folder are documents, and which are left out, and why."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from vizsla.io.sections import SPLITTERS

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

    def summary(self) -> str:
        """Say how many documents of which types there are."""
        return f"{len(self.paths)} documents ({_listed(Counter(path.suffix.lower() for path in self.paths))})"


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
