"""Export to Parquet: id, text, metadata and vector, a row for each item."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from vizsla._internal.lazy import import_extra
from vizsla._internal.terminal import progress
from vizsla.base.retriever import Retriever
from vizsla.core.validation import as_path
from vizsla.export.item_vectors import ITEMS_PER_BATCH, ExportedItem, ItemVectorSource
from vizsla.io.atomic import writing


def export_parquet(retriever: Retriever, path: str | Path, *, overwrite: bool = False) -> int:
    """Write the items with their vectors to a Parquet file; return how many.

    The columns are ``id``, ``text``, ``metadata`` (JSON), and ``vector`` (32-bit floats), or ``tokens`` and ``weights``
    where vectors are sparse. The file's metadata names the encoder by its fingerprint. A score is the inner product
    with the retriever's query vector.

    Parameters
    ----------
    retriever : Retriever
        One whose score is an inner product: see `ItemVectorSource`.
    path : path
        The file.
    overwrite : bool
        Replace a file that is there already.

    Examples
    --------
    >>> import tempfile, pyarrow.parquet as parquet
    >>> from vizsla.methods.tfidf import tfidf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_parquet(tfidf({"f": "a fig", "p": "a pear"}), f"{folder}/fruit.parquet")
    ...     parquet.read_table(f"{folder}/fruit.parquet")["id"].to_pylist()
    2
    ['f', 'p']
    """
    arrow = import_extra("pyarrow", "Export to Parquet", "parquet")
    parquet = import_extra("pyarrow.parquet", "Export to Parquet", "parquet")
    source = ItemVectorSource(retriever)
    fields = [("id", arrow.string()), ("text", arrow.string()), ("metadata", arrow.string())]
    if source.sparse:
        fields += [("tokens", arrow.list_(arrow.int32())), ("weights", arrow.list_(arrow.float32()))]
    else:
        fields += [("vector", arrow.list_(arrow.float32(), source.dim))]
    noted = {"encoder": source.fingerprint, "dim": str(source.dim), "score": "inner product"}
    schema = arrow.schema(fields, metadata=noted)
    total = -(-len(source) // ITEMS_PER_BATCH)
    with writing(as_path(path), overwrite=overwrite) as out, parquet.ParquetWriter(out, schema) as writer:
        for batch in progress(source.batches(), total=total, what="exporting"):
            writer.write_table(arrow.table(_columns(batch, source, arrow), schema=schema))
    return len(source)


def _columns(batch: list[ExportedItem], source: ItemVectorSource, arrow: Any) -> list[Any]:
    columns = [[item.id for item in batch], [item.text for item in batch]]
    columns.append([json.dumps(item.metadata, ensure_ascii=False, default=str) for item in batch])
    if source.sparse:
        return [*columns, [item.vector[0] for item in batch], [item.vector[1] for item in batch]]
    flat = np.concatenate([item.vector for item in batch])
    return [*columns, arrow.FixedSizeListArray.from_arrays(arrow.array(flat), source.dim)]
