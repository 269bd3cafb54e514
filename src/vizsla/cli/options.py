"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla._internal.terminal import escape_control
from vizsla.artifacts.artifact import load
from vizsla.base.retriever import Retriever
from vizsla.core.validation import DatasetWarning, WarningLog, as_path
from vizsla.data.conditions import where
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.errors import DataError, InputError
from vizsla.io.bad_lines import Reading
from vizsla.io.fields import QUERY_FIELDS, sniff
from vizsla.io.files import LineFile
from vizsla.io.readers import read_queries

if TYPE_CHECKING:
    from vizsla.learning.recency import Build

OPTIONS = (
    "id", "text", "title", "meta", "keep_texts", "format", "separator", "encoding", "on_error", "rejected",
    "passage_words", "overlap_words",
)  # fmt: skip


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how data are read."""
    group = parser.add_argument_group("how data are read")
    group.add_argument("--id", metavar="FIELD", help="the field or column of an item's id (default: by its name)")
    group.add_argument("--text", metavar="FIELDS", help="its texts, such as title,description, which are joined")
    group.add_argument("--title", metavar="FIELD", help="its title")
    group.add_argument(
        "--meta", metavar="FIELDS", help="what else is kept, such as price:number,brand (default: all; '' none)"
    )
    group.add_argument(
        "--keep-texts", action="store_true", default=None, help="save texts too, so that answers show them"
    )
    group.add_argument(
        "--format", choices=("csv", "tsv", "jsonl", "parquet"), help="of a file whose name does not tell"
    )
    group.add_argument("--separator", metavar="CHAR", help="between columns (default: by the header)")
    group.add_argument("--encoding", metavar="NAME", help="utf-8 (default), utf-16, latin-1, …")
    group.add_argument("--on-error", choices=("raise", "warn", "skip"), help="for lines that cannot be read")
    group.add_argument("--rejected", metavar="FILE", help="write the lines that were left out to this file")
    group.add_argument("--click-columns", metavar="NAMES", help="of a click log: query=search,item=sku,time=date")
    group.add_argument("--passage-words", type=int, metavar="N", help="most words of a document's passage (200)")
    group.add_argument("--overlap-words", type=int, metavar="N", help="words that passages share (0)")


def open_items(source: str | Path, arguments: argparse.Namespace, **more: Any) -> Dataset:
    """Open a dataset as the arguments say; say which columns were taken for what where nobody named them."""
    options = {name: value for name in OPTIONS if (value := getattr(arguments, name, None)) is not None}
    if getattr(arguments, "click_columns", None):
        options["click_columns"] = _named_columns(arguments.click_columns)
    dataset = Dataset.open(source, **{**options, **more})
    if dataset.mapping and not {"id", "text"} <= options.keys():
        print(escape_control(f"vizsla: {dataset.mapping}"), file=sys.stderr)
    return dataset


def click_reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how a click log by itself is read."""
    names = ("encoding", "on_error", "rejected")
    options: dict[str, Any] = {n: getattr(arguments, n) for n in names if getattr(arguments, n, None) is not None}
    if getattr(arguments, "click_columns", None):
        options["click_columns"] = _named_columns(arguments.click_columns)
    return options


@contextmanager
def run_reading(arguments: argparse.Namespace) -> Iterator[Reading]:
    """Say how runs are read, after the data: what is rejected of them follows what was rejected there."""
    options = {name: value for name in ("encoding", "on_error") if (value := getattr(arguments, name)) is not None}
    with as_path(arguments.rejected, "--rejected").open("ab") if arguments.rejected else nullcontext() as aside:
        yield Reading(**options, rejected=aside)


def _named_columns(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise InputError(f"`--click-columns` must be like query=search,item=sku. Got {text!r}.")
    return {name.strip(): value.strip() for name, _, value in pairs}


DATA_HELP = (
    "a file (CSV, TSV, JSONL, Parquet; '-' is standard input), a folder of .md, .txt and .html documents, a BEIR, MS "
    "MARCO or PECOS folder, or an ir_datasets id"
)


def add_data(parser: argparse.ArgumentParser, *, positional: bool = True) -> None:
    """Add the dataset and how it is read."""
    parser.add_argument("data" if positional else "--data", metavar="DATA", help=DATA_HELP)
    parser.add_argument("--queries", metavar="FILE", help="query texts, when DATA has only items")
    parser.add_argument("--clicks", metavar="FILE", help="a click log: query, item, weight[, time]")
    parser.add_argument("--qrels", metavar="FILE", help="judgments for the split 'test'")
    add_reading(parser)


def open_data(arguments: argparse.Namespace) -> Dataset:
    """Open the dataset that the arguments name."""
    names = ("queries", "clicks", "qrels")
    options: dict[str, Any] = {n: getattr(arguments, n) for n in names if getattr(arguments, n, None) is not None}
    return open_items(arguments.data, arguments, **options)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where an artifact is written."""
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the artifact's folder")
    parser.add_argument("--overwrite", action="store_true", help="replace an artifact that is there already")


def check_output(arguments: argparse.Namespace) -> None:
    """Refuse an output that is there already, before long work and not after it."""
    if Path(arguments.output).exists() and not arguments.overwrite:
        raise InputError(f"`--output` must be new. Got {arguments.output}, which is there: add --overwrite.")


def add_bundling(parser: argparse.ArgumentParser) -> None:
    """Add whether models are stored inside the artifact, and which."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--bundle-model",
        action="append",
        nargs="*",
        metavar="MODEL",
        help="store models inside, so that the folder moves as one (default: ONNX models up to 128 MB); a model that "
        "only an artifact names is stored if its folder or hub id is given here",
    )
    either.add_argument(
        "--no-bundle-model", action="store_const", const=False, dest="bundle_model", help="store no further model"
    )


