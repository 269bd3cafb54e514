"""Tokens: binary posting lists, searched by queries with learned token weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe, builds, noted, refit, settle
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows, row_numbers
from vizsla.core.strings import Strings
from vizsla.core.validation import as_array, validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.sidr import SidrEncoder
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import FormatError, InputError, check_range
from vizsla.indexes.tokens import TokenIndex
from vizsla.io.frames import plain_items
from vizsla.learning.clicks import read_half_life
from vizsla.text.analyzers import Analyzer
from vizsla.text.bag_of_words import BagOfWords, joined, length_norms
from vizsla.text.fields import FieldStream, weights_of
from vizsla.text.streams import TextStream, grown_ids, kept_items, left_ids
from vizsla.typing import Float32Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


def idf(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float32]:
    """Return BM25's weight of each token, ``log(1 + (n - df + 0.5) / (df + 0.5))``; 0 for one that no item holds.

    Examples
    --------
    >>> [f"{weight:.4f}" for weight in idf(np.array([0, 1, 3]), 3)]
    ['0.0000', '0.9808', '0.1335']
    """
    weights = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))
    return np.where(frequencies > 0, weights, 0).astype(np.float32)


DEFAULT_B = 0.5


class TokenRetriever(IndexRetriever):
    """Exact search over binary token lists. Use `tokens` to build one.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : TokenTable or SidrEncoder
        Weights of query tokens.
    index : TokenIndex
        Which items hold each token.
    frequencies : int64 array
        The number of items that hold each token.
    lengths : int32 array
        The number of distinct tokens of each item.
    b : float
        Weight of the item's length.
    learned : bool
        Whether the table was learned; if not it is the idf, and follows the items.
    half_life : float, optional
        The days after which a click weighed half when the table was last learned.
    fields : mapping, optional
        The weights of fields, where tokens of fields are tokens of their own, too.

    Examples
    --------
    >>> search = tokens({"a": "a fig tree", "b": "an apple tree", "c": "figs"})
    >>> search("fig tree", k=2).ids
    [['a', 'b']]
    >>> print(search.explain("fig tree", "b"))
    0.2006  tokens, norm 0.4268 × the sum over the query's tokens
    ├─ 0.0000  'fig': not in the item
    └─ 0.2006  'tree': in 2 of 3 items, weight 0.4700
    """

    kind = "tokens"
    scale = "tokens"
    encoder: Any
    index: TokenIndex

    @validate_args
    def __init__(
        self,
        items: Strings,
        encoder: Encoder,
        index: TokenIndex,
        *,
        frequencies: NDArray[np.int64],
        lengths: NDArray[np.int32],
        b: float = DEFAULT_B,
        learned: bool = False,
        half_life: float | None = None,
        fields: Mapping[str, float] | None = None,
    ):
        super().__init__(items, encoder, index)
        self.half_life, self.fields = half_life, dict(fields or {})
        frequencies = as_array("frequencies", frequencies, np.int64)
        lengths = as_array("lengths", lengths, np.int32)
        self.frequencies, self.lengths, self.b, self.learned = frequencies, lengths, check_range("b", b, 0, 1), learned
        if frequencies.shape != (encoder.dim,) or lengths.shape != (len(items),):
            raise InputError("There must be a frequency for each token and a length for each item. Got others.")

    @classmethod
    def build(
        cls,
        items: Any,
        *,
        ids: Iterable[str] | None = None,
        analyzer: Analyzer | None = None,
        b: float = DEFAULT_B,
        fields: Mapping[str, float] | str | None = None,
    ) -> Self:
        """Read a catalog once and index it; see `tokens` for the parameters."""
        if fields is not None:
            return cls._of_fields(items, ids, analyzer, b, weights_of(plain_items(items), fields))
        stream = TextStream(items, ids)
        tokens, rows = BagOfWords.fit(progress(stream, what="reading"), analyzer)
        frequencies = np.bincount(rows.columns, minlength=tokens.dim).astype(np.int64)
        lengths = np.diff(rows.offsets).astype(np.int32)
        table = TokenTable(tokens, idf(frequencies, len(rows)))
        index = TokenIndex.build(rows, norms=_norms(lengths, b))
        return cls(stream.ids, table, index, frequencies=frequencies, lengths=lengths, b=b)

    @classmethod
    def _of_fields(
        cls, items: Any, ids: Iterable[str] | None, analyzer: Analyzer | None, b: float, weights: dict[str, float]
    ) -> Self:
        if analyzer is not None and analyzer.vocabulary is not None:
            raise InputError("`fields` must go with an analyzer of words. Got one with a vocabulary of its own.")
        stream = FieldStream(plain_items(items), tuple(weights), ids)
        texts = progress(stream.rows(), what="reading")
        words, rows, _ = BagOfWords.fit_fields(texts, analyzer, len(weights))
        made = fielded(words, rows, weights)
        frequencies = np.bincount(made.rows.columns, minlength=made.words.dim).astype(np.int64)
        own = idf(frequencies, len(made.rows))
        gains = made.gains * np.repeat(own, np.diff(made.offsets))
        table = TokenTable(made.words, own, made.offsets, made.targets, gains)
        index = TokenIndex.build(made.rows, norms=_norms(made.lengths, b))
        counts: Any = {"frequencies": frequencies, "lengths": made.lengths}
        return cls(stream.ids, table, index, b=b, fields=weights, **counts)

    @property
    def nbytes(self) -> int:
        """Bytes of lists, table, vocabulary and counts."""
        return int(super().nbytes + self.frequencies.nbytes + self.lengths.nbytes)

    def __repr__(self) -> str:
        return (
            f"TokenRetriever({len(self.items):,} items, {'learned weights' if self.learned else 'idf'}, b {self.b:g})"
        )

    def with_b(self, b: float) -> Self:
        """Return the same retriever with another weight of the items' lengths."""
        return self._with(index=self.index.with_norms(_norms(self.lengths, b)), b=b)

    def with_table(self, table: Encoder) -> Self:
        """Return the same lists with other query weights: a TokenTable, or any encoder over the same tokens."""
        made = self._with(encoder=table, learned=True)
        if self._recipe is not None:
            noted(made, Recipe("token_weights", {"base": self._recipe, "table": table}))
        return made

    def with_half_life(self, half_life: float | None) -> Self:
        """Return the same base, which tells by what half-life its clicks weighed.

        Examples
        --------
        >>> tokens(["a fig tree"]).with_half_life(30.0).half_life
        30.0
        """
        return self._with(half_life=half_life)

    def with_words(self, texts: Iterable[str]) -> Self:
        """Return a retriever whose table also knows words of these texts that no item holds; for learning from queries.

        Such a word finds nothing until it has expansions. A retriever with a fixed vocabulary is returned as it is.
        """
        grown = self.encoder.words.grown(texts)
        if grown.dim == self.encoder.dim:
            return self
        more = grown.dim - self.encoder.dim
        index = TokenIndex(self.index.segments, self.index.norms, grown.dim)
        frequencies = np.append(self.frequencies, np.zeros(more, np.int64))
        return self._followed(self.items, grown, index, frequencies, self.lengths)

    def with_clicks(self, clicks: Any, *, epochs: int = 1, rate: float = 0.03, **options: Any) -> TokenRetriever:
        """Return the same lists with a table that also learned from these clicks, in small steps: they are few.

        Parameters
        ----------
        clicks : Dataset or iterable
            As for `vizsla.learning.train_tokens`, whose other options can be given too.
        epochs : int
            How often to go through them.
        rate : float
            The step of Adagrad.

        Examples
        --------
        >>> fruit = tokens({"a": "a fig tree", "c": "a red car"})
        >>> fruit.with_clicks([("vehicle", "c")], epochs=3)("vehicle", k=1).ids
        [['c']]
        """
        from vizsla.methods.tokens.train_tokens import train_tokens

        made = train_tokens(self, clicks, epochs=epochs, rate=rate, **options)
        return self._kept(made) if self.learned else made

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Return itself, if no click taught it; else learn its table again. A table that came from elsewhere raises."""
        if not self.learned or (self._recipe is not None and self._recipe.kind == "taught_tokens"):
            return self
        if self._recipe is None or self._recipe.kind not in ("tokens", "train_tokens", "train_sidr"):
            raise InputError(
                "A table from elsewhere cannot forget clicks. Give a function in its place, such as `vizsla.tokens`."
            )
        again: Self = refit(self, dataset, threads=threads)
        return again

    @property
    def takes_items(self) -> bool:
        """Whether items are one text: one of weighed fields is built again."""
        return not self.fields

    def with_items(self, items: Any) -> Self:
        """Return a retriever with more items; the lists that are there are shared, and a learned table is not changed.

        Examples
        --------
        >>> tokens({"a": "a fig tree"}).with_items({"b": "an apple tree"})("apple").ids
        [['b']]
        """
        self._check_whole("items")
        stream = TextStream(items)
        grown, rows = self._grown(list(stream))
        known = set(stream.ids) & set(self.items) if len(stream.ids) < len(self.items) else set()
        if known:
            raise InputError(f"`items` must be new. Got {min(known)!r}, which is there: take it out first.")
        frequencies = np.append(self.frequencies, np.zeros(grown.dim - self.encoder.dim, np.int64))
        frequencies += np.bincount(rows.columns, minlength=grown.dim)
        lengths = np.append(self.lengths, np.diff(rows.offsets).astype(np.int32))
        index = self.index.appended(rows, _norms(lengths, self.b))
        ids = grown_ids(self.items, stream.ids)
        return self._followed(ids, grown, index, frequencies, lengths)

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Self:
        self._check_whole("ids")
        numbers = kept_items(self.items, ids)
        kept = np.isin(np.arange(len(self.items)), numbers)
        index = self.index.restricted(kept)
        lengths = self.lengths[kept]
        frequencies = np.bincount(index.item_rows().columns, minlength=self.encoder.dim).astype(np.int64)
        left = left_ids(self.items, numbers)
        index = index.with_norms(_norms(lengths, self.b))
        return self._followed(left, self.encoder.words, index, frequencies, lengths)

    def _check_whole(self, name: str) -> None:
        if self.fields:
            raise InputError(
                f"`{name}` must go to a retriever of whole texts. Got one of weighed fields: build it again."
            )

    def _grown(self, texts: list[str]) -> tuple[BagOfWords, SparseRows]:
        grown = self.encoder.words.grown(texts)
        return grown, grown.items(texts)

    def _followed(
        self,
        items: Strings,
        tokens: BagOfWords,
        index: TokenIndex,
        frequencies: NDArray[np.int64],
        lengths: NDArray[np.int32],
    ) -> Self:
        """Return a retriever of other items, whose table is the idf of these, or what was learned.

        Either way a token that no item holds weighs 0, and one that comes to a learned table weighs its idf.
        """
        weights, encoder = idf(frequencies, len(items)), self.encoder
        old = encoder.table if isinstance(encoder, SidrEncoder) else encoder
        if self.learned:
            known = np.flatnonzero((self.frequencies > 0) & (frequencies[: old.dim] > 0))
            weights[known] = old.weights[known]
        offsets = np.append(old.offsets, np.full(tokens.dim - old.dim, old.offsets[-1]))
        table = TokenTable(tokens, weights, offsets, old.targets, old.gains)
        followed = encoder.with_table(table) if isinstance(encoder, SidrEncoder) else table
        counts: Any = {"frequencies": frequencies, "lengths": lengths}
        same: Any = {"b": self.b, "learned": self.learned, "half_life": self.half_life, "fields": self.fields}
        made = type(self)(items, followed, index, **same, **counts)
        return self._kept(made)

    def _with(self, **changes: Any) -> Self:
        same = {"items": self.items, "encoder": self.encoder, "index": self.index, "b": self.b}
        same |= {"frequencies": self.frequencies, "lengths": self.lengths, "learned": self.learned}
        same |= {"half_life": self.half_life, "fields": self.fields}
        return self._kept(type(self)(**{**same, **changes}), **{name: changes[name] for name in changes if name == "b"})

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        score = self._score_one(queries, item)
        row = SparseRows.of(self._rows(queries), name="queries")
        own = set(self.encoder.words.queries([queries.texts[0]]).columns.tolist())
        pairs = zip(row.columns.tolist(), row.values.tolist(), strict=True)
        parts = [self._share(token, weight, item, own=token in own) for token, weight in pairs]
        kept = [part for part, own in parts if part.score > 0 or own]
        shown = sorted(kept, key=lambda part: -part.score) if self.encoder.expands else kept
        norm = float(self.index.norms[item])
        return Explanation(score, f"tokens, norm {norm:.4f} × the sum over the query's tokens", shown)

    def _share(self, token: int, weight: float, item: int, *, own: bool) -> tuple[Explanation, bool]:
        name = f"{self.encoder.words.terms[token]!r}{'' if own else ' (expansion)'}"
        one = np.array([0, 1]), np.array([token], np.int32), np.ones(1, np.float32)
        asked = Candidates.from_rows([np.array([item], np.int32)])
        held = float(self.index.scores(SparseRows(*one, self.index.dim), asked).scores[0]) > 0
        if not held:
            return Explanation(0.0, f"{name}: not in the item"), own
        facts = f"in {self.frequencies[token]} of {len(self.items)} items, weight {weight:.4f}"
        return Explanation(weight * float(self.index.norms[item]), f"{name}: {facts}"), own

    def _write(self, writer: ArtifactWriter) -> None:
        fields = {"fields": self.fields} if self.fields else {}
        writer.parameters(b=float(self.b), learned=self.learned, half_life=self.half_life, **fields)
        writer.catalog("items", self.items)
        writer.child("table", self.encoder)
        writer.child("index", self.index)
        writer.array("frequencies", self.frequencies)
        writer.array("lengths", self.lengths)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        parts = reader.catalog("items"), _table(reader), reader.child("index", TokenIndex)
        counts = reader.array("frequencies", np.int64), reader.array("lengths", np.int32)
        options = {"b": reader.parameter("b", float), "learned": reader.parameter("learned", bool)}
        aged, fields = read_half_life(reader), reader.optional("fields", dict, None)
        return cls(*parts, frequencies=counts[0], lengths=counts[1], half_life=aged, fields=fields, **options)


def _table(reader: ArtifactReader) -> TokenTable | SidrEncoder:
    table = reader.child("table")
    if not isinstance(table, TokenTable | SidrEncoder):
        raise FormatError(f"{reader.path / 'table'}: expected what weighs tokens. Got kind {table.kind!r}.")
    return table


class FieldedRows(NamedTuple):
    """The tokens of items, and those of their fields.

    Attributes
    ----------
    words : BagOfWords
        The tokens, and after them those of fields, such as `title:fig`, which no query names.
    rows : SparseRows
        Which of them each item holds.
    lengths : int32 array
        How many tokens each item has; those of fields do not count.
    offsets, targets, gains : arrays
        The tokens of fields that each token adds to, and how many times its own weight.
    """

    words: BagOfWords
    rows: SparseRows
    lengths: Int32Array
    offsets: Int64Array
    targets: Int32Array
    gains: Float32Array


def fielded(words: BagOfWords, rows: SparseRows, weights: Mapping[str, float]) -> FieldedRows:
    """Join the rows of fields: a token counts the least weight, and more for each heavier field that holds it.

    Parameters
    ----------
    words : BagOfWords
        The tokens of all fields.
    rows : SparseRows
        One row for each field, item by item.
    weights : mapping of str to float
        What each field weighs.

    Examples
    --------
    >>> words, rows, _ = BagOfWords.fit_fields([("fig", "red fig"), ("", "fig")], None, 2)
    >>> found = fielded(words, rows, {"title": 3, "text": 1})
    >>> found.words.terms[:], found.rows.columns.tolist(), found.gains.tolist()
    (['fig', 'red', 'title:fig'], [0, 1, 2, 0], [2.0])
    """
    count, tokens, least = len(rows) // len(weights), words.dim, min(weights.values())
    row_of = row_numbers(rows.offsets)
    items, fields = np.divmod(row_of, len(weights))
    terms, known = [words.terms], tokens
    held = [np.stack([items, rows.columns])]
    sources: list[Int64Array] = []
    excesses: list[Float32Array] = []
    for at, (name, weight) in enumerate(weights.items()):
        if weight <= least:
            continue
        own = fields == at
        there, columns = np.unique(rows.columns[own], return_inverse=True)
        held.append(np.stack([items[own], known + columns]))
        terms.append(Strings.of(f"{name}:{token}" for token in words.terms.take(there.astype(np.int32))))
        sources.append(there)
        excesses.append(np.full(len(there), weight / least - 1, np.float32))
        known += len(there)
    pairs = np.concatenate(held, axis=1)
    items, columns = np.divmod(np.unique(pairs[0] * known + pairs[1]), known)
    bounds = np.searchsorted(items, np.arange(count + 1))
    joined_rows = SparseRows(bounds, columns.astype(np.int32), np.ones(len(columns), np.float32), known)
    lengths = np.bincount(items[columns < tokens], minlength=count).astype(np.int32)
    source = np.concatenate([np.zeros(0, np.int64), *sources]).astype(np.int64)
    order = np.argsort(source, kind="stable")  # targets of a token ascend, as fields do
    offsets = np.searchsorted(source[order], np.arange(known + 1))
    targets = (tokens + order).astype(np.int32)
    gains = np.concatenate([np.zeros(0, np.float32), *excesses])[order]
    return FieldedRows(_with_terms(words, terms), joined_rows, lengths, offsets, targets, gains)


def _with_terms(words: BagOfWords, terms: list[Strings]) -> BagOfWords:
    together = terms[0]
    for more in terms[1:]:
        together = joined(together, more)
    forms = None if words.forms is words.terms else words.forms
    return BagOfWords(words.analyzer, together, forms, words.term_of_form if forms is not None else None)


@builds("tokens", data="items")
@validate_args
def tokens(
    items: Any,
    clicks: Any = None,
    *,
    ids: Iterable[str] | None = None,
    analyzer: Analyzer | None = None,
    b: float | str = "auto",
    epochs: int | str = "auto",
    rate: float = 0.1,
    negatives: int = 64,
    temperature: float = 1.0,
    expansions: int = 64,
    batch: int = 128,
    half_life: float | str | None = None,
    seed: int = 0,
    fields: Mapping[str, float] | str | None = None,
) -> TokenRetriever:
    """Build a retriever over binary token lists; from clicks it learns what the tokens of a query weigh.

    Without clicks a token weighs its idf.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; read once, never held.
    clicks : Dataset or iterable, optional
        A Dataset, or (query text, item id) pairs with or without a weight; those of a Dataset in `items` unless given.
    ids : iterable of str, optional
        Ids for texts that have none; without it an item's id is its number in decimal.
    analyzer : Analyzer, optional
        How texts become tokens: a `WordPiece`, an `AnyLanguage`, or lower-cased words unless given.
    b : float or "auto"
        Weight of the item's length, from 0 to 1. "auto" selects it on the dataset's clicks, where there are
        enough, and else takes 0.5.
    epochs : int or "auto"
        Passes over the clicks; 0 learns nothing. "auto" selects it on held-out clicks.
    rate, negatives, temperature, expansions, batch, half_life
        How to learn; see `vizsla.learning.train_tokens`.
    seed : int
        Seed of the clicks that `b` is selected on, and of those that are held out.
    fields : weights by name, optional
        Fields whose tokens count apart, such as {"title": 3, "description": 1}: a token counts the least of these
        weights, and for each heavier field that holds it what that one weighs more.

    Examples
    --------
    >>> tokens(["a fig tree", "an apple tree"])("fig").ids
    [['0']]
    >>> tokens({"a": "a fig", "c": "a red car"}, [("vehicle", "c")], epochs=3)("vehicle", k=1).ids
    [['c']]
    """
    if isinstance(b, str) and b != "auto":
        raise InputError(f'`b` must be a number from 0 to 1, or "auto". Got {b!r}.')
    from vizsla.data.dataset import Dataset
    from vizsla.learning.selection import Choice
    from vizsla.methods.tokens.train_tokens import train_tokens
    from vizsla.methods.tokens.tuning import chosen_b

    if clicks is None and isinstance(items, Dataset) and items.clicks.nnz:
        clicks = items
    start = DEFAULT_B if isinstance(b, str) else b
    made = TokenRetriever.build(items, ids=ids, analyzer=analyzer, b=start, fields=fields)
    if isinstance(b, str):
        made = made.with_b(chosen_b(made, clicks, seed=seed))
    if clicks is None or epochs == 0:
        settle(made, epochs=0)
        return made
    learned = train_tokens(
        made, clicks, epochs=epochs, rate=rate, negatives=negatives, temperature=temperature, expansions=expansions,
        batch=batch, half_life=half_life, seed=seed,
    )  # fmt: skip
    chosen: dict[str, Any] = {"b": made.b}
    if isinstance(epochs, str) and isinstance(learned.report, Choice):
        chosen["epochs"] = int(learned.report.chosen["epochs"])
    settle(learned, **chosen)
    return learned


@builds("token_weights", data=None)
def token_weights(base: TokenRetriever, table: Encoder) -> TokenRetriever:
    """Return a retriever with other query weights, as `TokenRetriever.with_table` does."""
    return base.with_table(table)


def _norms(lengths: NDArray[np.int32], b: float) -> NDArray[np.float32]:
    return length_norms(lengths, float(lengths.mean()) if len(lengths) else 0.0, b)
