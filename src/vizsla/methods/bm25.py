"""BM25: the retriever over weighted posting lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.terminal import progress
from vizsla.base.index_retriever import RowSpaceRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds, settle
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError, check_range
from vizsla.indexes.inverted import InvertedIndex
from vizsla.io.frames import plain_items
from vizsla.learning.clicks import ClickLog
from vizsla.learning.selection import Choice
from vizsla.methods.bm25_fields import (
    HALF_COUNT,
    MAX_QUERIES,
    MEASURED_DEPTH,
    Field,
    FieldPostings,
    FieldRows,
    choose_fields,
    describe_fields,
    read_fields,
    too_few_clicks,
)
from vizsla.methods.bm25_mixed import OWN_LANGUAGE, MixedWords, QueryWords
from vizsla.methods.bm25_statistics import VARIANTS as VARIANTS
from vizsla.methods.bm25_statistics import Statistics, Weighting
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.fields import FieldStream, FieldWeights, resolved
from vizsla.text.streams import TextStream
from vizsla.typing import BoolArray, Float64Array, Int32Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

LAYOUT = 3
"""Of what is stored: since 3 the statistics may count fields."""
WITHOUT_FIELDS = 2
"""The layout before, which is read as an index without fields."""


DEFAULT_B = 0.75


class Bm25(RowSpaceRetriever):
    """Exact BM25 search over a catalog of texts. Use `bm25` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    statistics : Statistics
        The vocabulary and its counts over the whole catalog, of which these items may be a shard.
    index : InvertedIndex
        Impacts of the terms on the items.
    weighting : Weighting
        The variant and its parameters.
    field_postings : FieldPostings, optional
        The counts of words by field, of which explanations tell what each field gives.

    Examples
    --------
    >>> search = bm25({"a": "a fig tree", "b": "an apple tree", "c": "plums"})
    >>> search("fig tree", k=2).ids
    [['a', 'b']]
    >>> print(search.explain("fig tree", "b"))
    0.1666  bm25 lucene, the sum over the query's words
    ├─ 0.0000  'fig': in 1 of 3 items, idf 0.9808
    └─ 0.1666  'tree': in 2 of 3 items, idf 0.4700
    """

    kind = "bm25"
    scale = "bm25"
    encoder: BagOfWords | MixedWords
    index: InvertedIndex

    @validate_args
    def __init__(
        self,
        items: Strings,
        statistics: Statistics,
        index: InvertedIndex,
        weighting: Weighting,
        field_postings: FieldPostings | None = None,
    ):
        mixed = statistics.languages is not None
        super().__init__(items, MixedWords(statistics, weighting) if mixed else statistics.words, index)
        self.statistics, self.weighting, self._field_postings = statistics, weighting, field_postings
        counted = () if statistics.fields is None else statistics.fields.names
        if tuple(field.name for field in weighting.fields) != counted:
            raise InputError(f"`statistics` must count the fields of `weighting`. Got {', '.join(counted) or 'none'}.")
        if len(items) > statistics.documents:
            raise InputError(f"`statistics` must count all {len(items)} items. Got {statistics.documents}.")

    @property
    def words(self) -> BagOfWords:
        """How a text becomes terms."""
        return self.statistics.words

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """The number of items of the whole catalog that hold each term."""
        return self.statistics.frequencies

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields whose words are weighed apart, with their weights; none where a text is one field."""
        return self.weighting.fields

    @classmethod
    def _of_fields(
        cls,
        items: Any,
        ids: Iterable[str] | None,
        analyzer: Analyzer,
        weighting: Weighting,
        given: FieldWeights,
        b: float | Mapping[str, float],
        statistics: Statistics | None,
        seed: int,
    ) -> Self:
        names = resolved(items, given.names)
        own = dict(zip(resolved(items, tuple(b)), b.values(), strict=True)) if isinstance(b, Mapping) else {}
        fields = tuple(
            Field(name, weight, check_range("b", own.get(name, weighting.b), 0, 1))
            for name, weight in zip(names, given.weights or (1.0,) * len(names), strict=True)
        )
        stream = FieldStream(items, names, ids)
        words, rows = read_fields(progress(stream.rows(), what="reading"), names, analyzer)
        weighting = replace(weighting, fields=fields)
        report = None
        if given.weights is None and statistics is None:
            weighting, report = _chosen_fields(cls, items, stream.ids, words, rows, weighting, seed)
            kept = [names.index(field.name) for field in weighting.fields]
            if len(kept) < len(names):  # words that only the others held are not in the vocabulary of what is left
                names = tuple(names[place] for place in kept)
                stream = FieldStream(items, names, ids)
                words, rows = read_fields(progress(stream.rows(), what="reading"), names, analyzer)
        made = cls._of_field_rows(stream.ids, words, rows, weighting, statistics)
        chosen = weighting.fields
        settle(made, fields={field.name: field.weight for field in chosen}, b={field.name: field.b for field in chosen})
        if report is not None:
            made.report = report
        return made

    @classmethod
    def _of_field_rows(
        cls,
        ids: Strings,
        words: BagOfWords,
        rows: FieldRows,
        weighting: Weighting,
        statistics: Statistics | None = None,
    ) -> Self:
        names = tuple(field.name for field in weighting.fields)
        own = statistics is None
        statistics = Statistics.of_fields(words, rows, names) if statistics is None else statistics
        if statistics.fields is None or statistics.fields.names != names:
            raise InputError(f"`statistics` must count the fields {', '.join(names)}. Got others: give them `fields`.")
        weighed = rows.weighed(weighting.fields, statistics.fields)
        if not own:
            weighed = statistics.over(words, weighed)
        index = _invert(weighed, rows.places, statistics, weighting)
        listed = weighed if statistics.languages is None else statistics.over_lists(weighed, rows.places)
        held = _held(listed, statistics, weighting)
        return cls(ids, statistics, index, weighting, FieldPostings.of(listed, rows.counts, rows.lengths, held))

    @property
    def nbytes(self) -> int:
        """Bytes of postings, vocabulary and counts: all that searching, scoring and explaining need."""
        fields = 0 if self._field_postings is None else self._field_postings.nbytes
        return int(super().nbytes + self.frequencies.nbytes + fields)

    def _live_parts(self) -> Iterable[Any]:
        return (
            self.encoder,
            self.statistics,
            self.statistics.words,
        )

    def __repr__(self) -> str:
        analyzer = self.words.analyzer
        languages = analyzer.languages if isinstance(analyzer, AnyLanguage) else ()
        spoken = "".join(f", {language}" for language in languages)
        return f"Bm25({len(self.items):,} items, {self.weighting.variant}{spoken})"

    @property
    def column_weights(self) -> NDArray[np.float32]:
        """The idf of each column: a query's row holds counts, an item's rare words above common ones.

        With several languages it is a query's row that holds idf, so each column is divided by it.
        """
        if isinstance(self.encoder, MixedWords):
            return self.encoder.column_weights
        return self._idf.astype(np.float32)

    @property
    def new_column_weight(self) -> float:
        """What a word weighs that no item holds: as much as one that is in a single item."""
        if isinstance(self.encoder, MixedWords):
            return 1 / self.encoder.rarest
        return super().new_column_weight

    def item_rows(self, items: NDArray[np.int64] | slice = slice(None)) -> csr_array:
        """Return what each term gives these items."""
        return self.index.to_csr()[items]

    def grown_encoder(self, texts: Iterable[str]) -> BagOfWords | MixedWords:
        """Return an encoder that also knows the words of these texts."""
        if isinstance(self.encoder, MixedWords):
            return MixedWords(self.statistics, self.weighting, self.words.grown(texts))
        return self.words.grown(texts)

    def index_rows(self, rows: Any) -> InvertedIndex:
        """Index other rows over the same terms, or over a vocabulary that has grown; sums are made as in this one."""
        moved, idf = SparseRows.of(rows, name="rows"), self._idf
        # A word that only the grown vocabulary knows is in no item: it gives an item without it nothing.
        more = np.zeros(max(moved.width - len(idf), 0))
        rest = np.ones(len(more)) if isinstance(self.encoder, MixedWords) else more
        priorities = self.weighting.gains(np.append(idf, rest)).astype(np.float32)
        absent = _absent(self.encoder, self.weighting, idf)
        absent = None if absent is None else np.append(absent, more)
        return InvertedIndex.from_rows(moved, absent=absent, priorities=priorities)

    @property
    def _idf(self) -> NDArray[np.float64]:
        """What each column's impacts hold of its idf: all of it, or nothing where there are several languages."""
        if isinstance(self.encoder, MixedWords):
            return np.ones(self.encoder.dim)
        return self.weighting.idf(self.frequencies, self.statistics.documents)

    @property
    def takes_items(self) -> bool:
        """Whether the counts of its words follow from the index: see `bm25_items.keeps_counts`."""
        from vizsla.methods.bm25_items import keeps_counts

        return keeps_counts(self)

    def with_items(self, items: Mapping[str, str] | Iterable[Any]) -> Self:
        """Return the index of all items at once, whose new ids must be new; the analyzer and its languages stay.

        Examples
        --------
        >>> bm25({"a": "a fig tree"}).with_items({"b": "an apple tree"})("apple").ids
        [['b']]
        """
        from vizsla.methods.bm25_items import add_items

        return add_items(self, items)

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Self:
        from vizsla.methods.bm25_items import remove_items

        return remove_items(self, ids)

    def _over_counts(self, items: Strings, statistics: Statistics, rows: SparseRows, places: Int32Array) -> Self:
        index = _invert(rows, places, statistics, self.weighting)
        return self._kept(type(self)(items, statistics, index, self.weighting))

    def _with(self, **changes: Any) -> Self:
        changes.pop("encoder", None)  # it has the fingerprint of this one, and follows from the statistics
        same = {"items": self.items, "statistics": self.statistics, "index": self.index, "weighting": self.weighting}
        if "index" not in changes:
            same["field_postings"] = self._field_postings
        return self._kept(type(self)(**{**same, **changes}))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        score = self._score_one(queries, item)
        text = queries.texts[0]
        what = f"bm25 {self.weighting.variant}, the sum over the query's words"
        if self.fields:
            what += f" in {describe_fields(self.fields)}"
        if isinstance(self.encoder, MixedWords):
            query = self.encoder.read([text])[0]
            if (language := self._language_of(query)) is not None:
                what += f"; the query is in {language}, whose items count {OWN_LANGUAGE:g} times"
            return Explanation(score, what, self._word_shares(self.encoder, query, item))
        words = self.words.analyzer.query_counts(text)
        return Explanation(score, what, [self._share(word, count, item) for word, count in words.items()])

    def _word_shares(self, encoder: MixedWords, query: QueryWords, item: int) -> list[Explanation]:
        """Return what each word of a query gives an item of a catalog in several languages."""
        shares = []
        for text, times in query.times.items():
            word = encoder.word(text, query.language)
            if not word.holders:
                shares.append(Explanation(0.0, f"{text!r}: in no item"))
                continue
            row = encoder.row_of(text, times, query.language)
            share = self._scored(row, item)
            items = "items" if word.documents == self.statistics.documents else f"{self._language_of(query)} items"
            facts = f"in {word.holders} of {word.documents} {items}, idf {word.idf:.4f}"
            parts = self._field_shares(row, item, share)
            shares.append(Explanation(share, f"{text!r}: {facts}{_times(times)}", parts))
        return shares

    def _language_of(self, query: QueryWords) -> str | None:
        return self.words.analyzer.languages[query.language] if query.language >= 0 else None

    def _scored(self, row: SparseRows, item: int) -> float:
        one = Candidates.from_rows([np.array([item], np.int32)])
        return float(self.index.scores(row, one).scores[0])

    def _share(self, word: str, count: float, item: int) -> Explanation:
        term = self.words.terms.find(word)
        if term < 0:
            return Explanation(0.0, f"{word!r}: in no item")
        row = SparseRows(np.array([0, 1]), np.array([term], np.int32), np.array([count], np.float32), self.words.dim)
        share = self._scored(row, item)
        counts = self.statistics
        idf = float(self.weighting.idf(counts.frequencies[term : term + 1], counts.documents)[0])
        facts = f"in {counts.frequencies[term]} of {counts.documents} items, idf {idf:.4f}"
        return Explanation(share, f"{word!r}: {facts}{_times(count)}", self._field_shares(row, item, share))

    def _field_shares(self, row: SparseRows, item: int, share: float) -> list[Explanation]:
        """Return what each field gives of the share of some columns: as much as of the word's frequency."""
        known, counted = self._field_postings, self.statistics.fields
        if known is None or counted is None or not share:
            return []
        given = np.zeros(len(self.fields))
        place = 0
        for column, weight in zip(row.columns.tolist(), row.values.tolist(), strict=True):
            posting = self.index.find(column, item)
            if posting is None:
                continue
            if self.statistics.languages is not None:
                place = int(self.statistics.languages.languages[column])
            part = known.shares(self.fields, posting[0], item, counted.means[place])
            given += weight * posting[1] * part
        parts = [
            Explanation(float(each), f"{field.name}: {known.lengths[item, at] * HALF_COUNT:g} words long")
            for at, (field, each) in enumerate(zip(self.fields, given.tolist(), strict=True))
            if each
        ]
        floor = share - float(given.sum())
        return parts if abs(floor) < 1e-4 * share else [*parts, Explanation(floor, "what every item gets")]

    @property
    def _own_report(self) -> Choice | None:
        return self.report if isinstance(self.report, Choice) else None

    def _write(self, writer: ArtifactWriter) -> None:
        how = self.weighting
        fields = [[field.name, field.weight, field.b] for field in how.fields]
        known = self._field_postings
        shares, choice = 0 if known is None else known.counts.dtype.itemsize, self._own_report
        writer.parameters(
            layout=LAYOUT, variant=how.variant, k1=how.k1, b=how.b, delta=how.delta, fields=fields, field_bytes=shares,
            choice=None if choice is None else choice.to_dict(),
        )  # fmt: skip
        if known is not None:
            known.write(writer)
        writer.catalog("items", self.items)
        writer.child("statistics", self.statistics)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        if (layout := reader.parameter("layout", int)) not in (WITHOUT_FIELDS, LAYOUT):
            raise FormatError(f"{reader.path}: expected layout {LAYOUT}. Got {layout}: build the index anew.")
        index = reader.child("index", InvertedIndex)
        items, statistics = reader.catalog("items"), reader.child("statistics", Statistics)
        k1, b, delta = (reader.parameter(name, float) for name in ("k1", "b", "delta"))
        fields = _read_fields(reader)
        weighting = Weighting(reader.parameter("variant", str), k1, b, delta, fields)
        known, size = None, reader.optional("field_bytes", int, 0)
        if size:
            known = FieldPostings.read(reader, index.postings, len(items), len(fields), size)
        made = cls(items, statistics, index, weighting, known)
        if (choice := reader.optional("choice", (dict, type(None)), None)) is not None:
            made.report = Choice.of(choice)
        return made


