"""Opens a dataset by what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vizsla.core.validation import validate_args
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError, check_choice
from vizsla.io import msmarco, parquet
from vizsla.io.bad_lines import ON_ERROR, Reading, rejected_file
from vizsla.io.builder import DatasetParts, build_dataset
from vizsla.io.document_readers import READERS
from vizsla.io.documents import FolderSource, types
from vizsla.io.duplicates import DEDUPE, DeduplicatedSource
from vizsla.io.fields import Fields
from vizsla.io.files import StandardInput, found
from vizsla.io.ir_datasets import is_ir_dataset, read_ir_dataset
from vizsla.io.jsonl import read_beir
from vizsla.io.passages import DEFAULT_WORDS, PassageSizes
from vizsla.io.pecos import read_pecos
from vizsla.io.readers import FORMATS, item_parts, read_entries, read_queries

IR_DATASETS_PREFIX = "ir_datasets:"
STANDARD_INPUT = "-"


@validate_args
def open_dataset(
    source: str | Path,
    *,
    queries: str | Path | None = None,
    clicks: str | Path | None = None,
    qrels: str | Path | Mapping[str, str | Path] | None = None,
    id: str | None = None,
    text: str | Sequence[str] | None = None,
    title: str | None = None,
    meta: str | Sequence[str] | Mapping[str, str | None] | None = None,
    keep_texts: bool = False,
    format: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    click_columns: Mapping[str, str] | None = None,
    passage_size: int = DEFAULT_WORDS,
    passage_overlap: int = 0,
    passage_min: int | None = None,
    passage_unit: str | Callable[[str], int] = "words",
    dedupe: str | None = None,
    on_error: str | None = None,
    rejected: str | Path | None = None,
    dangling: str = "warn",
) -> Dataset:
    """Open a dataset; its format is told by what is there.

    Parameters
    ----------
    source : path or str
        A folder (BEIR, MS MARCO, Parquet, PECOS, or documents: .md, .txt, .rst, .html, .ipynb, .pdf, .docx and source
        code), a file of items (CSV, TSV, JSONL, Parquet) or one document, "-" for standard input, or an id of
        ir_datasets such as `beir/scifact/test`, with `ir_datasets:` before it where a path of that name exists. Text
        files may be packed by gzip or zstd.
    queries : path, optional
        A file of queries (JSONL, CSV, TSV, Parquet, TREC topics) in place of those of the source.
    clicks : path, optional
        A click log (CSV, TSV, Parquet) in place of that of the source. Its query column holds query ids; in a
        dataset without queries it holds texts, and the distinct texts become the queries.
    qrels : path or mapping of split name to path, optional
        Judgments (BEIR's or TREC's columns, Parquet) in place of those of the source. One path is the split "test".
    id : str, optional
        The field or column of an item's id, where its name is unusual.
    text : str, optional
        The fields of its texts, such as "title,description". Several are joined by spaces.
    title : str, optional
        The field of its title.
    meta : names, optional
        Which other fields are kept as metadata and saved with the items' ids: all that are plain unless given, [] for
        none. A list, or one text with commas. A field's kind is told by its values, or declared: "price:number", or
        {"price": "number"}; kinds are number, date, text, list and boolean. "*" stands for all other fields.
    keep_texts : bool
        Save the items' texts with their ids too, compressed, so that answers can show them without the data.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        Format of a file of items; by its name unless given.
    separator : str, optional
        Between the columns of a table; told by its header unless given.
    encoding : str
        Encoding of all text files: "utf-8" (with or without a byte order mark), "utf-16", "latin-1", ….
    click_columns : mapping, optional
        Names of the click log's header for "query", "item", "weight" and "time", where they are unusual.
    passage_size : int
        How many words the passages of documents have at most, or other units.
    passage_overlap : int
        How many units a passage shares with the one before it in its section.
    passage_min : int, optional
        Passages with fewer units are joined with a neighbor where both fit; a twentieth of `passage_size` unless given.
    passage_unit : str or function
        What the sizes count: "words", "characters", or an encoder's tokens. For tokens, Python takes a function from a
        word to its number of tokens, such as `encoder.count_tokens`, and the command line the name of the encoder.
    dedupe : {"exact", "near"}, optional
        Give items whose texts are the same, or nearly, the same value of the metadata field `same_as`. Nothing is left
        out; `distinct="same_as"` shows one of each in answers.
    on_error : {"raise", "warn", "skip"}, optional
        A record that cannot be read, or an id given before: raise; leave it out, name the first few and count; or
        leave it out and count. Unless given, records raise, and documents of a folder are left out and counted.
    rejected : path, optional
        Write the lines that are left out to this file, as they stood.
    dangling : {"warn", "raise"}
        A click or judgment of an unknown query or item: leave it out and count it, or raise.

    Returns
    -------
    Dataset
        Its `warnings` tell what was counted, its `mapping` which columns were taken for what.
    """
    lenient, on_error = on_error is None, "raise" if on_error is None else on_error
    check_choice("on_error", on_error, ON_ERROR)
    check_choice("format", format, [None, *FORMATS])
    check_choice("dedupe", dedupe, DEDUPE)
    fields = Fields.named(id=id, text=text, title=title, meta=meta)
    if _is_pecos(source):
        if queries is not None or clicks is not None or qrels is not None:
            raise InputError("`queries`, `clicks` and `qrels` must be left out for a PECOS folder. Got at least one.")
        return read_pecos(Path(source))
    with rejected_file(rejected, [source, queries, clicks, *_files(qrels)]) as aside:
        how = Reading(encoding, on_error, aside)
        sizes = PassageSizes(passage_size, passage_overlap, passage_min, passage_unit)
        notes = replace(how, on_error="skip") if lenient else how
        parts = _parts(source, fields, how, notes, format=format, separator=separator, sizes=sizes)
        if dedupe is not None:
            parts = replace(parts, items=DeduplicatedSource(parts.items, dedupe))
        if queries is not None:
            parts = replace(parts, queries=read_queries(Path(queries), how=how))
        if clicks is not None:
            parts = replace(parts, clicks=read_entries(Path(clicks), how=how, columns=click_columns))
        if qrels is not None:
            by_split = qrels if isinstance(qrels, Mapping) else {"test": qrels}
            judged = {split: read_entries(Path(path), grades=True, how=how) for split, path in by_split.items()}
            parts = replace(parts, qrels=judged)
        return build_dataset(
            parts, on_error=on_error, dangling=dangling, meta=meta, keep_texts=keep_texts, columns=fields.columns
        )


def _is_pecos(source: str | Path) -> bool:
    return Path(source).is_dir() and any(Path(source).glob("Y*.npz"))


def _files(qrels: str | Path | Mapping[str, str | Path] | None) -> list[str | Path | None]:
    return list(qrels.values()) if isinstance(qrels, Mapping) else [qrels]


def _parts(
    source: str | Path,
    fields: Fields,
    how: Reading,
    notes: Reading,
    *,
    format: str | None,
    separator: str | None,
    sizes: PassageSizes,
) -> DatasetParts:
    path, name = Path(source), str(source)
    if name == STANDARD_INPUT:
        given = StandardInput()
        parts = item_parts(given.path, fields, how, format=format, separator=separator)
        given.kept_for(parts.items)
        return parts
    if name.startswith(IR_DATASETS_PREFIX):
        return read_ir_dataset(name.removeprefix(IR_DATASETS_PREFIX))
    if path.is_dir():
        return _folder(path, fields, how, notes, sizes)
    if path.is_file() and format is None and path.suffix.lower() in READERS and not has_records(path, how):
        return DatasetParts(FolderSource(path, how=how, sizes=sizes))
    if path.is_file():
        return item_parts(path, fields, how, format=format, separator=separator)
    if is_ir_dataset(name):
        return read_ir_dataset(name)
    raise InputError(f"`source` must be a folder, a file or an id of ir_datasets that exists. Got {name!r}.")


def _folder(folder: Path, fields: Fields, how: Reading, notes: Reading, sizes: PassageSizes) -> DatasetParts:
    """Return the parts of a folder; `notes` says how its documents are read, where it holds any."""
    if found(folder, "corpus.jsonl"):
        return read_beir(folder, fields=fields, how=how)
    if found(folder, "collection.tsv"):
        return msmarco.read_msmarco(folder, how=how)
    if (folder / "corpus.parquet").is_file():
        return parquet.read_parquet(folder, fields=fields, how=how)
    source = FolderSource(folder, how=notes, sizes=sizes)
    if source.found.paths:
        return DatasetParts(source, mapping=source)
    empty = not any(folder.iterdir())
    there = source.found.reasons() or "hidden files and folders only"
    got = "is empty" if empty else f"has none of them: {there}"
    raise InputError(
        "`source` must be a folder with corpus.jsonl (BEIR), collection.tsv (MS MARCO), corpus.parquet, "
        f"Y.npz (PECOS), or documents ({types()}). Got {folder}, which {got}."
    )


def has_records(path: Path, how: Reading) -> bool:
    """Return whether a .txt file holds records: JSON, or columns with tabs."""
    from vizsla.io.fields import sniff

    return path.suffix.lower() == ".txt" and sniff(path, encoding=how.encoding) in ("jsonl", "tsv")
