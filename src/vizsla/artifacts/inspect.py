"""Describe an artifact from its manifests, and audit every file of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import escape_control
from vizsla.artifacts import strict_json
from vizsla.artifacts.artifact import load
from vizsla.artifacts.folder import Folder, read_folder
from vizsla.artifacts.manifest import MANIFEST, MAX_BYTES, MAX_NESTING, PROVENANCE, ParentRecord
from vizsla.artifacts.reader import ArtifactReader, Loading, Place
from vizsla.errors import FormatError

SELECTION_KEYS = {"measure", "cold", "warm", "trials", "best"}
QUALITIES = ("all", "warm", "cold")
MAX_TRIALS_SHOWN = 6
MAX_CELL_CHARS = 24


def is_choice(value: object) -> bool:
    """Whether a parameter says how settings were chosen.

    Examples
    --------
    >>> is_choice({"measure": "MRR@10", "cold": 1, "warm": 1, "trials": [{"k": 1, "all": 0.5}], "best": 0})
    True
    """
    if (
        not isinstance(value, dict)
        or set(value) - {"repeated"} != SELECTION_KEYS
        or not isinstance(value["trials"], list)
    ):
        return False
    trials, best = value["trials"], value["best"]
    if not all(isinstance(value[name], int) for name in ("cold", "warm")):
        return False
    plain = all(isinstance(trial, dict) and isinstance(trial.get("all"), int | float) for trial in trials)
    return plain and isinstance(best, int) and 0 <= best < len(trials)


def choice_lines(choice: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line that says how it was chosen, and a table: what was chosen, marked, and the best of the others.

    Examples
    --------
    >>> trials = [{"weight": 1.0, "all": 0.31}, {"weight": 0.5, "all": 0.4}]
    >>> print("\\n".join(choice_lines({"measure": "MRR@10", "cold": 4, "warm": 9, "trials": trials, "best": 1})))
    chosen of 2 by MRR@10 on 9 warm and 4 cold held-out queries
       weight     all
    *     0.5  0.4000
            1  0.3100
    """
    trials, best = choice["trials"], choice["best"]
    asked = f"{choice['warm']:,} warm and {choice['cold']:,} cold held-out queries"
    yield f"chosen of {len(trials):,} by {choice['measure']} on {asked}"
    order = sorted(range(len(trials)), key=lambda number: (number != best, -trials[number]["all"], number))[
        :MAX_TRIALS_SHOWN
    ]
    names = list(dict.fromkeys(name for number in order for name in trials[number]))
    names = [name for name in names if name not in QUALITIES] + [name for name in QUALITIES if name in names]
    cells = [["*" if n == best else "", *(_choice_cell(name, trials[n].get(name)) for name in names)] for n in order]
    table = [["", *names], *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(trials) > MAX_TRIALS_SHOWN:
        yield f"… and {len(trials) - MAX_TRIALS_SHOWN:,} more; JSON has all of them"


def _choice_cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}" if name in QUALITIES else f"{value:g}"
    text = str(value)
    return text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"


MAX_LINE_CHARS = 100
"""A value that does not fit into this number of characters is split over lines."""
MAX_TABLE_ROWS = 60


def parameter_lines(parameters: Mapping[str, Any]) -> list[str]:
    """Return the lines that show parameters, none wider than `MAX_LINE_CHARS`; rows of a table are numbered from 0.

    Examples
    --------
    >>> print("\\n".join(parameter_lines({"k1": 0.9, "trials": [{"name": "a" * 40, "R@10": 0.51239}] * 3})))
    k1 = 0.9
    trials:
         name                     R@10
      0  "aaaaaaaaaaaaaaaaaaaaaa…  0.5124
      1  "aaaaaaaaaaaaaaaaaaaaaa…  0.5124
      2  "aaaaaaaaaaaaaaaaaaaaaa…  0.5124
    """
    return [line for name, value in parameters.items() for line in _lines(name, value)]