def _read_fields(reader: ArtifactReader) -> tuple[Field, ...]:
    rows = reader.optional("fields", list, [])
    numbers = (int, float)
    for row in rows:
        sound = isinstance(row, list) and len(row) == 3 and isinstance(row[0], str)
        if not sound or not all(isinstance(each, numbers) and not isinstance(each, bool) for each in row[1:]):
            raise FormatError(f"{reader.path}: a field must have a name, a weight and a b. Got {row!r:.80}.")
        if not 0 < row[1] <= 1e6 or not 0 <= row[2] <= 1:
            raise FormatError(
                f"{reader.path}: a field must have a weight above 0 and a b from 0 to 1. Got {row!r:.80}."
            )
    return tuple(Field(name, float(weight), float(b)) for name, weight, b in rows)


@builds("bm25", data="items")
@validate_args
def bm25(
    items: Any,
    *,
    ids: Iterable[str] | None = None,
    analyzer: Analyzer | None = None,
    variant: str = "lucene",
    k1: float = 1.5,
    b: float | Mapping[str, float] = 0.75,
    delta: float = 0.5,
    fields: Mapping[str, float] | Sequence[str] | str | None = None,
    statistics: Statistics | None = None,
    seed: int = 0,
) -> Bm25:
    """Build a BM25 retriever.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; read once, never held.
    ids : iterable of str, optional
        Ids for texts that have none; without it an item's id is its number in decimal.
    analyzer : Analyzer, optional
        How texts become words; `AnyLanguage`, which detects the languages, unless given.
    variant : {"lucene", "robertson", "atire", "bm25l", "bm25+"}
        The formula.
    k1 : float
        Saturation of repeated words: larger values saturate later.
    b : float
        Weight of the item's length, from 0 to 1; with `fields`, also one number per field by name.
    delta : float
        The floor of bm25l and bm25+.
    fields : weights by name, names, or "learn", optional
        Fields whose words are weighed apart (BM25F), such as title^3,description; "learn" chooses weights on clicks.
        Weights by name are another form: {"title": 3, "description": 1}. The frequencies of a word are weighted and
        normalized field by field before they saturate. Of names without weights, or "learn" for the title and the
        text, weights and `b` are chosen on the dataset's clicks, and `report` says how. Without it, an item is one
        text: its fields joined.
    statistics : Statistics, optional
        Counts of a whole catalog, when `items` are a shard of it: the scores are then those of the whole. They must
        have counted these items; a word that they lack raises.
    seed : int
        Seed of the sample of queries that weights are selected on.

    Examples
    --------
    >>> bm25(["a fig tree", "an apple tree"])("fig").ids
    [['0']]
    """
    analyzer = analyzer or (AnyLanguage() if statistics is None else statistics.analyzer)
    items = plain_items(items)
    if fields is not None:
        weighting = Weighting(variant, k1, DEFAULT_B if isinstance(b, Mapping) else b, delta)
        return Bm25._of_fields(items, ids, analyzer, weighting, FieldWeights.of(fields), b, statistics, seed)
    if isinstance(b, Mapping):
        raise InputError("`b` must be one number unless `fields` are given. Got several.")
    weighting, stream = Weighting(variant, k1, b, delta), TextStream(items, ids)
    words, rows, places = BagOfWords.fit_items(progress(stream, what="reading"), analyzer)
    if statistics is None:
        statistics = Statistics.of_rows(words, rows, places)
    else:
        rows = statistics.over(words, rows)
    return Bm25(stream.ids, statistics, _invert(rows, places, statistics, weighting), weighting)


