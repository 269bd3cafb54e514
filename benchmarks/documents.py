"""A folder of 7,800 documents of Debian's documentation packages: reading, passages, BM25, duplicates, HTML parsers.

    python -m benchmarks.documents

The packages are fetched by `apt-get download` and unpacked by `dpkg-deb`, without installing them; of rust-doc, the
first 1,800 pages are taken. Times are CPU times of all threads, the least of three runs in processes of their own.
selectolax joins the comparison of HTML parsers where it is installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from time import process_time

from benchmarks.rows import Row, arguments, report
from vizsla.io.document_readers import read_html

PACKAGES = {"git-doc": None, "postgresql-doc-15": None, "python-scipy-doc": None, "rust-doc": 1800}
TYPES = {".html", ".md", ".rst", ".txt"}
RUN = """
import json, resource, sys, warnings
from time import process_time
warnings.simplefilter("ignore")
import scipy.sparse, vizsla
start = process_time()
dataset = vizsla.open_dataset(sys.argv[1], **json.loads(sys.argv[2]))
read = process_time() - start
vizsla.bm25(dataset)
total = process_time() - start
small = sum(len(item.text.split()) < 10 for item in dataset.items) / len(dataset.items)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([read, total, small, len(dataset.items), peak, list(dataset.warnings)]))
"""


def main() -> None:
    """Measure and report."""
    warnings.simplefilter("ignore")
    given = arguments("documents", own=_own)
    folder = corpus(given.folder)
    if given.quick:
        folder /= "git-doc"
    files = sorted(path for path in folder.rglob("*") if path.suffix in TYPES)
    size = sum(path.stat().st_size for path in files) / 1e6
    runs = [measured(folder) for _ in range(1 if given.quick else 3)]
    read, total, small, count, peak, _ = min(runs, key=lambda run: run[1])
    near, apart = measured(folder, dedupe="near"), measured(folder, passage_min=0)[2]
    print(f"{len(files):,} files, {size:.0f} MB, {count:,} passages\n{near[5]}")
    rows = [
        Row("read the folder and index it by BM25", total, "limit", 8.0, "CPU s", ">= 1"),
        Row("read the folder", read, "", None, "CPU s"),
        Row("the same with near duplicates", near[0], "", None, "CPU s"),
        Row("passages of fewer than 10 words", 100 * small, "passage_min=0", 100 * apart, "%", ">= 4"),
        Row("memory, with the libraries", peak, "", None, "MB"),
        *parsers([path.read_text(encoding="utf-8") for path in islice(files, 2000) if path.suffix == ".html"]),
    ]
    report(rows, given.json)


def _own(parser: argparse.ArgumentParser) -> None:
    place = Path(gettempdir()) / "vizsla-documents"
    parser.add_argument("--folder", type=Path, default=place, help="where the documents are, or are unpacked to")


def corpus(folder: Path) -> Path:
    """Return the folder of documents; fetch what is missing."""
    for package, most in PACKAGES.items():
        if (folder / package).is_dir():
            continue
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise SystemExit(f"{package} is fetched by apt-get and dpkg-deb, which are missing: unpack it to {folder}.")
        fetched = folder / f".{package}"
        fetched.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-qq", "download", package], cwd=fetched, check=True)
        subprocess.run(["dpkg-deb", "-x", str(next(fetched.glob("*.deb"))), str(fetched / "all")], check=True)
        found = sorted(path for path in (fetched / "all").rglob("*") if path.suffix in TYPES and not path.is_symlink())
        for path in found[:most]:
            place = folder / package / path.relative_to(fetched / "all")
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
        shutil.rmtree(fetched)
    return folder


def measured(folder: Path, **options: object) -> list:
    """Read and index the folder in a process of its own."""
    command = [sys.executable, "-c", RUN, str(folder), json.dumps(options)]
    return json.loads(subprocess.check_output(command, text=True))


def parsers(pages: list[str]) -> list[Row]:
    """Compare HTML parsers by megabytes per CPU second; the others only parse, and ours extracts the text."""
    size = sum(map(len, pages)) / 1e6

    def speed(parse) -> float:
        start = process_time()
        for page in pages:
            parse(page)
        return size / (process_time() - start)

    def python(page: str) -> None:
        HTMLParser().feed(page)

    work, rows = "HTML to text and headings", []
    ours = speed(read_html)
    rows.append(
        Row(work, ours, "html.parser, parse only", speed(python), "MB per CPU s", ">= 10", lower_is_better=False)
    )
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        rows.append(Row(work, ours, "selectolax (lexbor)", None, "MB per CPU s", note="not installed"))
        return rows
    rows.append(
        Row(work, ours, "selectolax, parse only", speed(LexborHTMLParser), "MB per CPU s", lower_is_better=False)
    )
    deep = "<div>" * 40_000
    times = []
    for parse in (read_html, LexborHTMLParser):
        start = process_time()
        parse(deep)
        times.append(process_time() - start)
    rows.append(Row("a page of 40,000 nested elements", times[0] * 1e3, "selectolax", times[1] * 1e3, "CPU ms"))
    return rows


if __name__ == "__main__":
    main()