def _lines(name: str, value: Any) -> Iterator[str]:
    if is_choice(value):
        first, *rows = choice_lines(value)
        yield f"{name}: {first}"
        yield from (f"  {_shortened(row, MAX_LINE_CHARS - 2)}" for row in rows)
        return
    line = f"{name} = {strict_json.one_line(value)}"
    if len(line) <= MAX_LINE_CHARS:
        yield line
    elif isinstance(value, dict):
        yield f"{name}:"
        yield from (f"  {_shortened(inner, MAX_LINE_CHARS - 2)}" for inner in parameter_lines(value))
    elif isinstance(value, list) and all(isinstance(row, dict) for row in value):
        yield f"{name}:"
        yield from (f"  {_shortened(row, MAX_LINE_CHARS - 2)}" for row in _table(value))
    else:
        counted = f" ({len(value):,} {'entries' if isinstance(value, list) else 'characters'})"
        yield _shortened(line, MAX_LINE_CHARS - len(counted)) + counted


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = list(enumerate(rows[:MAX_TABLE_ROWS]))
    cells = [[str(number), *(_cell(row[name]) if name in row else "" for name in names)] for number, row in shown]
    header = ["", *(_shortened(name, MAX_CELL_CHARS) for name in names)]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in [header, *cells]:
        line = "  ".join(_aligned(cell, width) for cell, width in zip(row, widths, strict=True))
        yield line.rstrip()
    if len(rows) > MAX_TABLE_ROWS:
        yield f"… and {len(rows) - MAX_TABLE_ROWS:,} more; JSON has all of them"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _shortened(strict_json.one_line(value), MAX_CELL_CHARS)


def _aligned(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1] in "-0123456789" else cell.ljust(width)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


