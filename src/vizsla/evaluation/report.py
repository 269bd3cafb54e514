"""Write tables of results as text, Markdown, CSV and JSON."""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from vizsla._internal.terminal import print_table
from vizsla.evaluation.cost import Cost


def write_text(text: str, path: str | Path | None) -> str:
    """Write `text` to `path`, unless that is None, and return it."""
    if path is not None:
        write_bytes(text.encode(), path)
    return text


def write_bytes(data: bytes, path: str | Path) -> Path:
    """Write under a temporary name in the same folder, then rename: readers see the old file or the new one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


COST_HEADER = ("ms p50", "ms p99", "bytes/item", "scored", "model calls")


def cost_cells(cost: Cost) -> list[str]:
    """Return the cells under `COST_HEADER`.

    Examples
    --------
    >>> cost_cells(Cost(ms_p50=0.1834, ms_p99=12.5, bytes=123456, scored=9.5, model_calls=0.0, queries=9, items=100))
    ['0.183', '12.5', '1,235', '9.5', '0']
    """
    costs = (cost.ms_p50, cost.ms_p99, cost.bytes_per_item, cost.scored, cost.model_calls)
    return [three_digits(value) for value in costs]


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
_LATEX |= {each: f"\\{each}" for each in "&%$#_{}"}
_RAISED = dict(zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", "abcdefghijklmnoprstuvwxyz", strict=True))


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX typesets it; raised letters become superscripts.

    Examples
    --------
    >>> print(latex_text("0.7*bm25_a & 0.5123ᵃᵇ"))
    0.7*bm25\_a \& 0.5123\textsuperscript{ab}
    """
    escaped = "".join(_LATEX.get(each, each) for each in text)

    def lowered(run: re.Match[str]) -> str:
        return rf"\textsuperscript{{{''.join(_RAISED[each] for each in run[0])}}}"

    return re.sub(f"[{''.join(_RAISED)}]+", lowered, escaped)


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """Return a LaTeX table in the style of booktabs; columns that are empty everywhere are left out."""
    kept = [at for at in range(len(header)) if any(row[at] not in ("", "–") for row in rows)]
    lines = [[latex_text(row[at]) for at in kept] for row in [header, *rows]]
    named = [at for at in kept if at <= list(header).index("system")]
    columns = "l" * len(named) + "r" * (len(kept) - len(named))
    first, *others = (" & ".join(line) + r" \\" for line in lines)
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule", *others, r"\bottomrule"]
    return "\n".join([*body, r"\end{tabular}", *([f"% {note}"] if note else [])]) + "\n"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """Return an HTML table for notebooks; everything in it is escaped."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    note_html = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note_html}"


def print_report(header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> None:
    """Print quality and cost side by side, or one below the other where the terminal would cut names or figures off.

    Then a cost that is unknown for all is left out.
    """
    widths = [max(map(len, column)) + 3 for column in zip(header, *rows, strict=True)]
    named, room = header.index("system") + 1, get_terminal_size().columns - 1
    if sum(widths) <= room:
        print_table(header, rows, title=title)
        return
    names, quality, left = list(range(named)), len(header) - len(COST_HEADER), room - sum(widths[:named])
    costs = [column for column in range(quality, len(header)) if {row[column] for row in rows} - {"0", "–"}]
    parts = _fitting(widths, range(named, quality), left) + _fitting(widths, costs, left)
    for number, part in enumerate(parts):
        shown = [*names, *part]
        cells = [[row[column] for column in shown] for row in rows]
        print_table([header[c] for c in shown], cells, title=None if number else title, whole=named)


def _fitting(widths: Sequence[int], columns: Sequence[int], room: int) -> list[list[int]]:
    """Return the columns in groups that fit, each of one at least."""
    groups: list[list[int]] = []
    left = 0
    for column in columns:
        if not groups or widths[column] > left:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= widths[column]
    return groups


def measure_cell(value: float) -> str:
    """Return a measure's mean with four decimals.

    Examples
    --------
    >>> measure_cell(0.51236)
    '0.5124'
    """
    return "–" if math.isnan(value) else f"{value:.4f}"


def three_digits(value: float | None) -> str:
    """Return a cost with three significant digits, whole numbers as they are, a dash for None.

    Examples
    --------
    >>> [three_digits(value) for value in (None, 0, 0.01234, 4.5, 25.0, 98765.4)]
    ['–', '0', '0.0123', '4.5', '25', '98,765']
    """
    if value is None:
        return "–"
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def json_text(value: Any) -> str:
    """Return indented JSON; a number that JSON cannot hold becomes null."""
    return json.dumps(_without_nan(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def trec_tag(name: str) -> str:
    """Return a system's name without the white space that would break a run file's columns.

    Examples
    --------
    >>> trec_tag("bm25 | xr linear")
    'bm25_|_xr_linear'
    """
    return re.sub(r"\s+", "_", name.strip()) or "vizsla"


def file_stem(name: str) -> str:
    """Return a system's name as a file name that stays inside its folder.

    Examples
    --------
    >>> file_stem("../0.7*bm25 + pefa")
    '0.7_bm25_+_pefa'
    """
    return re.sub(r"[^\w.+-]+", "_", name).strip("._") or "system"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