def _chosen_fields(
    kind: type[Bm25], items: Any, ids: Strings, words: BagOfWords, rows: FieldRows, weighting: Weighting, seed: int
) -> tuple[Weighting, Choice | None]:
    """Return the weighting with weights of fields that are chosen on the clicks of a dataset."""
    log = ClickLog.of(items, ids) if isinstance(items, Dataset) and items.clicks.nnz else None
    if too_few_clicks(0 if log is None else len(log)) or log is None:
        return weighting, None
    drawn = np.random.default_rng(seed).permutation(len(log))[:MAX_QUERIES]
    sample = log.take(np.sort(drawn))
    names = [field.name for field in weighting.fields]

    def measured(fields: tuple[Field, ...]) -> Float64Array:
        kept = rows if len(fields) == len(names) else rows.only([names.index(field.name) for field in fields])
        trial = kind._of_field_rows(ids, words, kept, replace(weighting, fields=fields))
        return sample.reciprocal_ranks(trial.search_encoded(trial.encode(sample.texts), MEASURED_DEPTH))

    fields, choice = choose_fields(weighting.fields, measured)
    return replace(weighting, fields=fields), choice


def _held(rows: SparseRows, statistics: Statistics, weighting: Weighting) -> BoolArray:
    """Return which entries of rows become postings: those of words that have a gain."""
    if statistics.languages is not None:
        return np.ones(len(rows.columns), np.bool_)
    return (weighting.idf(statistics.frequencies, statistics.documents) > 0)[rows.columns]