@dataclass(frozen=True)
class Pedigree:
    """An artifact's description and those of the artifacts inside it; printing it gives a tree.

    Parameters
    ----------
    path : Path
        The folder.
    kind, format, vizsla
        What it is, its format version, and the version of Vizsla that wrote it.
    parameters : dict
        Its build parameters.
    files : dict
        Each file's bytes; the manifest counts too.
    parents : dict
        The pedigrees of the artifacts that it was made from and holds.
    at : str, optional
        For an artifact that lies elsewhere in the whole, where another part holds it too: the way there from the
        outermost folder. Its parameters, its files and what is inside are told there, once.
    provenance : dict
        When, by which version and commit and on which machine it was saved; empty where that is not known.
    """

    path: Path
    kind: str
    format: int
    vizsla: str
    parameters: dict[str, Any]
    files: dict[str, int]
    parents: dict[str, Pedigree]
    at: str | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes of all files, those of nested artifacts included; what parts share counts once."""
        return sum(self.files.values()) + sum(parent.bytes for parent in self.parents.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the pedigree as a dict that JSON can hold."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "format": self.format,
            "vizsla": self.vizsla,
            "bytes": self.bytes,
            "parameters": self.parameters,
            "files": self.files,
            "parents": {name: parent.to_dict() for name, parent in self.parents.items()},
            **({} if self.at is None else {"at": self.at}),
            **({"provenance": self.provenance} if self.provenance else {}),
        }

    def kinds(self) -> Iterator[str]:
        """Yield the kinds of the artifact and of all inside."""
        yield self.kind
        for parent in self.parents.values():
            yield from parent.kinds()

    def __str__(self) -> str:
        return "\n".join(self._lines(str(self.path)))

    def _lines(self, name: str) -> list[str]:
        if self.at is not None:
            return [f"{name}: {self.kind}, the one at {self.at}"]
        lines = [f"{name}: {self.kind}, {self.bytes:,} bytes, format {self.format}, vizsla {self.vizsla}"]
        if self.provenance:
            lines.append(f"  {_made(self.provenance)}")
        lines += [f"  {line}" for line in parameter_lines(self.parameters)]
        width = max(map(len, self.files))
        lines += [f"  {file:<{width}}  {size:>15,}" for file, size in self.files.items()]
        for child, parent in self.parents.items():
            lines += [f"  {line}" for line in parent._lines(child)]
        return lines


def inspect(path: str | Path) -> Pedigree:
    """Return an artifact's pedigree, sizes and parameters without opening anything but manifests.

    Raises
    ------
    FormatError
        If a manifest is missing or damaged. Other files may be: `check` looks at those.
    """
    return read_folder(path, lambda folder: _pedigree(folder, Loading(folder, False, False), (), None))


def _pedigree(folder: Folder, loading: Loading, place: Place, expected: ParentRecord | None) -> Pedigree:
    if len(place) > MAX_NESTING:
        raise FormatError(f"{folder.path}: nested more than {MAX_NESTING} deep.")
    manifest = loading.manifest(place, expected, folder)
    files = {name: record.bytes for name, record in manifest.files.items()}
    inside = {
        name: _pedigree(folder.inner(name), loading, (*place, name), record)
        if record.at is None
        else _told_elsewhere(loading, record)
        for name, record in manifest.parents.items()
    }
    return Pedigree(
        path=folder.path,
        kind=manifest.kind,
        format=manifest.format,
        vizsla=manifest.vizsla,
        parameters=manifest.parameters,
        files={**files, MANIFEST: folder.size(MANIFEST)},
        parents=inside,
        provenance={} if place else _provenance(folder),
    )


def _made(known: Mapping[str, Any]) -> str:
    """Return one line of what is known; the file may hold anything."""
    commit = f", commit {known['commit']}" if known.get("commit") else ""
    machine = known.get("machine")
    place = f" on {machine.get('processor')}" if isinstance(machine, dict) else ""
    line = f"made {known.get('date')} by vizsla {known.get('vizsla')}{commit}{place}"
    return _shortened(escape_control(line), 2 * MAX_CELL_CHARS + 60)


def _provenance(folder: Folder) -> dict[str, Any]:
    """Return what stands beside the manifest; nothing where that is missing, damaged or no JSON object."""
    try:
        if not folder.has(PROVENANCE) or folder.size(PROVENANCE) > MAX_BYTES:
            return {}
        found = strict_json.parse(folder.read(PROVENANCE, mmap=False).tobytes())
    except (FormatError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _told_elsewhere(loading: Loading, record: ParentRecord) -> Pedigree:
    manifest = loading.shared(record)
    path = loading.root.path.joinpath(*(record.place or ()))
    return Pedigree(path, manifest.kind, manifest.format, manifest.vizsla, {}, {}, {}, record.at)


_SLOTS = ".slots.npy"


def check(path: str | Path) -> list[str]:
    """Audit an artifact and return what is wrong with it, a sentence per problem; an empty list when it is sound.

    Every file of it and of the artifacts inside it is read and compared with its checksum, arrays and string tables
    are looked into, files that no manifest lists are named, and the whole is loaded once.

    Parameters
    ----------
    path : path
        The artifact's folder.
    """
    try:
        reader = read_folder(path, ArtifactReader)
        problems = list(_audit(reader, outermost=True))
        if problems and reader.folder.replaced():
            return check(path)  # A new save took its place: what was seen is the old one being removed.
        if not problems:
            load(path)  # the kinds look for what checksums do not tell, such as NaN
    except FormatError as error:
        return [str(error)]
    return problems


def _audit(reader: ArtifactReader, *, outermost: bool = False) -> Iterator[str]:
    inside = {name for name, record in reader.manifest.parents.items() if record.at is None}
    listed = {MANIFEST, *reader.manifest.files, *inside}
    if outermost:
        listed.add(PROVENANCE)
    for name in reader.folder.names():
        if name not in listed:
            yield f"{reader.path / name}: not a file of the artifact; move it away."
    damaged: set[str] = set()
    for name in reader.manifest.files:
        found = list(_problem(reader.verify_file, name))
        damaged |= {name} if found else set()
        yield from found
    tables = [name.removesuffix(_SLOTS) for name in reader.manifest.files if name.endswith(_SLOTS)]
    for name in tables:
        if any(f"{name}.{part}.npy" in damaged for part in ("bytes", "offsets", "slots")):
            continue  # said already
        yield from _problem(lambda table: reader.strings(table, findable=False).check_slots(), name)
    for name in reader.manifest.parents:
        yield from _audit_child(reader, name)


def _audit_child(reader: ArtifactReader, name: str) -> Iterator[str]:
    try:
        child = None if reader.is_shared(name) else reader.open_child(name)
    except FormatError as error:
        yield str(error)
    else:
        if child is not None:  # otherwise it is audited where it lies
            yield from _audit(child)


def _problem(action: Callable[[str], None], name: str) -> Iterator[str]:
    try:
        action(name)
    except FormatError as error:
        yield str(error)
