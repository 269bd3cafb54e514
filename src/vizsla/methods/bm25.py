"""BM25: words that items share with the query, rare ones first, long items discounted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Scores
from vizsla.errors import FormatError, InputError
from vizsla.explanation import Explanation
from vizsla.index import Index, Mask
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.bm25_variants import VARIANTS as VARIANTS
from vizsla.methods.bm25_variants import Weighting
from vizsla.methods.vectored import Vectored
from vizsla.progress import progress
from vizsla.strings import Strings
from vizsla.text.analyser import Analyser
from vizsla.text.bag import BagOfWords, BagRows
from vizsla.text.catalogue import TextStream

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.dataset import Dataset


class Bm25(Vectored):
    """Exact BM25 search over a catalogue of texts. Use `bm25` or `Bm25.build` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    bag : BagOfWords
        How a text becomes terms.
    index : InvertedIndex
        What each term gives each item.
    frequencies : int64 array
        The number of items that hold each term.
    weighting : Weighting
        The variant and its parameters.

    Examples
    --------
    >>> search = Bm25.build({"a": "a fig tree", "b": "an apple tree", "c": "figs"})
    >>> search("fig tree", k=2).ids
    [['a', 'b']]
    >>> print(search.explain("fig tree", "b"))
    0.1666  bm25 lucene, the sum over the query's words
    ├─ 0.0000  'fig': in 1 of 3 items, idf 0.9808
    └─ 0.1666  'tree': in 2 of 3 items, idf 0.4700
    """

    kind = "bm25"
    scale = "bm25"
    index: InvertedIndex

    def __init__(
        self,
        items: Strings,
        bag: BagOfWords,
        index: InvertedIndex,
        frequencies: NDArray[np.int64],
        weighting: Weighting,
    ):
        self._items, self.bag, self.index, self.frequencies, self.weighting = items, bag, index, frequencies, weighting
        self.encoder = bag
        if len(index) != len(items):
            raise InputError(f"`index` must be over {len(items)} items. Got one over {len(index)}.")
        if index.width != bag.dim or frequencies.shape != (bag.dim,):
            raise InputError(f"`index` and `frequencies` must be over the bag's {bag.dim} terms. Got another number.")
        if bag.dim and not 0 <= frequencies.min() <= frequencies.max() <= len(items):
            raise InputError(f"`frequencies` must be between 0 and {len(items)}. Got others.")
        self._idf = weighting.idf(frequencies, len(items))
        self._absent = weighting.absent(self._idf)
        for derived in (self._idf, self._absent):
            if derived is not None:
                derived.flags.writeable = False

    @classmethod
    def build(
        cls,
        items: Dataset | Mapping[str, str] | Iterable[Any],
        *,
        ids: Iterable[str] | None = None,
        analyser: Analyser | None = None,
        variant: str = "lucene",
        k1: float = 1.5,
        b: float = 0.75,
        delta: float = 0.5,
    ) -> Self:
        """Read a catalogue once and index it; see `bm25` for the parameters."""
        weighting = Weighting(variant, k1, b, delta)
        stream = TextStream(items, ids)
        bag, rows = BagOfWords.fit(progress(stream, what="reading"), analyser)
        frequencies = np.bincount(rows.terms, minlength=bag.dim).astype(np.int64)
        index = _invert(rows, frequencies, weighting)
        return cls(stream.ids, bag, index, frequencies, weighting)

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes of postings and vocabulary."""
        words = self.bag.terms.nbytes + (0 if self.bag.forms is self.bag.terms else self.bag.forms.nbytes)
        return int(self.index.nbytes + words + self.frequencies.nbytes + self.bag.term_of_form.nbytes)

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        rows = self.bag.rows(texts)
        found = self.index.search_rows(*rows, k, bases=self._bases(rows), allowed=allowed, threads=threads)
        found.catalogue = self._items  # the index made it for this call alone
        return found

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        rows = self.bag.rows(texts)
        return self.index.score_rows(*rows, candidates, bases=self._bases(rows))

    @property
    def _weights(self) -> NDArray[np.float32]:
        # A query's row holds counts, an item's rare words above common ones.
        return np.asarray(self._idf, np.float32)

    def _encoded(self, texts: list[str]) -> csr_array:
        return self.bag.queries(texts)

    def _vectors(self, items: NDArray[np.int64] | slice) -> csr_array:
        return self.index.to_csr()[items]

    def _indexed(self, vectors: Any) -> InvertedIndex:
        return InvertedIndex.build(vectors)

    def _find(self, index: Index, rows: Any, k: int, allowed: Mask | None, threads: int) -> Candidates:
        bag = _bag_rows(rows)
        found = _inverted(index).search_rows(*bag, k, bases=self._bases(bag), allowed=allowed, threads=threads)
        found.catalogue = self._items  # the index made it for this call alone
        return found

    def _score_given(self, index: Index, rows: Any, candidates: Candidates) -> Candidates:
        bag = _bag_rows(rows)
        return _inverted(index).score_rows(*bag, candidates, bases=self._bases(bag))

    def _bases(self, rows: BagRows) -> Scores | None:
        """Return what every item gets from words that it may not hold."""
        if self._absent is None:
            return None
        shares = rows.counts * self._absent[rows.terms]
        row_numbers = np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))
        return np.bincount(row_numbers, shares, len(rows.offsets) - 1).astype(np.float32)

    def _explain(self, text: str, item: int) -> Explanation:
        one = Candidates(np.array([0, 1]), np.array([item], np.int32), None)
        score = self._score([text], one)._required_scores()[0]
        words = Counter(self.bag.analyser(text))
        parts = [self._share(word, count, one) for word, count in words.items()]
        return Explanation(float(score), f"bm25 {self.weighting.variant}, the sum over the query's words", parts)

    def _share(self, word: str, count: int, item: Candidates) -> Explanation:
        term = self.bag.terms.find(word)
        if term < 0:
            return Explanation(0.0, f"{word!r}: in no item")
        rows = BagRows(np.array([0, 1]), np.array([term], np.int32), np.array([count], np.float32))
        share = self.index.score_rows(*rows, item, bases=self._bases(rows))._required_scores()[0]
        times = "" if count == 1 else f", {count} times in the query"
        facts = f"in {self.frequencies[term]} of {len(self._items)} items, idf {self._idf[term]:.4f}"
        return Explanation(float(share), f"{word!r}: {facts}{times}")

    def _write(self, writer: ArtifactWriter) -> None:
        how = self.weighting
        writer.parameters(variant=how.variant, k1=how.k1, b=how.b, delta=how.delta)
        writer.strings("items", self._items)
        self.bag.write(writer, "bag")
        writer.array("frequencies", self.frequencies)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index = reader.child("index")
        if not isinstance(index, InvertedIndex):
            raise FormatError(f"{reader.path / 'index'}: expected an inverted index. Got kind {index.kind!r}.")
        items, bag = reader.strings("items"), BagOfWords.read(reader, "bag")
        frequencies = reader.array("frequencies", np.int64)
        numbers = (reader.parameter(name, float) for name in ("k1", "b", "delta"))
        try:
            return cls(items, bag, index, frequencies, Weighting(reader.parameter("variant", str), *numbers))
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def bm25(
    items: Dataset | Mapping[str, str] | Iterable[Any],
    *,
    ids: Iterable[str] | None = None,
    analyser: Analyser | None = None,
    variant: str = "lucene",
    k1: float = 1.5,
    b: float = 0.75,
    delta: float = 0.5,
) -> Bm25:
    """Build a BM25 retriever.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; read once, never held.
    ids : iterable of str, optional
        Ids for texts that have none; without it an item's id is its number in decimal.
    analyser : Analyser, optional
        How texts become words: lower-cased words unless given.
    variant : {"lucene", "robertson", "atire", "bm25l", "bm25+"}
        The formula.
    k1 : float
        How slowly repeated words saturate.
    b : float
        How much an item's length counts, from 0 to 1.
    delta : float
        The floor of bm25l and bm25+.

    Examples
    --------
    >>> bm25(["a fig tree", "an apple tree"])("fig").ids
    [['0']]
    """
    return Bm25.build(items, ids=ids, analyser=analyser, variant=variant, k1=k1, b=b, delta=delta)


def _bag_rows(rows: csr_array) -> BagRows:
    return BagRows(
        np.ascontiguousarray(rows.indptr, np.int64),
        np.ascontiguousarray(rows.indices, np.int32),
        np.ascontiguousarray(rows.data, np.float32),
    )


def _inverted(index: Index) -> InvertedIndex:
    if not isinstance(index, InvertedIndex):
        raise InputError(f"`index` must be an inverted index. Got kind {index.kind!r}.")
    return index


def _invert(rows: BagRows, frequencies: NDArray[np.int64], weighting: Weighting) -> InvertedIndex:
    lengths = _native.row_sums(rows.offsets, rows.counts)
    norms = weighting.norms(lengths, float(lengths.mean()) if len(lengths) else 0.0)
    gains = weighting.gains(weighting.idf(frequencies, len(lengths)))
    return InvertedIndex.from_rows(*rows, width=len(frequencies), gains=gains, norms=norms)