def _times(count: float) -> str:
    return "" if count == 1 else f", {count:g} times in the query"


def _invert(rows: SparseRows, places: NDArray[np.int32], statistics: Statistics, weighting: Weighting) -> InvertedIndex:
    lengths = _native.row_sums(rows.offsets, rows.values)
    encoder: BagOfWords | MixedWords = statistics.words
    if statistics.languages is None:
        norms = weighting.norms(lengths, statistics.mean_length)
        idf = weighting.idf(statistics.frequencies, statistics.documents)
    else:
        norms = weighting.norms(lengths, statistics.languages.means[places])
        encoder, rows = MixedWords(statistics, weighting), statistics.over_lists(rows, places)
        idf = np.ones(encoder.dim)
    gains = weighting.gains(idf)
    # Sums are made by gains, which all shards share, not by what a shard's own items get at most.
    return InvertedIndex.from_rows(
        rows, gains=gains, norms=norms, absent=_absent(encoder, weighting, idf), priorities=gains.astype(np.float32)
    )


def _absent(encoder: BagOfWords | MixedWords, weighting: Weighting, idf: NDArray[np.float64]) -> Float64Array | None:
    """Return what each column gives an item without it; with several languages, the one behind the lists does."""
    if isinstance(encoder, BagOfWords):
        return weighting.absent(idf)
    floor = weighting.absent(np.ones(1))
    return None if floor is None else np.append(np.zeros(len(idf) - 1), floor)
