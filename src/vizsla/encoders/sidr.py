"""SidrEncoder: a transformer that says which tokens a text is about, beside what is known of its own tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.arguments import array_of
from vizsla.artifact import Artifact
from vizsla.cached_property import cached_property
from vizsla.checked import checked
from vizsla.encoder import Encoder, check_texts
from vizsla.encoders.sparsify import sparsified, summed
from vizsla.encoders.token_table import TokenTable
from vizsla.encoders.vocabulary_session import VocabularySession
from vizsla.errors import InputError, check_choice, check_positive, check_range
from vizsla.offsets import are_rising
from vizsla.sparse_rows import SparseRows
from vizsla.text.bag import BagOfWords
from vizsla.text.length_norms import length_norms
from vizsla.text.sequences import sequences
from vizsla.text.wordpiece import WordPiece

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

FORMS = ("full", "learned", "lexical", "binary", "bag")
SETTINGS: dict[str, type] = {"query_scale": float, "item_scale": float, "most": int, "max_tokens": int}
SETTINGS |= {"b": float, "mean_length": float, "query_form": str, "item_form": str}
Known = Callable[[SparseRows], SparseRows]
PART = 256
"""Texts whose values are held in full at a time."""


class SidrEncoder(Encoder, Artifact):
    """Texts become weighted tokens: a query by a table and a transformer, an item by its bag and the transformer.

    So full parametric search is beta search, and on top of it what the transformer knows of the item. Of the
    transformer's tokens a text keeps the strongest. It runs on ONNX Runtime, without torch (extra `onnx`).

    Parameters
    ----------
    table : TokenTable
        What a query's own tokens weigh; made of a `WordPiece` with the model's vocabulary.
    model : uint8 array
        The bytes of an ONNX model that gives a value for each of `tokens`.
    tokens : int64 array
        The tokens that the model's head scores, ascending: those that some item holds.
    query_scale, item_scale : float
        What the model's values are multiplied by; 0 leaves items their bags alone, but for the form "learned".
    most : int
        How many tokens a text's vector keeps (the paper's k).
    max_tokens : int
        Texts are cut after so many.
    b, mean_length : float
        What an item's bag weighs: the norm of beta search at this b and mean number of distinct tokens. A mean of 0
        leaves bags out: an item's vector then is what the model says alone, as in the paper.
    query_form, item_form : {"full", "learned", "lexical", "binary", "bag"}
        What a text becomes: its vector; what the model alone says; the vector of its own tokens only; 1 for each token
        of its vector; or 1 for each of its own tokens, for which no model runs.
    """

    kind = "sidr-encoder"
    sparse = True
    expands = True

    @checked
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
    def bag(self) -> BagOfWords:
        """How a text becomes tokens."""
        return self.table.bag

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
        return {name: getattr(self, name) for name in SETTINGS}

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
        return self._rows(texts, self.item_form, 1.0 if alone else self.item_scale, self._bags)

    def _rows(self, texts: Sequence[str], form: str, scale: float, known: Known) -> SparseRows:
        """Return what is known of the texts' own tokens, and what the model says, in this form."""
        listed = check_texts(texts)
        own = self.bag.queries(listed)
        if form == "bag":
            return _ones(own)
        said = self._values(listed, scale)
        return said if form == "learned" else _formed(summed(known(own), said), own, form)

    def _bags(self, own: SparseRows) -> SparseRows:
        """Return what the items' own tokens weigh in beta search, for a query that weighs each 1."""
        counts = np.diff(own.offsets)
        norms = length_norms(counts, self.mean_length, self.b) if self.mean_length else np.zeros(len(counts))
        return own.with_values(np.repeat(norms, counts).astype(np.float32))

    def _values(self, texts: list[str], scale: float) -> SparseRows:
        """Return what the model says of each text: its strongest tokens."""
        parts = []
        for start in range(0, len(texts), PART):
            ids = sequences(self._pieces, texts[start : start + PART], self.max_tokens)
            values = np.zeros((len(ids), len(self.tokens)), np.float32)
            for chosen, some in self._session.values(ids):
                values[chosen] = some
            parts.append(sparsified(values * np.float32(scale), self.tokens, self.most, self.dim))
        return SparseRows.stacked(parts, self.dim)

    @property
    def _pieces(self) -> WordPiece:
        pieces: Any = self.bag.analyser
        return pieces  # type: ignore[no-any-return]

    def _with(self, **changes: Any) -> Self:
        return type(self)(self.table, self.model, self.tokens, **{**self.settings, **changes})

    def _check(self) -> None:
        if not isinstance(self.bag.analyser, WordPiece):
            raise InputError("`table` must be made of a WordPiece's tokens. Got one made of words.")
        for name in ("query_form", "item_form"):
            check_choice(name, getattr(self, name), FORMS)
        if not self.query_scale > 0:
            raise InputError(f"`query_scale` must be above 0. Got {self.query_scale!r}.")
        for name in ("query_scale", "item_scale", "mean_length"):
            check_range(name, getattr(self, name), 0, 1e6)
        if self.max_tokens < 3:
            raise InputError(f"`max_tokens` must be at least 3. Got {self.max_tokens}.")
        tokens = array_of("tokens", self.tokens, np.int64)
        if not tokens.size or not are_rising(tokens, self.dim):
            raise InputError(f"`tokens` must rise and stay below {self.dim}. Got others.")

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(**self.settings)
        writer.child("table", self.table)
        writer.array("tokens", self.tokens)
        writer.raw("model", self.model)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        settings = {name: reader.parameter(name, kind) for name, kind in SETTINGS.items()}
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
