"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import argparse
import atexit
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from vizsla._internal.terminal import escape_control, working
from vizsla.artifacts.artifact import load
from vizsla.base.retriever import Retriever
from vizsla.cli.signatures import SignatureOptions
from vizsla.core.validation import DatasetWarning, WarningLog, as_path
from vizsla.data.conditions import where
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.encoders.open import open_encoder
from vizsla.errors import DataError, InputError
from vizsla.io.bad_lines import Reading
from vizsla.io.fields import QUERY_FIELDS, sniff
from vizsla.io.files import LineFile
from vizsla.io.open import open_dataset
from vizsla.io.passages import UNITS
from vizsla.io.readers import read_queries
from vizsla.text.fields import FieldWeights

READING = SignatureOptions(
    open_dataset,
    skip=("queries", "clicks", "qrels"),
    metavars={"id": "FIELD", "text": "FIELDS", "title": "FIELD", "meta": "FIELDS", "separator": "CHAR",
              "encoding": "NAME", "rejected": "FILE"},
)  # fmt: skip
CLICK_READING = ("encoding", "on_error", "rejected")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how data are read."""
    group = parser.add_argument_group("how data are read")
    READING.add_to(group)
    group.add_argument("--click-columns", metavar="NAMES", help="of a click log: query=search,item=sku,time=date")


def open_items(source: str | Path, arguments: argparse.Namespace, **more: Any) -> Dataset:
    """Open a dataset as the arguments say; say which columns were taken for what where none were named."""
    options = with_unit(READING.given(arguments)) | _click_columns(arguments)
    if "^" in options.get("text", ""):
        if not hasattr(arguments, "weighs_fields"):
            raise InputError(f"`--text` must name fields without weights here. Got {options['text']!r:.80}.")
        options["text"] = ",".join(FieldWeights.of(options["text"]).names)
    dataset = Dataset.open(source, **{**options, **more})
    if dataset.mapping and not {"id", "text"} <= options.keys():
        print(escape_control(f"vizsla: {dataset.mapping}"), file=sys.stderr)
    return dataset


def with_unit(options: dict[str, Any]) -> dict[str, Any]:
    """Let passages be measured in the tokens of an encoder, where the unit names one."""
    unit = options.get("passage_unit", UNITS[0])
    if unit in UNITS:
        return options
    encoder = open_encoder(unit)
    if not hasattr(encoder, "count_tokens"):
        raise InputError(
            f"`--passage-unit` must be {', '.join(UNITS)} or an encoder with a tokenizer. Got {unit!r:.60}."
        )
    return {**options, "passage_unit": encoder.count_tokens}


def field_weights(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that are weighed apart: those of --fields, or of --text title^3,description."""
    text, given = getattr(arguments, "text", ""), getattr(arguments, "fields", None)
    if given is not None and "^" in text:
        raise InputError("`--fields` must be left out where `--text` has weights. Got both.")
    given = text if "^" in text else given
    return {} if given is None else {"fields": given}


def click_reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how a click log by itself is read."""
    given = READING.given(arguments)
    return {name: given[name] for name in CLICK_READING if name in given} | _click_columns(arguments)


@contextmanager
def run_reading(arguments: argparse.Namespace) -> Iterator[Reading]:
    """Say how runs are read, after the data: what is rejected of them follows what was rejected there."""
    options = click_reading(arguments)
    rejected = options.get("rejected")
    options = {name: options[name] for name in ("encoding", "on_error") if name in options}
    with as_path(rejected, "--rejected").open("ab") if rejected else nullcontext() as aside:
        yield Reading(**options, rejected=aside)


def _click_columns(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    text: str | None = getattr(arguments, "click_columns", None)
    if not text:
        return {}
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise InputError(f"`--click-columns` must be like query=search,item=sku. Got {text!r}.")
    return {"click_columns": {name.strip(): value.strip() for name, _, value in pairs}}


DATA_HELP = (
    "a file (CSV, TSV, JSONL, Parquet; '-' is standard input), a folder of documents, a BEIR, MS "
    "MARCO or PECOS folder, or an ir_datasets id"
)


def add_data(parser: argparse.ArgumentParser, *, positional: bool = True, needed: bool = True) -> None:
    """Add the dataset and how it is read; where it is not needed, --qrels alone will do."""
    how = {} if needed else {"nargs": "?", "default": None}
    about = DATA_HELP if needed else f"{DATA_HELP}; not needed for a run with --qrels"
    parser.add_argument("data" if positional else "--data", metavar="DATA", help=about, **how)  # type: ignore[arg-type]
    parser.add_argument("--queries", metavar="FILE", help="query texts, when DATA has only items")
    parser.add_argument("--clicks", metavar="FILE", help="a click log: query, item, weight[, time]")
    parser.add_argument("--qrels", metavar="FILE", help="judgments for the split 'test'")
    add_reading(parser)


def open_judged(arguments: argparse.Namespace) -> Any:
    """Open the dataset that the arguments name; judgments alone where they name only these."""
    if arguments.data is not None:
        return open_data(arguments)
    if arguments.qrels is None:
        raise InputError("There must be judgments. Got none: name the data, or judgments alone by --qrels FILE.")
    from vizsla.evaluation.judgments import Judgments

    with run_reading(arguments) as how:
        return Judgments.of(arguments.qrels, queries=arguments.queries, how=how)


def is_run(path: str) -> bool:
    """Whether a file has the six columns of a TREC run."""
    if not Path(path).is_file():
        return False
    try:
        first = next((line.text.split() for line in LineFile(path) if line.text.strip()), [])
        return len(first) == 6 and bool(re.fullmatch(r"[-+\d.eE]+", first[4]))
    except DataError:
        return False


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


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add where a result goes."""
    parser.add_argument("--json", metavar="FILE", help="write measures, cost, tests and provenance as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")


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