def bundling(arguments: argparse.Namespace) -> bool | list[str] | None:
    """Return `bundle_models` for `save`."""
    given: list[list[str]] | bool | None = arguments.bundle_model
    if given is None or isinstance(given, bool):
        return given
    if len(given) > 1 and not all(given):
        raise InputError("`--bundle-model` must be given alone, or with models each time. Got both: name all models.")
    return [model for models in given for model in models] or True


def add_evaluation(parser: argparse.ArgumentParser) -> None:
    """Add how quality and cost are measured, and where the result goes."""
    parser.add_argument("--split", default="test", help="which judgments (default: test)")
    parser.add_argument("--measures", default="nDCG@10,R@10,R@100,RR@10", metavar="NAMES", help="ir-measures names")
    parser.add_argument("--threads", type=int, default=1, help="queries answered at a time")
    timed = "queries timed one by one (default: 200, or none where models are called)"
    parser.add_argument("--latency-queries", type=int, metavar="N", help=timed)
    parser.add_argument("--json", metavar="FILE", help="write measures and cost as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")


def evaluation_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments that `evaluate` and `compare` share."""
    return {
        "measures": [name for name in arguments.measures.replace(",", " ").split() if name],
        "threads": arguments.threads,
        "latency_queries": arguments.latency_queries,
    }


def write_wanted(*reports: tuple[str | None, Callable[[str], Any]]) -> None:
    """Write each report whose file was asked for."""
    for path, write in reports:
        if path:
            write(path)


def load_retriever(path: str) -> Retriever:
    """Load an artifact that must be a Retriever."""
    loaded = load(path)
    if not isinstance(loaded, Retriever):
        raise InputError(f"The artifact must be a retriever. Got kind {loaded.kind!r} in {path}.")
    return loaded


def load_systems(paths: dict[str, str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return systems by name: a folder is an artifact, a file is a run, which is read as the arguments say."""
    with run_reading(arguments) as how:
        return {name: _load_system(path, how) for name, path in paths.items()}


def system_paths(pairs: list[str]) -> dict[str, str]:
    """Return the paths of artifacts, TREC runs, and folders of runs, each of whose files is one, by name."""
    return unique_names([one for pair in pairs for one in _runs_in(pair)])


def _load_system(path: str, how: Reading) -> Any:
    from vizsla.io.trec import read_answers

    return read_answers(path, how=how) if Path(path).is_file() else load_retriever(path)


def _runs_in(pair: str) -> list[str]:
    """Return the files of a folder that is no artifact, each as NAME=PATH; anything else as it is."""
    from vizsla.artifacts.manifest import MANIFEST
    from vizsla.evaluation.evaluate import system_name

    path = Path(named(pair)[1])
    if path.is_file():
        return [pair if "=" in pair else f"{system_name(path)}={path}"]
    if not path.is_dir() or (path / MANIFEST).exists():
        return [pair]
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise InputError(f"A folder must be an artifact, or hold TREC runs. Got {path}, which holds neither.")
    return [f"{system_name(file)}={file}" for file in files]


def read_clicks(arguments: argparse.Namespace) -> Any:
    """Return a dataset, or the triples of a click log."""
    from vizsla.io.readers import read_click_texts

    path = Path(arguments.clicks)
    if path.is_dir():
        return open_items(path, arguments)
    return read_click_texts(path, queries=arguments.queries, **click_reading(arguments))


def read_lines(path: str) -> list[str]:
    """Return the lines of a file that are not blank, without their ends; `-` is standard input."""
    try:
        if path == "-":
            return _filled(sys.stdin)
        with as_path(path).open(encoding="utf-8-sig") as lines:
            return _filled(lines)
    except UnicodeDecodeError as error:
        place = "standard input" if path == "-" else path
        remedy = "Convert it to UTF-8 (see `iconv`)."
        raise DataError(f"not valid UTF-8 ({error.reason}).", path=place, remedy=remedy) from None


