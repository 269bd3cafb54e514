"""Candidates: the ranked answer to one or many queries, with scores of given pairs and what an answer cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import import_extra
from vizsla.core.catalog import Excerpt
from vizsla.core.hits import Hit as Hit
from vizsla.core.hits import answer_columns, answers_html, hits_of
from vizsla.core.sparse import are_offsets, row_numbers
from vizsla.core.strings import Strings
from vizsla.core.validation import as_array, is_iterable, validate_args
from vizsla.errors import InputError, check_positive
from vizsla.typing import Float32Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True)
class Stats:
    """The cost of an answer, summed over all queries of the call.

    Parameters
    ----------
    ms : float
        Wall-clock milliseconds.
    scored : int
        (query, item) pairs that were scored one by one by arithmetic: inner products, sums over words.
    model_calls : int
        (query, item) pairs that went to a model, such as a cross-encoder: the ones that are paid for.
    postings : int
        Entries of inverted lists that were read.
    bytes : int
        Bytes of index data that were read, where the index can tell.
    exact : bool
        Whether it is certain that scoring every item that a search can find would give the same answer. Items that a
        search cannot find, such as those that share no word with the query, do not count.
    estimated : int
        (query, item) pairs whose score is an estimate, because a budget was spent.
    widened : int
        Queries for which a tree followed more nodes than its beam, because a filter left fewer than `k` items in it.

    Examples
    --------
    >>> Stats(ms=1.5, scored=10, exact=True) + Stats(ms=0.5, postings=7)
    Stats(ms=2.0, scored=10, model_calls=0, postings=7, bytes=0, exact=False, estimated=0, widened=0)
    """

    ms: float = 0.0
    scored: int = 0
    model_calls: int = 0
    postings: int = 0
    bytes: int = 0
    exact: bool = False
    estimated: int = 0
    widened: int = 0

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.ms + other.ms,
            self.scored + other.scored,
            self.model_calls + other.model_calls,
            self.postings + other.postings,
            self.bytes + other.bytes,
            self.exact and other.exact,
            self.estimated + other.estimated,
            self.widened + other.widened,
        )

    def with_ms(self, ms: float) -> Stats:
        """Return the same cost with another time."""
        # Every single query pays this: `dataclasses.replace` takes three times as long.
        return Stats(
            ms, self.scored, self.model_calls, self.postings, self.bytes, self.exact, self.estimated, self.widened
        )

    def with_exact(self, exact: bool) -> Stats:
        """Return the same cost of an answer that is exact, or is not."""
        return Stats(
            self.ms, self.scored, self.model_calls, self.postings, self.bytes, exact, self.estimated, self.widened
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures as a dict."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class PairScores(NamedTuple):
    """Scores of candidates, one per item, in the order of the candidates.

    Parameters
    ----------
    scores : float32 array
        One number an item.
    stats : Stats
        The cost of the scoring.
    """

    scores: NDArray[np.float32]
    stats: Stats


class Candidates:
    """For each query, the items found, best first; equal scores are ordered by item number.

    Inside are three flat arrays; outside are string ids. Without scores it is a match set, which a Scorer
    can score. Candidates are never changed: every method returns new ones.

    Parameters
    ----------
    offsets : int64 array
        Row `q` is `items[offsets[q]:offsets[q + 1]]`.
    items : int32 array
        Item numbers.
    scores : float32 array or None
        Higher is better. None for a match set.
    catalog : Strings, optional
        Item ids by number. Without it an item's id is its number in decimal.
    query_ids : sequence of str, optional
        Without it a query's id is its row in decimal.
    stats : Stats, optional
        The cost of the answer.

    Examples
    --------
    >>> found = Candidates.from_dict({"q1": {"pear": 2.0, "fig": 3.0}, "q2": {}})
    >>> found.ids
    [['fig', 'pear'], []]
    >>> found[0][0]
    Hit(id='fig', score=3.0)
    """

    __slots__ = (
        "_catalog", "_confidences", "_hints", "_items", "_offsets", "_query_ids", "_scores", "_stats", "_upper_bounds",
    )  # fmt: skip

    @validate_args
    def __init__(
        self,
        offsets: Int64Array,
        items: Int32Array,
        scores: Float32Array | None,
        *,
        catalog: Strings | None = None,
        query_ids: Sequence[str] | None = None,
        stats: Stats | None = None,
    ):
        self._offsets = _fixed(as_array("offsets", offsets, np.int64), np.int64)
        self._items = _fixed(as_array("items", items, np.int32), np.int32)
        self._scores = None if scores is None else _fixed(as_array("scores", scores, np.float32), np.float32)
        self._catalog, self._query_ids, self._stats = catalog, query_ids, stats or Stats()
        self._upper_bounds: Float32Array | None = None
        self._hints: tuple[str, ...] = ()
        self._confidences: Float32Array | None = None
        self._check()

    @classmethod
    def unchecked(
        cls,
        offsets: Int64Array,
        items: Int32Array,
        scores: Float32Array | None,
        catalog: Strings | None,
        stats: Stats,
        query_ids: Sequence[str] | None = None,
        upper_bounds: Float32Array | None = None,
        hints: tuple[str, ...] = (),
    ) -> Candidates:
        """Wrap arrays of an index that are known to be right: the query path pays no second check."""
        self = cls.__new__(cls)
        self._offsets, self._items, self._scores = offsets, items, scores
        self._catalog, self._query_ids, self._stats, self._upper_bounds = catalog, query_ids, stats, upper_bounds
        self._hints, self._confidences = hints, None
        return self

    @classmethod
    @validate_args
    def ranked(
        cls,
        offsets: Int64Array,
        items: Int32Array,
        scores: Float32Array,
        *,
        catalog: Strings | None = None,
        query_ids: Sequence[str] | None = None,
        stats: Stats | None = None,
    ) -> Candidates:
        """Build from rows in any order: sorts each row best first, ties by item number."""
        given = cls(offsets, items, scores, catalog=catalog, query_ids=query_ids, stats=stats)
        return given.with_scores(PairScores(given._required_scores(), given.stats))

    def with_scores(self, scored: PairScores, *, k: int | None = None) -> Candidates:
        """Return the same items with these scores, given in their order, ranked and cut to the best `k`."""
        scores = np.ascontiguousarray(scored.scores, np.float32)
        most = len(self._items) if k is None else k
        try:
            offsets, items, ranked = _native.rank(self._offsets, self._items, scores, most)
        except ValueError as error:
            raise InputError(f"`scores` must be one number an item. Got others: {error}.") from error
        return Candidates.unchecked(
            self._offsets if k is None else np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            np.frombuffer(ranked, np.float32),
            self._catalog,
            scored.stats,
            self._query_ids,
            hints=self._hints,
        )

    def renumbered(self, catalog: Strings, items: Int32Array) -> Candidates:
        """Return the same items by their numbers in another catalog, equal scores in the order of these.

        Examples
        --------
        >>> found = Candidates.ranked(np.array([0, 2]), np.array([0, 1], np.int32), np.array([1, 1], np.float32))
        >>> found.renumbered(Strings.of(["pear", "fig"]), np.array([1, 0], np.int32)).ids
        [['pear', 'fig']]
        """
        moved = self.with_catalog(catalog, items)
        if self._scores is None:
            return moved
        if self._confidences is None:
            return moved.with_scores(PairScores(self._scores, self._stats)).with_upper_bounds(self._upper_bounds)
        return moved._taken(self._offsets, np.lexsort((items, -self._scores, self.row_numbers())))

    @classmethod
    @validate_args
    def from_dict(cls, answers: Mapping[str, Mapping[str, float]], *, catalog: Strings | None = None) -> Candidates:
        """Build from `{query id: {item id: score}}`; an unknown item id raises."""
        wrong = [type(row).__name__ for row in answers.values() if not isinstance(row, Mapping)]
        if wrong:
            raise InputError(f"`answers` must be {{query id: {{item id: score}}}}. Got {wrong[0]} for a query.")
        if catalog is None:
            catalog = Strings.of(dict.fromkeys(item for row in answers.values() for item in row))
        offsets = np.cumsum([0, *map(len, answers.values())], dtype=np.int64)
        items = catalog.find_all(item for row in answers.values() for item in row)
        if (items < 0).any():
            unknown = next(item for row in answers.values() for item in row if item not in catalog)
            raise InputError(f"Every item must be in the catalog. Got {unknown!r}.")
        scores = as_array("scores", [score for row in answers.values() for score in row.values()], np.float32)
        return cls.ranked(offsets, items.astype(np.int32), scores, catalog=catalog, query_ids=list(answers))

    @classmethod
    @validate_args
    def from_rows(
        cls, rows: Sequence[NDArray[np.int32]], *, catalog: Strings | None = None, stats: Stats | None = None
    ) -> Candidates:
        """Build a match set, without scores, from one array of item numbers a query."""
        arrays = [as_array("rows", row, np.int32).reshape(-1) for row in rows]
        offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
        items = np.concatenate([np.zeros(0, np.int32), *arrays])
        return cls(offsets, items, None, catalog=catalog, stats=stats)

    @classmethod
    def of_ids(cls, rows: Sequence[Sequence[str]], catalog: Strings) -> Candidates:
        """Build a match set from one list of item ids per query; an unknown or repeated id raises.

        Examples
        --------
        >>> Candidates.of_ids([["pear"], []], Strings.of(["fig", "pear"])).ids
        [['pear'], []]
        """
        numbers: list[NDArray[np.int32]] = []
        for row in rows:
            if not is_iterable(row) or isinstance(row, Mapping):
                raise InputError(f"`candidates` must be a list of item ids per query. Got {type(row).__name__}.")
            ids = list(row)
            found = catalog.find_all(ids)
            if (found < 0).any():
                raise InputError(f"Every candidate must be a known item. Got {ids[int(np.argmax(found < 0))]!r:.80}.")
            if len(set(ids)) < len(ids):
                repeated = next(id for at, id in enumerate(ids) if id in ids[:at])
                raise InputError(f"Every candidate must be given once per query. Got {repeated!r:.80} again.")
            numbers.append(found.astype(np.int32))
        return cls.from_rows(numbers, catalog=catalog)

    # Properties without setters: Candidates are never changed.

    @property
    def offsets(self) -> Int64Array:
        """Where each query's row begins; one more than there are queries."""
        return self._offsets

    @property
    def items(self) -> Int32Array:
        """Item numbers of all rows."""
        return self._items

    @property
    def scores(self) -> Float32Array | None:
        """A score an item, or None for a match set."""
        return self._scores

    @property
    def catalog(self) -> Strings | None:
        """Item ids by number, or None."""
        return self._catalog

    @property
    def stats(self) -> Stats:
        """What the answer cost."""
        return self._stats

    @property
    def upper_bounds(self) -> Float32Array | None:
        """For each query a score that no item outside of its row exceeds, where the search could tell."""
        return self._upper_bounds

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries' ids, or their row numbers in decimal."""
        if self._query_ids is None:
            return [str(row) for row in range(len(self))]
        return self._query_ids

    @property
    def ids(self) -> list[list[str]]:
        """Item ids, one list a query."""
        flat = self._flat_ids()
        bounds = self.offsets.tolist()
        return [flat[start:end] for start, end in itertools.pairwise(bounds)]

    @validate_args
    def row(self, query: int) -> tuple[Int32Array, Float32Array | None]:
        """Return item numbers and scores of one query, without a copy; negative rows count from the end."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        query %= len(self)
        at = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
        return self.items[at], None if self.scores is None else self.scores[at]

    def row_numbers(self) -> Int64Array:
        """Return the query number of each entry.

        Examples
        --------
        >>> Candidates([0, 2, 3], [4, 1, 5], [2.0, 1.0, 3.0]).row_numbers().tolist()
        [0, 0, 1]
        """
        return row_numbers(self._offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, query: int) -> list[Hit]: ...
    @overload
    def __getitem__(self, query: slice) -> Candidates: ...
    def __getitem__(self, query: int | slice) -> list[Hit] | Candidates:
        if isinstance(query, slice):
            return self._rows(range(len(self))[query])
        if not isinstance(query, int | np.integer):
            raise InputError(f"`query` must be a row number or a slice of them. Got {query!r}.")
        return list(hits_of(self, int(query)))

    def __iter__(self) -> Iterator[list[Hit]]:
        return (self[query] for query in range(len(self)))

    def __repr__(self) -> str:
        kind = "scored" if self.scores is not None else "match set"
        return f"Candidates({len(self)} queries, {len(self.items)} items, {kind}, {self.stats.ms:.2f} ms)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Candidates):
            return NotImplemented
        return (
            np.array_equal(self.offsets, other.offsets)
            and (self.scores is None) == (other.scores is None)
            and (self.scores is None or np.array_equal(self.scores, other.scores))  # type: ignore[arg-type]
            and (self.catalog is None) == (other.catalog is None)
            and self._same_items(other)
        )

    def _same_items(self, other: Candidates) -> bool:
        """Compare ids where the catalogs differ: a pickled answer renumbers its hits."""
        if self.catalog == other.catalog:
            return np.array_equal(self.items, other.items)
        return self._flat_ids() == other._flat_ids()

    __hash__ = None  # type: ignore[assignment]

    @validate_args
    def top(self, k: int) -> Candidates:
        """Keep the best `k` of every query.

        Examples
        --------
        >>> Candidates.from_dict({"q": {"a": 1.0, "b": 2.0}}).top(1).ids
        [['b']]
        """
        check_positive("k", k)
        lengths = np.diff(self._offsets)
        if not len(lengths) or lengths.max() <= k:
            return self
        if len(lengths) == 1:  # one query: no need to look at every item
            return self._taken(np.array((0, k)), slice(0, k))
        kept = np.arange(len(self._items)) - np.repeat(self._offsets[:-1], lengths) < k
        return self._taken(np.concatenate([[0], np.cumsum(np.minimum(lengths, k))]), kept)

    @validate_args
    def with_query_ids(self, query_ids: Sequence[str]) -> Candidates:
        """Name the queries."""
        if len(query_ids) != len(self):
            raise InputError(f"`query_ids` must name {len(self)} queries. Got {len(query_ids)}.")
        named = self._copy()
        named._query_ids = query_ids
        return named

    def with_catalog(self, catalog: Strings | None, items: Int32Array | None = None) -> Candidates:
        """Say which ids the item numbers stand for; with `items`, give the same items in that catalog's numbers."""
        moved = self._copy()
        moved._catalog, moved._items = catalog, self._items if items is None else items
        return moved

    def with_upper_bounds(self, upper_bounds: Float32Array | None) -> Candidates:
        """Say what no item outside of each row exceeds."""
        bounded = self._copy()
        bounded._upper_bounds = upper_bounds
        return bounded

    def with_stats(self, stats: Stats) -> Candidates:
        """Replace what the answer cost."""
        other = self._copy()
        other._stats = stats
        return other

    @property
    def hints(self) -> tuple[str, ...]:
        """Why the answer is empty, where its `where` allows no item: values that no item has."""
        return self._hints

    def with_hints(self, hints: tuple[str, ...]) -> Candidates:
        """Say why the answer is empty."""
        hinted = self._copy()
        hinted._hints = hints
        return hinted

    @property
    def confidences(self) -> Float32Array | None:
        """The probability that each item is clicked, from a retriever `with_confidence`; else None."""
        return self._confidences

    def with_confidences(self, confidences: Float32Array | None) -> Candidates:
        """Say how likely each item is to be clicked, one number an item in their order."""
        if confidences is not None and confidences.shape != self._items.shape:
            raise InputError(f"`confidences` must have one number an item ({len(self._items)}). Got others.")
        sure = self._copy()
        sure._confidences = confidences
        return sure

    def with_ms(self, ms: float) -> Candidates:
        """Replace the time in `stats`."""
        timed = self._copy()
        timed._stats = self._stats.with_ms(ms)
        return timed

    def _copy(self) -> Candidates:
        other = Candidates.__new__(Candidates)
        other._offsets, other._items, other._scores = self._offsets, self._items, self._scores
        other._catalog, other._query_ids, other._stats = self._catalog, self._query_ids, self._stats
        other._upper_bounds, other._hints, other._confidences = self._upper_bounds, self._hints, self._confidences
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the answer with the ids, texts and metadata of its hits alone, which are renumbered."""
        query_ids = None if self._query_ids is None else list(self._query_ids)
        items, catalog = self._items, self._catalog
        if catalog is not None:
            numbers, places = np.unique(items, return_inverse=True)  # in their order, so that ties stay as they are
            items, catalog = places.reshape(-1).astype(np.int32), Excerpt.taken(catalog, numbers)
        known = self._offsets, items, self._scores, catalog, self._stats, query_ids, self._upper_bounds, self._hints
        return _restored, (*known, self._confidences)

    def __copy__(self) -> Candidates:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Candidates:
        return self

    def unscored(self) -> Candidates:
        """Return the match set: the same items without scores."""
        bare = self._taken(self._offsets, slice(None))
        bare._scores = None
        return bare

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return `{query id: {item id: score}}`; the items keep their order."""
        scores = self._required_scores().tolist()
        flat, bounds = self._flat_ids(), self.offsets.tolist()
        return {
            query: dict(zip(flat[start:end], scores[start:end], strict=True))
            for query, start, end in zip(self.query_ids, bounds, bounds[1:], strict=False)
        }

    @validate_args
    def to_csr(self, *, items: int | None = None) -> csr_array:
        """Return queries × items as a SciPy CSR array; a stored zero is a found item with score 0.

        Columns are item numbers of the catalog. An answer that was pickled no longer has these, and raises.
        """
        from scipy.sparse import csr_array

        if isinstance(self.catalog, Excerpt):
            raise InputError(
                "`to_csr` must have the whole catalog for its columns. Got an answer that was pickled, which carries "
                "its hits only: use Candidates.from_dict(found.to_dict(), catalog=retriever.items)."
            )
        if items is not None:
            check_positive("items", items)
        width = items or (len(self.catalog) if self.catalog is not None else int(self.items.max(initial=-1)) + 1)
        matrix = csr_array((self._required_scores(), self.items, self.offsets), shape=(len(self), width))
        return matrix.sorted_indices()

    def to_trec(self, path: str | Path | None = None, *, tag: str = "vizsla") -> str:
        """Return the TREC run as text; with `path`, also write it there.

        Examples
        --------
        >>> Candidates.from_dict({"q": {"a": 1.5}}).to_trec()
        'q Q0 a 1 1.5 vizsla\\n'
        """
        from vizsla.io.atomic import writing
        from vizsla.io.trec import run_lines

        text = "".join(run_lines(self, tag=tag))
        if path is not None:
            with writing(path, overwrite=True) as out:
                out.write(text.encode())
        return text

    def to_pandas(self, fields: Sequence[str] | None = None) -> Any:
        """Return a row per hit: query, rank, score, id, confidence where it is known, and these fields of the items.

        Examples
        --------
        >>> Candidates.from_dict({"q": {"a": 1.5, "b": 2.0}}).to_pandas()[["query", "rank", "id"]].values.tolist()
        [['q', 1, 'b'], ['q', 2, 'a']]
        """
        return import_extra("pandas", "`to_pandas`", "pandas").DataFrame(answer_columns(self, fields))

    def to_polars(self, fields: Sequence[str] | None = None) -> Any:
        """Return the columns of `to_pandas` as a polars frame."""
        return import_extra("polars", "`to_polars`", "polars").DataFrame(answer_columns(self, fields))

    def to_arrow(self, fields: Sequence[str] | None = None) -> Any:
        """Return the columns of `to_pandas` as an Arrow table."""
        return import_extra("pyarrow", "`to_arrow`", "parquet").table(answer_columns(self, fields))

    def _repr_html_(self) -> str:
        """Show the answer as tables in a notebook; everything that comes from data is escaped."""
        return answers_html(self)

    @validate_args
    def show(self, *, k: int = 10, texts: Mapping[str, str] | None = None, fields: Sequence[str] | None = None) -> None:
        """Print a table of the best `k` of every query.

        Parameters
        ----------
        k : int
            How many items of each query.
        texts : mapping of id to text, optional
            Adds a column of these texts.
        fields : sequence of str, optional
            What is shown of the items' metadata, and "text" where texts were kept; unless given, texts or titles.
        """
        from vizsla.core.display import show_answers

        show_answers(self, k=k, texts=texts, fields=fields)

    @validate_args
    def select(self, positions: NDArray[np.int64]) -> Candidates:
        """Return the pairs at these ascending positions as a match set, in as many rows.

        Examples
        --------
        >>> pairs = Candidates.from_dict({"p": {"a": 2.0, "b": 1.0}, "q": {"a": 1.0}})
        >>> pairs.select(np.array([1, 2])).ids
        [['b'], ['a']]
        """
        offsets = np.searchsorted(positions, self._offsets).astype(np.int64)
        return Candidates.unchecked(offsets, self._items[positions], None, self._catalog, Stats())

    def metadata(self, query: int, fields: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return what is known of each item that one query found: its metadata, or the given fields.

        Examples
        --------
        >>> from vizsla import Dataset, bm25
        >>> bm25(Dataset.of([{"id": "f", "text": "a fig", "price": 3}]))("fig").metadata(0)
        [{'price': 3}]
        """
        from vizsla.core.display import known_fields

        return known_fields(self, query, fields)

    def _taken(self, offsets: Any, places: Any) -> Candidates:
        """Return the entries at these places, which are now the rows that `offsets` say."""
        taken = self._copy()
        taken._offsets, taken._items = _fixed(offsets, np.int64), _fixed(self._items[places], np.int32)
        taken._scores = None if self._scores is None else _fixed(self._scores[places], np.float32)
        taken._confidences = None if self._confidences is None else self._confidences[places]
        taken._upper_bounds = None
        return taken

    def _rows(self, rows: range) -> Candidates:
        parts = [slice(int(self._offsets[row]), int(self._offsets[row + 1])) for row in rows]
        at = np.concatenate([np.zeros(0, np.int64), *(np.arange(part.start, part.stop) for part in parts)])
        offsets = np.cumsum([0, *(part.stop - part.start for part in parts)], dtype=np.int64)
        ids = self.query_ids
        taken = self._taken(offsets, at)
        taken._query_ids = [ids[row] for row in rows]
        return taken

    def _flat_ids(self) -> list[str]:
        if self.catalog is None:
            return [str(number) for number in self.items.tolist()]
        return self.catalog.take(self.items)

    def _required_scores(self) -> Float32Array:
        if self.scores is None:
            raise InputError("These candidates must have scores. Got a match set: score it with a Scorer (`>>`).")
        return self.scores

    def _check(self) -> None:
        offsets, items = self.offsets, self.items
        if items.ndim != 1:
            raise InputError(f"`items` must be numbers in one dimension. Got {items.ndim} dimensions.")
        if self._catalog is not None and not isinstance(self._catalog, Strings):
            raise InputError(f"`catalog` must be Strings. Got {type(self._catalog).__name__}.")
        if not are_offsets(offsets, len(items)):
            raise InputError(f"`offsets` must rise from 0 to the number of items ({len(items)}). Got {offsets!r}.")
        limit = len(self.catalog) if self.catalog is not None else np.iinfo(np.int32).max
        if len(items) and not (items.min() >= 0 and items.max() < limit):
            raise InputError(f"`items` must be numbers from 0 to {limit - 1}. Got {items.min()} to {items.max()}.")
        if self._query_ids is not None and len(self._query_ids) != len(self):
            raise InputError(f"`query_ids` must name {len(self)} queries. Got {len(self._query_ids)}.")
        if self.scores is not None:
            if self.scores.shape != items.shape:
                raise InputError(f"`scores` must have one number an item ({len(items)}). Got {self.scores.shape}.")
            if np.isnan(self.scores).any():
                raise InputError("`scores` must be numbers. Got NaN: find the scorer that makes it.")


def _restored(
    offsets: Int64Array,
    items: Int32Array,
    scores: Float32Array | None,
    catalog: Strings | None,
    stats: Stats,
    query_ids: Sequence[str] | None,
    upper_bounds: Float32Array | None,
    hints: tuple[str, ...],
    confidences: Float32Array | None,
) -> Candidates:
    """Make a pickled answer again; its arrays cannot be written through."""
    scores = None if scores is None else _fixed(scores, np.float32)
    offsets, items = _fixed(offsets, np.int64), _fixed(items, np.int32)
    made = Candidates.unchecked(offsets, items, scores, catalog, stats, query_ids, upper_bounds, hints)
    return made.with_confidences(confidences)


def _fixed(values: Any, kind: type) -> NDArray[Any]:
    """Return a view of the array that cannot be written through."""
    array: NDArray[Any] = np.ascontiguousarray(values, dtype=kind).view()
    array.flags.writeable = False
    return array
