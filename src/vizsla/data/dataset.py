"""Dataset: items, queries, clicks and relevance judgments, with string ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property, import_extra
from vizsla.core.catalog import Item, Query
from vizsla.core.sparse import row_numbers, sound_csr
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type, validate_args
from vizsla.errors import InputError, check_choice
from vizsla.io.records import Records

if TYPE_CHECKING:
    from scipy.sparse import csr_array


SECONDS_PER_DAY = 86400.0


class ClickEvents(NamedTuple):
    """Single clicks with their times, which a matrix of sums does not have.

    Attributes
    ----------
    queries, items : int32 arrays
        Row and column of each click.
    weights : float64 array
        Weights of the clicks.
    times : float64 array
        When each was made: seconds since 1970.

    Examples
    --------
    >>> events = ClickEvents(np.array([0, 0]), np.array([0, 0]), np.ones(2), np.array([0.0, 30 * SECONDS_PER_DAY]))
    >>> events.decayed(30).matrix((1, 1)).toarray().tolist()
    [[1.5]]
    """

    queries: NDArray[np.int32]
    items: NDArray[np.int32]
    weights: NDArray[np.float64]
    times: NDArray[np.float64]

    def only(self, kept: NDArray[np.bool_]) -> ClickEvents:
        """Return some of the clicks."""
        return ClickEvents(self.queries[kept], self.items[kept], self.weights[kept], self.times[kept])

    def among(self, pairs: csr_array) -> ClickEvents:
        """Return the clicks whose query and item a matrix has an entry for."""
        kept = row_numbers(pairs.indptr) * pairs.shape[1] + pairs.indices
        return self.only(np.isin(self.queries.astype(np.int64) * pairs.shape[1] + self.items, kept))

    def decayed(self, half_life: float) -> ClickEvents:
        """Return the clicks with weights that halve every `half_life` days before the last click."""
        if not half_life > 0 or not np.isfinite(half_life):
            raise InputError(f"`half_life` must be days, above 0. Got {half_life!r}.")
        last = self.times.max(initial=-np.inf)
        ages = (last - self.times) / SECONDS_PER_DAY
        return self._replace(weights=self.weights * np.exp2(-ages / half_life))

    def matrix(self, shape: tuple[int, int]) -> csr_array:
        """Return queries × items: the weights summed, without zeros."""
        from scipy.sparse import csr_array

        summed = csr_array((self.weights, (self.queries, self.items)), shape=shape)
        summed.sum_duplicates()
        summed.eliminate_zeros()
        return summed.astype(np.float32)


@dataclass(frozen=True, slots=True)
class SplitReport:
    """The requested and the actual numbers of a split.

    Parameters
    ----------
    held_out_wanted, cold_wanted : float
        The shares that were asked for.
    queries : int
        Queries with clicks, before the split.
    cold_queries, warm_queries : int
        Held-out queries of either kind.
    clicks_set_aside : int
        Clicks on cold items by queries that stay in train; they are in neither part.

    Examples
    --------
    >>> SplitReport(0.1, 0.5, queries=100, cold_queries=5, warm_queries=5).cold
    0.5
    """

    held_out_wanted: float
    cold_wanted: float
    queries: int = 0
    cold_queries: int = 0
    warm_queries: int = 0
    clicks_set_aside: int = 0

    @property
    def held_out(self) -> float:
        """The share of queries that was held out."""
        return (self.cold_queries + self.warm_queries) / max(self.queries, 1)

    @property
    def cold(self) -> float:
        """The share of held-out queries that are cold."""
        return self.cold_queries / max(self.cold_queries + self.warm_queries, 1)


class Dataset:
    """Items, queries, clicks and judgments.

    Ids are held in memory; texts are read again from their source whenever they are iterated. Every matrix has one row
    a query and one column an item, in the order of `query_ids` and `item_ids`.

    Parameters
    ----------
    items, queries : Records
        Use `Dataset.of` or `Dataset.open` to make them.
    clicks : csr_array, optional
        Weights above 0.
    qrels : mapping of split name to csr_array
        Graded judgments; a stored 0 is judged and not relevant.
    warnings : tuple of str
        What was handled by a documented rule, counted.
    query_features : csr_array, optional
        Feature vectors that the source gives in place of texts (PECOS).
    split_report : SplitReport, optional
        How the dataset was made by `split`.
    events : ClickEvents, optional
        The clicks one by one, with their times, where the log has times.
    mapping : str
        Which columns are what, in words, where that was told by their names.

    Examples
    --------
    >>> ds = Dataset.of({"d1": "a red fig", "d2": "a pear"}, queries={"q1": "figs"}, clicks=[("q1", "d1", 3)])
    >>> ds
    Dataset(2 items, 1 queries, 1 clicks, splits: train)
    >>> ds.text("d2"), ds.clicks.toarray().tolist()
    ('a pear', [[3.0, 0.0]])
    """

    def __init__(
        self,
        items: Records[Item],
        queries: Records[Query],
        *,
        clicks: csr_array | None = None,
        qrels: Mapping[str, csr_array] | None = None,
        warnings: tuple[str, ...] = (),
        query_features: csr_array | None = None,
        split_report: SplitReport | None = None,
        events: ClickEvents | None = None,
        mapping: str = "",
    ):
        for name, records in {"items": items, "queries": queries}.items():
            check_type(name, records, Records, "Records; `Dataset.of` takes texts")
        self.items, self.queries, self.warnings = items, queries, warnings
        if qrels is not None and not isinstance(qrels, Mapping):
            raise InputError(f"`qrels` must be judgments by split. Got {type(qrels).__name__}.")
        shape = len(queries), len(items)
        self._clicks = None if clicks is None else _sound(clicks, "clicks", shape)
        self._qrels = {split: _sound(matrix, split, shape) for split, matrix in (qrels or {}).items()}
        self.query_features, self.split_report = query_features, split_report
        self.events, self.mapping = events, mapping

    @classmethod
    @validate_args
    def of(
        cls,
        items: Any,
        *,
        queries: Any = None,
        clicks: Any = None,
        qrels: Any = None,
        id: str | None = None,
        text: str | Sequence[str] | None = None,
        title: str | None = None,
        click_columns: Mapping[str, str] | None = None,
        dangling: str = "warn",
        meta: str | Sequence[str] | Mapping[str, str | None] | None = None,
        keep_texts: bool = False,
    ) -> Dataset:
        """Make a dataset from Python objects.

        Parameters
        ----------
        items, queries
            A list of texts (their ids are "0", "1", …), of (id, text) pairs, of dicts, of Items or Queries; a mapping
            of id to text; or a data frame: pandas, polars, Arrow. What a dict or a row holds besides id, text and title
            is metadata, and so is what a dict called `metadata` in it holds.
        clicks
            (query id, item id, weight) triples, pairs, or with a time as the fourth: a date, or seconds since 1970;
            `{query id: {item id: weight}}`, or `{query id: [item id]}`; or a data frame.
            Repeated pairs are summed. Without `queries`, the queries' texts stand in place of their ids.
        qrels
            The same forms with whole numbers as grades, for the split "test"; or a mapping of split to these.
        id, text, title : str, or several for `text`, optional
            Which columns of a data frame, or keys of dicts, are an item's id, its text and its title. Told by their
            names unless given, as of a file: see `vizsla.io.open.open_dataset`.
        click_columns : mapping, optional
            Which columns of a data frame of clicks are "query", "item", "weight" and "time", where they are unusual.
        dangling : {"warn", "raise"}
            What to do with clicks and judgments of unknown queries or items.
        meta : names, optional
            Which of the items' other fields are saved with their ids; all that are plain unless given, [] for none. A
            kind is told by the values, or declared: ["price:number", "tags:list"] or {"price": "number"}; "*" is all.
        keep_texts : bool
            Save the texts too, compressed, so that answers can show them.

        Examples
        --------
        >>> Dataset.of(["a fig", "a pear"], clicks=[("small fruit", "0")]).queries[0].text
        'small fruit'
        """
        from vizsla.io.builder import build_dataset, read_lists
        from vizsla.io.fields import Fields

        fields = Fields.named(id=id, text=text, title=title, meta=meta)
        given = {"queries": queries, "clicks": clicks, "qrels": qrels}
        parts = read_lists(items, **given, fields=fields, click_columns=click_columns)
        return build_dataset(parts, dangling=dangling, meta=meta, keep_texts=keep_texts, columns=fields.columns)

    @classmethod
    def open(cls, source: str | Path, **options: Any) -> Dataset:
        """Open a folder, a file or an ir_datasets id; see `vizsla.io.open.open_dataset` for the options."""
        from vizsla.io.open import open_dataset

        return open_dataset(source, **options)

    @property
    def item_ids(self) -> Strings:
        """Items' ids, by column."""
        return self.items.ids

    @property
    def query_ids(self) -> Strings:
        """Queries' ids, by row."""
        return self.queries.ids

    @cached_property
    def clicks(self) -> csr_array:
        """Click weights above 0, float32: the click log, or else the split "train" where its grade is above 0."""
        from scipy.sparse import csr_array

        if self._clicks is not None:
            return self._clicks
        if "train" not in self._qrels:
            shape = (len(self.queries), len(self.items))
            return csr_array(shape, dtype=np.float32)  # type: ignore[return-value]
        clicks = self._qrels["train"].astype(np.float32)
        clicks.data[clicks.data < 0] = 0
        clicks.eliminate_zeros()
        return clicks

    @property
    def has_click_log(self) -> bool:
        """Whether the clicks are a log of their own and not the split "train"."""
        return self._clicks is not None

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have judgments; a click log is the split "train" where no other is."""
        implied = ("train",) if self._clicks is not None and "train" not in self._qrels else ()
        return (*implied, *self._qrels)

    @property
    def judged_splits(self) -> tuple[str, ...]:
        """Names of the splits that have judgments of their own, without a click log."""
        return tuple(self._qrels)

    @validate_args
    def qrels(self, split: str = "test") -> csr_array:
        """Return the grades of a split, int32; of a click log, 1 for every click."""
        if split in self._qrels:
            return self._qrels[split]
        if split != "train" or self._clicks is None:
            known = ", ".join(self.splits) or "none"
            raise InputError(f"`split` must be one that has judgments ({known}). Got {split!r}.")
        grades = self._clicks.astype(np.int32)
        grades.data[:] = 1
        return grades

    @validate_args
    def qrels_dict(self, split: str = "test") -> dict[str, dict[str, int]]:
        """Return the grades of a split as `{query id: {item id: grade}}`, for queries that have any.

        Examples
        --------
        >>> Dataset.of(["a fig"], queries=["figs", "pears"], qrels={"0": {"0": 2}}).qrels_dict("test")
        {'0': {'0': 2}}
        """
        matrix = self.qrels(split)
        items, grades = self.item_ids.take(matrix.indices), matrix.data.tolist()
        rows = np.flatnonzero(np.diff(matrix.indptr))
        bounds = zip(rows.tolist(), matrix.indptr[rows].tolist(), matrix.indptr[rows + 1].tolist(), strict=True)
        return {self.query_ids[row]: dict(zip(items[a:b], grades[a:b], strict=True)) for row, a, b in bounds}

    @validate_args
    def query_texts(self, split: str | None = None) -> tuple[list[str], list[str]]:
        """Return ids and texts of the queries of a split, in row order; without `split`, of all queries."""
        chosen = None if split is None else np.diff(self.qrels(split).indptr) > 0
        pairs = [(query.id, query.text) for row, query in enumerate(self.queries) if chosen is None or chosen[row]]
        return [id for id, _ in pairs], [text for _, text in pairs]

    @validate_args
    def text(self, item_id: str) -> str:
        """Return an item's title and text; an unknown id raises."""
        return self.items.get(item_id).default_text()

    @validate_args
    def split(
        self,
        *,
        by: str = "random",
        held_out: float = 0.1,
        cold: float = 0.05,
        after: str | float | None = None,
        seed: int = 0,
    ) -> tuple[Dataset, Dataset]:
        """Hold out clicks to choose parameters by.

        Parameters
        ----------
        by : {"random", "time"}
            Whole queries at random, a share of them cold, or the latest clicks. See `split_dataset` and `split_by_time`
            in `vizsla.learning.splits`.
        held_out : float
            Share of the queries, or by time of the clicks.
        cold : float in [0, 1]
            At random: the share of cold queries.
        after : str or float, optional
            By time: hold out the clicks from this moment on.
        seed : int
            At random: the same seed gives the same split.
        """
        from vizsla.learning.splits import split_by_time, split_dataset

        check_choice("by", by, ["random", "time"])
        if by == "time":
            return split_by_time(self, held_out=held_out, after=after)
        if after is not None:
            raise InputError(f'`after` must be left out unless by="time". Got {after!r}.')
        return split_dataset(self, held_out=held_out, cold=cold, seed=seed)

    @validate_args
    def to_pandas(self, what: str = "clicks", *, split: str = "test") -> Any:
        """Return clicks or judgments as a pandas frame, which `Dataset.of` and `evaluate` read again.

        Parameters
        ----------
        what : {"clicks", "qrels"}
            The clicks, with their times where the log has times, or the judgments of a split.
        split : str
            Which judgments.

        Examples
        --------
        >>> Dataset.of(["a fig"], queries=["figs"], clicks=[("0", "0", 2)]).to_pandas().values.tolist()
        [['0', '0', 2.0]]
        """
        return import_extra("pandas", "`to_pandas`", "pandas").DataFrame(self._columns(what, split))

    @validate_args
    def to_polars(self, what: str = "clicks", *, split: str = "test") -> Any:
        """Return the columns of `to_pandas` as a polars frame."""
        return import_extra("polars", "`to_polars`", "polars").DataFrame(self._columns(what, split))

    def _columns(self, what: str, split: str) -> dict[str, list[Any]]:
        """Return the columns query, item, and weight or grade."""
        from vizsla.io.interactions import entries_of, events_of

        check_choice("what", what, ["clicks", "qrels"])
        if what == "qrels":
            rows: list[tuple[Any, ...]] = list(entries_of(self, self.qrels(split)))
        elif self.events is not None:
            rows = list(events_of(self.events, self))
        else:
            rows = list(entries_of(self, self.clicks))
        timed = what == "clicks" and self.events is not None
        names = ("query", "item", "grade" if what == "qrels" else "weight", *(["time"] if timed else []))
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    def __repr__(self) -> str:
        splits = ", ".join(self.splits) or "none"
        counts = f"{len(self.items)} items, {len(self.queries)} queries, {self.clicks.nnz} clicks"
        return f"Dataset({counts}, splits: {splits})"


def _sound(matrix: Any, name: str, shape: tuple[int, int]) -> csr_array:
    """Return a matrix, queries × items, of finite numbers; another raises."""
    csr = sound_csr(matrix, name)
    if csr.shape != shape:
        raise InputError(f"`{name}` must be {shape[0]} × {shape[1]}. Got {csr.shape}.")
    if not np.isfinite(csr.data).all():
        raise InputError(f"`{name}` must hold finite numbers. Got {csr.data[~np.isfinite(csr.data)][0]}.")
    return csr