def named(pair: str) -> tuple[str, str]:
    """Split `NAME=PATH`; a bare path is named by its last part.

    Examples
    --------
    >>> named("a=out/bm25"), named("out/bm25")
    (('a', 'out/bm25'), ('bm25', 'out/bm25'))
    """
    name, equals, path = pair.partition("=")
    if not equals:
        return pair.rstrip("/").rpartition("/")[2], pair
    if not name or not path:
        raise InputError(f"A part must be given as NAME=PATH. Got {pair!r}.")
    return name, path


def unique_names(pairs: list[str]) -> dict[str, str]:
    """Return paths by name; the same name twice raises."""
    paths: dict[str, str] = {}
    for name, path in map(named, pairs):
        if name in paths:
            raise InputError(f"Every name must be given once. Got {name!r} twice: use NAME=PATH.")
        paths[name] = path
    return paths


def _filled(lines: Iterable[str]) -> list[str]:
    return [line.rstrip("\r\n") for line in lines if line.strip()]


def share(text: str) -> float:
    """Read a share from 0 to 1.

    Examples
    --------
    >>> share("0.25")
    0.25
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1. Got {text!r}.")
    return value


def add_half_life(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument("--half-life", metavar="DAYS", help="clicks weigh half after so many days; 'auto' chooses")


def chosen_half_life(arguments: argparse.Namespace, clicks: Any, build: Build) -> float | None:
    """Return the days; for "auto", try some, and say how that went."""
    given = arguments.half_life
    if given is None:
        return None
    if given == "auto":
        return _chosen(clicks, build)
    try:
        return float(given)
    except ValueError:
        raise InputError(f"`--half-life` must be days, or auto. Got {given!r}.") from None


def _chosen(clicks: Any, build: Build) -> float | None:
    from vizsla.learning.recency import choose_half_life

    choice = choose_half_life(clicks, build)
    for trial in choice.trials:
        said = "none" if trial["half_life"] is None else f"{trial['half_life']:g} days"
        print(f"half-life {said}: {choice.measure} {trial['all']:.4f} on the latest clicks")
    days: float | None = choice.chosen["half_life"]
    return days


_CONDITION = re.compile(r"[=<>{]|\b(in|is|contains|startswith)\b", re.IGNORECASE)
"""What tells a condition from the name of a file that is not there."""


def prepared_where(given: Sequence[str], retriever: Retriever) -> Filter | None:
    """Return the filter that all of them make, None for none; what no item has is said on standard error."""
    if not given:
        return None
    conditions = [one for one in given if _is_condition(one)]
    filters = [_listed(one, retriever) for one in given if one not in conditions]
    if conditions:
        filters.append(retriever.filter(where(*conditions)))
        for hint in filters[-1].hints:
            print(escape_control(f"vizsla: hint: {hint}"), file=sys.stderr)
    return Filter(np.logical_and.reduce([filter.mask for filter in filters]), retriever.items)


def _listed(path: str, retriever: Retriever) -> Filter:
    """Return the filter of a file of ids; a list of what is in stock is never quite in step, so others are counted."""
    if path != "-" and not Path(path).is_file():
        raise InputError(f"`--where` must be a file of ids, or a condition such as price<20. Got {path!r}.")
    ids = read_lines(path)
    unknown = [id for id in ids if id not in retriever.items]
    if unknown:
        place = "standard input" if path == "-" else path
        said = f"{len(unknown):,} of {len(ids):,} ids of {place} are of no item, for example {unknown[0]!r:.60}"
        warnings.warn(said, DatasetWarning, stacklevel=2)
    return retriever.filter(ids, unknown="ignore")


def _is_condition(text: str) -> bool:
    return _CONDITION.search(text) is not None and not _is_file(text)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a condition may be longer than any name
        return False


def read_query_texts(path: str, arguments: argparse.Namespace) -> list[str]:
    """Return the texts to ask for; JSONL, CSV and TSV with ids, Parquet and TREC topics are told from plain lines."""
    how = Reading(arguments.encoding or "utf-8", arguments.on_error or "raise")
    if path == "-" or not Path(path).is_file() or not _has_ids(Path(path), how.encoding):
        return read_lines(path)
    source, tally = read_queries(Path(path), how=how), WarningLog()
    texts = [query.text for query in source]
    source.report(tally)
    tally.emit()
    return texts


def _has_ids(path: Path, encoding: str) -> bool:
    kind = sniff(path, encoding=encoding)
    if kind in ("jsonl", "parquet"):
        return True
    first = next((line.text for line in LineFile(path, encoding=encoding) if line.text.strip()), "").lower()
    if kind == "csv":
        return any(name in first.replace('"', "").split(",") for name in QUERY_FIELDS.id)
    return "\t" in first if kind == "tsv" else kind == "trec" and first.startswith("<top")
