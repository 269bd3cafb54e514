"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from vizsla.artifact import load
from vizsla.cli.reading import add_reading, click_reading, open_items, run_reading
from vizsla.dataset import Dataset
from vizsla.errors import DataError, InputError
from vizsla.io.reading import Reading
from vizsla.retriever import Retriever

DATA_HELP = (
    "a file (CSV, TSV, JSONL, Parquet; '-' is standard input), a folder of .md, .txt and .html documents, a BEIR, MS "
    "MARCO or PECOS folder, or an ir_datasets id"
)


def add_data(parser: argparse.ArgumentParser, *, positional: bool = True) -> None:
    """Add the dataset and how it is read."""
    parser.add_argument("data" if positional else "--data", metavar="DATA", help=DATA_HELP)
    parser.add_argument("--queries", metavar="FILE", help="query texts, when DATA has only items")
    parser.add_argument("--clicks", metavar="FILE", help="a click log: query, item, weight[, time]")
    parser.add_argument("--qrels", metavar="FILE", help="judgements for the split 'test'")
    add_reading(parser)


def open_data(arguments: argparse.Namespace) -> Dataset:
    """Open the dataset that the arguments name."""
    names = ("queries", "clicks", "qrels")
    options: dict[str, Any] = {n: getattr(arguments, n) for n in names if getattr(arguments, n, None) is not None}
    return open_items(arguments.data, arguments, **options)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where an artefact is written."""
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the artefact's folder")
    parser.add_argument("--overwrite", action="store_true", help="replace an artefact that is there already")


def check_output(arguments: argparse.Namespace) -> None:
    """Refuse an output that is there already, before long work and not after it."""
    if Path(arguments.output).exists() and not arguments.overwrite:
        raise InputError(f"`--output` must be new. Got {arguments.output}, which is there: add --overwrite.")


def add_bundling(parser: argparse.ArgumentParser) -> None:
    """Add whether models are stored inside the artefact."""
    parser.add_argument(
        "--bundle-model",
        action=argparse.BooleanOptionalAction,
        help="store the encoder's model inside, so that the folder moves as one (default: ONNX models up to 128 MB)",
    )


    parser.add_argument(
        "--copy-model",
        action="append",
        metavar="MODEL",
        help="store inside a model that an artefact names: its folder or hub id; without this none of those is copied",
    )


def bundling(arguments: argparse.Namespace) -> bool | list[str] | None:
    """Return `bundle_models` for `save`."""
    if arguments.copy_model and arguments.bundle_model is False:
        raise InputError("`--copy-model` must be given without --no-bundle-model. Got both.")
    wanted: bool | None = arguments.bundle_model
    return arguments.copy_model or wanted


def add_evaluation(parser: argparse.ArgumentParser) -> None:
    """Add how quality and cost are measured, and where the result goes."""
    parser.add_argument("--split", default="test", help="which judgements (default: test)")
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
    """Load an artefact that must be a Retriever."""
    loaded = load(path)
    if not isinstance(loaded, Retriever):
        raise InputError(f"The artefact must be a retriever. Got kind {loaded.kind!r} in {path}.")
    return loaded


def load_systems(paths: dict[str, str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return systems by name: a folder is an artefact, a file is a run, which is read as the arguments say."""
    with run_reading(arguments) as how:
        return {name: _load_system(path, how) for name, path in paths.items()}


def system_paths(pairs: list[str]) -> dict[str, str]:
    """Return the paths of artefacts, TREC runs, and folders of runs, each of whose files is one, by name."""
    return unique_names([one for pair in pairs for one in _runs_in(pair)])


def _load_system(path: str, how: Reading) -> Any:
    from vizsla.io.trec_run import read_answers

    return read_answers(path, how=how) if Path(path).is_file() else load_retriever(path)


def _runs_in(pair: str) -> list[str]:
    """Return the files of a folder that is no artefact, each as NAME=PATH; anything else as it is."""
    from vizsla.artifacts.manifest import MANIFEST
    from vizsla.evaluate.evaluate import system_name

    path = Path(named(pair)[1])
    if path.is_file():
        return [pair if "=" in pair else f"{system_name(path)}={path}"]
    if not path.is_dir() or (path / MANIFEST).exists():
        return [pair]
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise InputError(f"A folder must be an artefact, or hold TREC runs. Got {path}, which holds neither.")
    return [f"{system_name(file)}={file}" for file in files]


def read_clicks(arguments: argparse.Namespace) -> Any:
    """Return a dataset, or the triples of a click log."""
    from vizsla.io.click_texts import read_click_texts

    path = Path(arguments.clicks)
    if path.is_dir():
        return open_items(path, arguments)
    return read_click_texts(path, queries=arguments.queries, **click_reading(arguments))


def read_lines(path: str) -> list[str]:
    """Return the lines of a file that are not blank, without their ends; `-` is standard input."""
    try:
        if path == "-":
            return _filled(sys.stdin)
        with open(path, encoding="utf-8-sig") as lines:  # noqa: PTH123
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
