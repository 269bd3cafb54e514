"""SidrEncoder: token weights from a transformer with a vocabulary head."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.forking import ForkLock
from vizsla._internal.lazy import cached_property, import_extra, stored_model
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder, check_texts
from vizsla.core.sparse import SparseRows, are_rising
from vizsla.core.validation import as_array, validate_args
from vizsla.encoders.batching import batch_for, same_length_batches
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import FormatError, InputError, check_choice, check_positive, check_range
from vizsla.text.bag_of_words import BagOfWords, length_norms
from vizsla.text.wordpiece import WordPiece, sequences
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


def sparsified(values: NDArray[np.float32], tokens: NDArray[np.int64], most: int, width: int) -> SparseRows:
    """Return rows that keep their `most` highest values above 0.

    Parameters
    ----------
    values : float32 array, texts × tokens
        A value for every token of `tokens`.
    tokens : int64 array
        Which columns these are, ascending.
    most : int
        How many a row keeps.
    width : int
        How many columns there are.

    Examples
    --------
    >>> rows = sparsified(np.float32([[0.5, 2.0, 1.0]]), np.array([1, 4, 5]), 2, 6)
    >>> rows.columns.tolist(), rows.values.tolist()
    ([4, 5], [2.0, 1.0])
    """
    if values.shape[1] > most:
        best = np.sort(np.argpartition(-values, most - 1, axis=1)[:, :most], axis=1)
        values = np.take_along_axis(values, best, axis=1)
    else:
        best = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    kept = values > 0
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return SparseRows(offsets, tokens[best[kept]].astype(np.int32), np.ascontiguousarray(values[kept]), width)


def summed(one: SparseRows, other: SparseRows) -> SparseRows:
    """Return the rows' sums.

    Examples
    --------
    >>> one = SparseRows.of(np.array([[0, 1, 2]]))
    >>> summed(one, SparseRows.of(np.array([[3, 0, 2]]))).values.tolist()
    [3.0, 1.0, 4.0]
    """
    return SparseRows.of(one.to_scipy() + other.to_scipy())


def columns(matrix: Any, chosen: NDArray[np.int64]) -> Any:
    """Return a CSR array's chosen columns, ascending, without going through a matrix of all columns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> columns(csr_array([[1, 0, 2], [0, 3, 4]]), np.array([0, 2])).toarray().tolist()
    [[1, 2], [0, 4]]
    """
    from scipy.sparse import csr_array

    places = np.full(matrix.shape[1], -1, np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    found = places[matrix.indices]
    kept = found >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return csr_array((matrix.data[kept], found[kept], ends), shape=(matrix.shape[0], len(chosen)))


MODEL_INPUTS = {"input_ids", "attention_mask"}


class VocabularySession:
    """Loads the model at the first text, and batches texts of equal length.

    Parameters
    ----------
    model : uint8 array
        The bytes of an ONNX model: `input_ids` and `attention_mask` in, texts × tokens out.
    width : int
        How many tokens its head scores.
    batch : int
        How many texts are run together; only one by one where the model would round them by each other.
    threads : int
        Threads of ONNX Runtime.
    """

    def __init__(self, model: NDArray[np.uint8], width: int, *, batch: int = 8, threads: int = 1):
        self.model, self.width, self.batch, self.threads = model, width, batch, threads
        self._made: Any = None
        self._lock = ForkLock()

    def values(self, texts: Sequence[Int64Array]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield some texts' numbers and their values, until all had their turn."""
        for chosen in same_length_batches([len(text) for text in texts], self._together):
            yield chosen, self._run([texts[number] for number in chosen])

    @cached_property
    def _together(self) -> int:
        return batch_for(self.model, self.batch)

    def _run(self, texts: list[Int64Array]) -> NDArray[np.float32]:
        ids = np.array(texts, np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        with stored_model("The model, which runs on token ids,"):
            values = np.asarray(self._session().run(None, given)[0])
        if values.dtype != np.float32 or values.shape != (len(texts), self.width) or not np.isfinite(values).all():
            wanted = f"{len(texts)} × {self.width} finite float32 numbers"
            raise FormatError(f"The model must give {wanted}. Got {values.dtype} of shape {values.shape}.")
        return values

    def _session(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._load()
            return self._made

    def _load(self) -> Any:
        runtime = import_extra("onnxruntime", "Encoding with SiDR", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = self.threads, 1, 4
        with stored_model("The ONNX model"):
            made = runtime.InferenceSession(self.model.tobytes(), options, providers=["CPUExecutionProvider"])
        if {entry.name for entry in made.get_inputs()} != MODEL_INPUTS:
            raise FormatError("The model must take input_ids and attention_mask. Got one that takes others.")
        return made


FORMS = ("full", "learned", "lexical", "binary", "tokens")
SETTING_TYPES: dict[str, type] = {"query_scale": float, "item_scale": float, "most": int, "max_tokens": int}
SETTING_TYPES |= {"b": float, "mean_length": float, "query_form": str, "item_form": str}
Known = Callable[[SparseRows], SparseRows]
TEXTS_PER_BATCH = 256
"""Texts whose values are held in full at a time."""


class SidrEncoder(Encoder, Artifact):
    """Encodes texts as weighted tokens: queries by a table and a transformer, items by their tokens and a transformer.

    So full parametric search is beta search, and on top of it what the transformer knows of the item. Of the
    transformer's tokens a text keeps the strongest. It runs on ONNX Runtime, without torch (extra `onnx`).

    Parameters
    ----------
    table : TokenTable
        Weights of a query's own tokens, over a `WordPiece` with the model's vocabulary.
    model : uint8 array
        The bytes of an ONNX model that gives a value for each of `tokens`.
    tokens : int64 array
        The tokens that the model's head scores, ascending: those that some item holds.
    query_scale, item_scale : float
        What the model's values are multiplied by; 0 leaves items their tokens alone, but for the form "learned".
    most : int
        Tokens kept per vector (the paper's k).
    max_tokens : int
        Maximum number of tokens per text.
    b, mean_length : float
        What an item's tokens weigh: the norm of beta search at this b and mean number of distinct tokens. A mean of 0
        leaves tokens out: an item's vector then is what the model says alone, as in the paper.
    query_form, item_form : {"full", "learned", "lexical", "binary", "tokens"}
        What a text becomes: its vector; what the model alone says; the vector of its own tokens only; 1 for each token
        of its vector; or 1 for each of its own tokens, for which no model runs.
    """

    kind = "sidr-encoder"
    sparse = True
    expands = True

    @validate_args
    def __init__(
        self,
        table: TokenTable,
        model: NDArray[np.uint8],
        tokens: NDArray[np.int64],
        *,
        query_scale: float = 1.0,
        item_scale: float = 1.0,
        most: int = 768,
        max_tokens: int = 128,
        b: float = 0.5,
        mean_length: float = 0.0,
        query_form: str = "full",
        item_form: str = "full",
    ):
        self.table, self.model, self.tokens = table, model, tokens
        self.query_scale, self.item_scale = float(query_scale), float(item_scale)
        self.most, self.max_tokens = check_positive("most", most), check_positive("max_tokens", max_tokens)
        self.b, self.mean_length = check_range("b", b, 0, 1), float(mean_length)
        self.query_form, self.item_form = query_form, item_form
        self._check()
        self._session = VocabularySession(model, len(tokens))

    @property
    def words(self) -> BagOfWords:
        """How a text becomes tokens."""
        return self.table.words

    @property
    def dim(self) -> int:
        """The number of tokens."""
        return self.table.dim

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the table, the model and every setting."""
        seen = _native.checksum(np.ascontiguousarray(self.tokens).view(np.uint8))
        seen = _native.checksum(np.ascontiguousarray(self.model), seen)
        rules = repr((self.table.fingerprint, self.settings)).encode()
        return f"sidr:{_native.checksum(np.frombuffer(rules, np.uint8), seen):016x}"

    @property
    def settings(self) -> dict[str, Any]:
        """All options, as the class takes them."""
        return {name: getattr(self, name) for name in SETTING_TYPES}

    @property
    def nbytes(self) -> int:
        """Bytes of the table and of the model."""
        return int(self.table.nbytes + self.model.nbytes + self.tokens.nbytes)

    def _byte_counts(self) -> dict[Any, int]:
        model = {id(self.model): self.model.nbytes + self.tokens.nbytes}  # one for all forms
        return {**self.table._byte_counts(), **model}

    def __repr__(self) -> str:
        size = f"{len(self.tokens):,} of {self.dim:,} tokens, {self.model.nbytes / 1e6:,.1f} MB"
        forms = "" if self.query_form == self.item_form == "full" else f", {self.query_form}/{self.item_form}"
        return f"SidrEncoder({size}{forms})"

    def with_forms(self, *, queries: str = "full", items: str = "full") -> Self:
        """Return the same model whose texts become something simpler: the ablations of the paper's appendix D."""
        return self._with(query_form=queries, item_form=items)

    def with_table(self, table: TokenTable) -> Self:
        """Return the same model beside another table."""
        return type(self)(table, self.model, self.tokens, **self.settings)

    def queries(self, texts: Sequence[str]) -> SparseRows:
        """Return the queries' weighted tokens."""
        return self._rows(texts, self.query_form, self.query_scale, self.table.weighted)

    def items(self, texts: Sequence[str]) -> SparseRows:
        """Return the items' weighted tokens."""
        alone = self.item_form == "learned" and not self.item_scale  # beside nothing, any scale ranks alike
        return self._rows(texts, self.item_form, 1.0 if alone else self.item_scale, self._token_rows)

    def _rows(self, texts: Sequence[str], form: str, scale: float, known: Known) -> SparseRows:
        """Return what is known of the texts' own tokens, and what the model says, in this form."""
        listed = check_texts(texts)
        own = self.words.queries(listed)
        if form == "tokens":
            return _ones(own)
        outputs = self._values(listed, scale)
        return outputs if form == "learned" else _formed(summed(known(own), outputs), own, form)

    def _token_rows(self, own: SparseRows) -> SparseRows:
        """Return what the items' own tokens weigh in beta search, for a query that weighs each 1."""
        counts = np.diff(own.offsets)
        norms = length_norms(counts, self.mean_length, self.b) if self.mean_length else np.zeros(len(counts))
        return own.with_values(np.repeat(norms, counts).astype(np.float32))

    def _values(self, texts: list[str], scale: float) -> SparseRows:
        """Return what the model says of each text: its strongest tokens."""
        parts = []
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            ids = sequences(self._pieces, texts[start : start + TEXTS_PER_BATCH], self.max_tokens)
            values = np.zeros((len(ids), len(self.tokens)), np.float32)
            for chosen, some in self._session.values(ids):
                values[chosen] = some
            parts.append(sparsified(values * np.float32(scale), self.tokens, self.most, self.dim))
        return SparseRows.stacked(parts, self.dim)

    @property
    def _pieces(self) -> WordPiece:
        pieces: Any = self.words.analyzer
        return pieces  # type: ignore[no-any-return]

    def _with(self, **changes: Any) -> Self:
        return type(self)(self.table, self.model, self.tokens, **{**self.settings, **changes})

    def _check(self) -> None:
        if not isinstance(self.words.analyzer, WordPiece):
            raise InputError("`table` must be made of a WordPiece's tokens. Got one made of words.")
        for name in ("query_form", "item_form"):
            check_choice(name, getattr(self, name), FORMS)
        if not self.query_scale > 0:
            raise InputError(f"`query_scale` must be above 0. Got {self.query_scale!r}.")
        for name in ("query_scale", "item_scale", "mean_length"):
            check_range(name, getattr(self, name), 0, 1e6)
        if self.max_tokens < 3:
            raise InputError(f"`max_tokens` must be at least 3. Got {self.max_tokens}.")
        tokens = as_array("tokens", self.tokens, np.int64)
        if not tokens.size or not are_rising(tokens, self.dim):
            raise InputError(f"`tokens` must rise and stay below {self.dim}. Got others.")

    def _live_parts(self) -> Iterable[Any]:
        return (self.table,)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(**self.settings)
        writer.child("table", self.table)
        writer.array("tokens", self.tokens)
        writer.raw("model", self.model)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        settings = {name: reader.parameter(name, kind) for name, kind in SETTING_TYPES.items()}
        parts = reader.child("table", TokenTable), reader.raw("model"), reader.array("tokens", np.int64)
        return cls(*parts, **settings)


def _ones(rows: SparseRows) -> SparseRows:
    return rows.with_values(np.ones(len(rows.columns), np.float32))


def _formed(rows: SparseRows, own: SparseRows, form: str) -> SparseRows:
    if form == "binary":
        return _ones(rows)
    if form == "full":
        return rows
    return SparseRows.of(rows.to_scipy().multiply(_ones(own).to_scipy()).tocsr())