def is_engine(path: Path) -> bool:
    """Whether a folder is an engine."""
    from vizsla.engine.catalog import NAME

    return (path / NAME).is_file()


def load_searched(path: str) -> Retriever:
    """Load an artifact, or what an engine answers with as it is now."""
    from vizsla.engine.engine import Engine

    if not is_engine(Path(path)):
        return load_retriever(path)
    engine = Engine.open(path, maintenance="manual")
    atexit.register(engine.close)  # what it answers with reads its files
    return engine._retriever()


def load_systems(paths: dict[str, str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return systems by name: a folder is an artifact, a file is a run, which is read as the arguments say."""
    with run_reading(arguments) as how:
        return {name: _load_system(path, how) for name, path in paths.items()}


def system_paths(pairs: list[str]) -> dict[str, str]:
    """Return the paths of artifacts, TREC runs, and folders of runs, each of whose files is one, by name."""
    return unique_names([one for pair in pairs for one in _runs_in(pair)])


def _load_system(path: str, how: Reading) -> Any:
    from vizsla.io.trec import read_answers

    return read_answers(path, how=how) if Path(path).is_file() else load_searched(path)


def _runs_in(pair: str) -> list[str]:
    """Return the files of a folder that is no artifact and no engine, each as NAME=PATH; anything else as it is."""
    from vizsla.artifacts.manifest import MANIFEST
    from vizsla.evaluation.runs import system_name

    path = Path(named(pair)[1])
    if path.is_file():
        return [pair if "=" in pair else f"{system_name(path)}={path}"]
    if not path.is_dir() or (path / MANIFEST).exists() or is_engine(path):
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
        if as_path(path).is_fifo():  # opening it waits until something writes
            raise InputError(f"A list must be a file, or '-' for standard input. Got {path}, a pipe.")
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


def with_half_life(options: dict[str, Any], clicks: Any, build: Callable[..., Retriever]) -> dict[str, Any]:
    """Return the options with a half-life in days; for "auto", try some, and say how that went."""
    if options.get("half_life") != "auto":
        return options
    from vizsla.learning.recency import choose_half_life

    others = {name: value for name, value in options.items() if name != "half_life"}
    with working("choosing the half-life"):
        choice = choose_half_life(clicks, lambda part: build(part, **others))
    for trial in choice.trials:
        said = "none" if trial["half_life"] is None else f"{trial['half_life']:g} days"
        print(f"half-life {said}: {choice.measure} {trial['all']:.4f} on the latest clicks")
    return others | {"half_life": choice.chosen["half_life"]}


def save_model(model: Any, arguments: argparse.Namespace, start: float, what: str = "", more: str = "") -> None:
    """Save what was built since `start`, and say how large it is and how long it took."""
    models = {"bundle_models": bundling(arguments)} if hasattr(arguments, "bundle_model") else {}
    model.save(arguments.output, overwrite=arguments.overwrite, **models)
    size = what or f"{model.nbytes / 1e6:.1f} MB"
    print(f"{arguments.output}: {len(model.items):,} items, {size}, {perf_counter() - start:.1f} s{more}")


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
    if len(filters) == 1:  # of conditions alone: facets leave out those on their own fields
        return filters[0]
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
    return [text for _, text in read_query_pairs(path, arguments)]


def read_query_pairs(path: str, arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Return ids and texts to ask for; a plain line's id is its number, from 1."""
    given = click_reading(arguments)
    how = Reading(given.get("encoding", "utf-8"), given.get("on_error", "raise"))
    if path == "-" or not Path(path).is_file() or not _has_ids(Path(path), how.encoding):
        return [(str(number), text) for number, text in enumerate(read_lines(path), 1)]
    source, tally = read_queries(Path(path), how=how), WarningLog()
    pairs = [(query.id, query.text) for query in source]
    source.report(tally)
    tally.emit()
    return pairs


def _has_ids(path: Path, encoding: str) -> bool:
    kind = sniff(path, encoding=encoding)
    if kind in ("jsonl", "parquet"):
        return True
    first = next((line.text for line in LineFile(path, encoding=encoding) if line.text.strip()), "").lower()
    if kind == "csv":
        return any(name in first.replace('"', "").split(",") for name in QUERY_FIELDS.id)
    return "\t" in first if kind == "tsv" else kind == "trec" and first.startswith("<top")
