"""NgramTfidf: word unigrams, word bigrams and character trigrams as one TF-IDF vector."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import as_array, validate_args
from vizsla.errors import FormatError, InputError, check_choice, check_positive, check_range
from vizsla.text.bag_of_words import joined, read_vocabulary
from vizsla.text.streams import batches, call_with, listed

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MAX_INT32 = 2**31 - 1


class Budgets(NamedTuple):
    """What a fit may keep.

    Parameters
    ----------
    kinds : sequence of int
        The largest vocabulary of unigrams, bigrams and trigrams; 0 leaves the kind out.
    min_texts : int
        N-grams in fewer texts are left out.
    bins : int
        How many features the n-grams that are left out share, for each kind.
    room : int
        How many n-grams of a kind are counted at once.
    """

    kinds: Sequence[int]
    min_texts: int
    bins: int
    room: int

    def check(self) -> None:
        """Raise unless a fit can keep to them."""
        for name, budget in zip(("unigrams", "bigrams", "trigrams"), self.kinds, strict=True):
            if not isinstance(budget, int) or isinstance(budget, bool) or not 0 <= budget <= MAX_INT32:
                raise InputError(f"`{name}` must be a whole number from 0 to {MAX_INT32}. Got {budget!r}.")
        if not any(self.kinds):
            raise InputError("One of `unigrams`, `bigrams`, `trigrams` must be above 0. Got 0 for all.")
        if self.bins > MAX_INT32:
            raise InputError(f"`bins` must be at most {MAX_INT32}. Got {self.bins}.")
        check_positive("room", self.room)


def fit_ngrams(
    texts: Iterable[str], budgets: Budgets, lower: bool
) -> tuple[list[Strings], NDArray[np.float32], list[int]]:
    """Return the vocabularies, the weight of every feature, and each kind's number of shared features."""
    budgets.check()
    most = [min(budgets.room, MAX_INT32) if budget else 0 for budget in budgets.kinds]
    builder = _native.NgramBuilder(lower, most, budgets.bins)
    for batch in batches(texts):
        call_with(builder.add, batch)
    names, weights, bins = [], [], []
    for kind, budget in enumerate(budgets.kinds):
        if not budget:
            names.append(Strings.of([]))
            bins.append(0)
            continue
        data, offsets, known, unseen = builder.choose(kind, budget, budgets.min_texts)
        names.append(Strings(data, offsets, _native.build_slots(data, offsets)[0]))
        weights += [idf(known, builder.texts), np.where(unseen > 0, idf(unseen, builder.texts), 0)]
        bins.append(budgets.bins)
    return names, np.concatenate(weights).astype(np.float32), bins


def idf(texts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return the smoothed inverse document frequency, 1 + ln((1 + N) / (1 + n)), n at most N.

    Examples
    --------
    >>> idf(np.array([9, 0]), 9).round(3).tolist()
    [1.0, 3.303]
    """
    weights: NDArray[np.float64] = 1 + np.log((1 + total) / (1 + np.minimum(texts, total)))
    return weights


KINDS = ("unigram", "bigram", "trigram")
NORMS = ("row", "kinds")
MAX_FEATURES = 2**31 - 1
EQUAL_SHARES = (1.0, 1.0, 1.0)
MIN_SHARE = 0.001
SETTING_NAMES = {"bins", "lower", "norm", "shares", "sublinear"}


class NgramTfidf(Encoder, Artifact):
    """Word unigrams, word bigrams and character trigrams, each with a vocabulary of its own, weighed by TF-IDF.

    Words are those of a plain `Analyzer`. The bigrams of "artistic iphone 6s" are ``artistic#iphone`` and
    ``iphone#6s``. Trigrams stay within words, whose ends are marked: ``#6s`` and ``6s#``. With N texts at the fit, of
    which n hold an n-gram, a text that holds it c times gives it

        tf(c) · idf,   tf(c) = 1 + ln c (or c, unless `sublinear`),   idf = 1 + ln((1 + N) / (1 + n)),

    and the row is divided by its Euclidean length. N-grams outside the vocabulary share one feature a kind (the rule
    of the XR-Linear paper), or several chosen by a hash (bin = XXH64 of the n-gram's UTF-8 modulo `bins`), or are
    dropped. Such a feature has n = the sum of n over all n-grams that were counted into it, N at most; where that is
    0, nothing could be learned about the feature and it stays out of every row. Features are numbered by kind in the
    order above, within a kind by falling n (of equals, the n-gram met first comes first), the shared ones last.

    Parameters
    ----------
    names : sequence of Strings
        The vocabularies of the three kinds.
    weights : float32 array
        The idf of every feature.
    bins : sequence of int
        For each kind, how many features the n-grams outside its vocabulary share; 0 drops them.
    lower : bool
        Lower-case texts as `Analyzer` does.
    sublinear : bool
        Whether counts are damped by the logarithm.
    norm : {"row", "kinds"}
        Divide the row by its length; or first give each kind's part the length of its share.
    shares : sequence of float
        Weight of each kind in a row, from 0.001 to 1, for the norm "kinds"; 0 leaves a kind out.

    Examples
    --------
    >>> ngrams = NgramTfidf.fit(["artistic iphone 6s case", "iphone case"], trigrams=0)
    >>> [ngrams.feature_name(i) for i in range(ngrams.dim)]  # doctest: +NORMALIZE_WHITESPACE
    ['iphone', 'case', 'artistic', '6s', '<unseen unigram>',
     'artistic#iphone', 'iphone#6s', '6s#case', 'iphone#case', '<unseen bigram>']
    >>> rows = ngrams.queries(["iPhone 6s!"])
    >>> [(ngrams.feature_name(f), f"{v:.2f}") for f, v in zip(rows.columns, rows.values)]
    [('iphone', '0.45'), ('6s', '0.63'), ('iphone#6s', '0.63')]
    """

    kind = "ngrams"
    sparse = True

    @validate_args
    def __init__(
        self,
        names: Sequence[Strings],
        weights: NDArray[np.float32],
        *,
        bins: Sequence[int],
        lower: bool = True,
        sublinear: bool = True,
        norm: str = "row",
        shares: Sequence[float] = EQUAL_SHARES,
    ):
        check_shares(shares)
        self.names, self.bins, self.shares = tuple(names), tuple(bins), tuple(float(share) for share in shares)
        self.weights = as_array("weights", weights, np.float32)
        self.lower, self.sublinear, self.norm = lower, sublinear, norm
        self._check()
        sizes = [len(table) + extra for table, extra in zip(self.names, self.bins, strict=True)]
        self.starts = tuple(accumulate(sizes, initial=0))
        """Each kind's first feature, and the end."""
        self._lookup = self.native_lookup(self.names, self.weights)

    @classmethod
    @validate_args
    def fit(
        cls,
        texts: Iterable[str],
        *,
        unigrams: int = 1_000_000,
        bigrams: int = 3_000_000,
        trigrams: int = 200_000,
        min_texts: int = 1,
        unseen: str = "shared",
        bins: int = 1 << 14,
        lower: bool = True,
        sublinear: bool = True,
        norm: str = "row",
        shares: Sequence[float] = EQUAL_SHARES,
        idf_power: float = 1.0,
        room: int = 1 << 24,
    ) -> Self:
        """Read texts once and choose the n-grams that occur in most of them.

        Parameters
        ----------
        texts : iterable of str
            Read in batches, so it may be larger than memory.
        unigrams, bigrams, trigrams : int
            The largest vocabulary of each kind (the defaults are the paper's); 0 leaves the kind out.
        min_texts : int
            N-grams in fewer texts stay out of the vocabulary.
        unseen : {"shared", "hash", "drop"}
            What becomes of n-grams outside the vocabulary.
        bins : int
            How many features a kind they share, for "hash".
        lower, sublinear, norm, shares
            As for the class. A kind whose share is 0 is not counted.
        idf_power : float
            Raise the idf to this power, from 0 to 4. For linear models of clicks 2 is better than 1: common words get
            in their way (R@10 of XR-Linear on two click sets: .557 to .571 and .579 to .698).
        room : int
            How many n-grams of a kind are counted at once: an n-gram needs some 80 bytes. When there are more, the
            rarest are forgotten until at most half of the room is taken, and begin at 0 if they come again. A log
            with fewer distinct n-grams is counted exactly; of a larger one, n-grams near the rare end of the
            vocabulary can be missed, fewer of them the larger the room is against the budget.
        """
        _check_flag("lower", lower)
        _check_flag("sublinear", sublinear)
        check_choice("norm", norm, NORMS)
        check_range("idf_power", idf_power, 0, 4)
        check_choice("unseen", unseen, ["shared", "hash", "drop"])
        shared = {"shared": 1, "drop": 0}.get(unseen) if unseen != "hash" else check_positive("bins", bins)
        check_shares(shares)
        wanted = [budget if share else 0 for budget, share in zip((unigrams, bigrams, trigrams), shares, strict=True)]
        budgets = Budgets(wanted, check_positive("min_texts", min_texts), shared or 0, room)
        names, weights, used = fit_ngrams(texts, budgets, lower)
        weights = np.power(weights, np.float32(idf_power), where=weights > 0, out=np.zeros_like(weights))
        return cls(names, weights, bins=used, lower=lower, sublinear=sublinear, norm=norm, shares=shares)

    @validate_args
    def grown(self, texts: Iterable[str]) -> NgramTfidf | GrownNgrams:
        """Return an encoder that also knows the n-grams of these texts; all that this one knows keep their columns.

        Parameters
        ----------
        texts : iterable of str
            Read in batches. A new n-gram weighs as much as the rarest of its kind that is known.

        Examples
        --------
        >>> ngrams = NgramTfidf.fit(["a red fig"], bigrams=0, trigrams=0)
        >>> ngrams.dim, ngrams.grown(["red onions"]).dim, ngrams.grown(["red fig"]) is ngrams
        (4, 5, True)
        """

        return grow_ngrams(self, texts)

    @validate_args
    def with_shares(self, shares: Sequence[float]) -> Self:
        """Return the same n-grams with other shares of the kinds, by the norm "kinds"; a share of 0 drops the kind.

        Parameters
        ----------
        shares : sequence of float
            Of unigrams, bigrams and trigrams.

        Examples
        --------
        >>> words = NgramTfidf.fit(["a red fig", "a pear"]).with_shares([1, 0.5, 0])
        >>> [words.feature_name(f) for f in words.queries(["red fig"]).columns]
        ['red', 'fig', 'red#fig']
        """
        check_shares(shares)
        kept = [share > 0 for share in shares]
        names = [table if keep else Strings.of([]) for table, keep in zip(self.names, kept, strict=True)]
        bins = [extra if keep else 0 for extra, keep in zip(self.bins, kept, strict=True)]
        parts = [self.weights[self.starts[kind] : self.starts[kind + 1]] for kind in range(len(KINDS)) if kept[kind]]
        return type(self)(
            names, np.concatenate(parts), bins=bins, lower=self.lower, sublinear=self.sublinear,
            norm="kinds", shares=shares,
        )  # fmt: skip

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.starts[-1]

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the rules, the vocabularies and the weights."""
        rules = repr((self._rules(), [table.fingerprint for table in self.names])).encode()
        weights: Any = np.ascontiguousarray(self.weights).view(np.uint8)
        return f"ngrams:{_native.checksum(weights, _native.checksum(np.frombuffer(rules, np.uint8))):016x}"

    def queries(self, texts: Sequence[str], *, threads: int = 1) -> SparseRows:
        """Return the texts' features and values; the answer does not depend on `threads`.

        Values are positive, and a row that is not empty has length 1.
        """
        return self.rows_of(self._lookup, texts, self.dim, threads=threads)

    @staticmethod
    def rows_of(lookup: _native.NgramLookup, texts: Sequence[str], dim: int, *, threads: int = 1) -> SparseRows:
        """Return what a native look-up makes of texts."""
        texts = texts if type(texts) is list else listed(texts)
        if type(threads) is not int or threads != 1:
            check_positive("threads", threads)
        offsets, features, values = call_with(lookup.rows, texts, threads)
        if type(offsets) is not bytes:
            return SparseRows(offsets, features, values, dim)
        array = np.frombuffer
        return SparseRows(array(offsets, np.int64), array(features, np.int32), array(values, np.float32), dim)

    def items(self, texts: Sequence[str], *, threads: int = 1) -> SparseRows:
        """Encode item texts: as queries."""
        return self.queries(texts, threads=threads)

    @validate_args
    def feature_kind(self, feature: int) -> str:
        """Return "unigram", "bigram" or "trigram".

        Examples
        --------
        >>> NgramTfidf.fit(["fig tree"]).feature_kind(3)
        'bigram'
        """
        return KINDS[self._place(feature)[0]]

    @validate_args
    def feature_name(self, feature: int) -> str:
        """Return the n-gram, or for a feature of n-grams outside the vocabulary a name in angle brackets.

        Examples
        --------
        >>> NgramTfidf.fit(["fig tree"]).feature_name(3)
        'fig#tree'
        """
        kind, number = self._place(feature)
        known = len(self.names[kind])
        if number < known:
            return self.names[kind][number]
        return f"<unseen {KINDS[kind]}{f' {number - known}' if self.bins[kind] > 1 else ''}>"

    def __repr__(self) -> str:
        counts = [f"{len(table):,} {kind}s" for kind, table in zip(KINDS, self.names, strict=True) if len(table)]
        return f"NgramTfidf({', '.join(counts)})"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.json("rules", self._rules())
        for kind, table in zip(KINDS, self.names, strict=True):
            writer.strings(f"{kind}s", table)
        writer.array("weights", self.weights)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        rules, file = reader.json("rules"), reader.path / "rules.json"
        if not isinstance(rules, dict) or set(rules) != SETTING_NAMES:
            raise FormatError(f"{file}: expected the keys {', '.join(sorted(SETTING_NAMES))}. Got {rules!r:.200}.")
        for key in ("bins", "shares"):
            if not isinstance(rules[key], list):
                raise FormatError(f"{file}: `{key}` must be a list. Got {rules[key]!r:.200}.")
        try:
            names = [read_vocabulary(reader, f"{kind}s") for kind in KINDS]
            return cls(names, reader.array("weights", np.float32), **rules)
        except ValueError as error:
            raise FormatError(f"{reader.path}: {error}") from error

    @property
    def nbytes(self) -> int:
        """Memory of the vocabularies and weights."""
        return sum(table.nbytes for table in self.names) + int(self.weights.nbytes)

    def _rules(self) -> dict[str, Any]:
        lists = {"bins": list(self.bins), "shares": list(self.shares)}
        return {**lists, "lower": self.lower, "norm": self.norm, "sublinear": self.sublinear}

    def _place(self, feature: int) -> tuple[int, int]:
        """Return a feature's kind and its number within the kind."""
        if not 0 <= feature < self.dim:
            raise InputError(f"`feature` must be between 0 and {self.dim - 1}. Got {feature!r}.")
        kind = bisect_right(self.starts, feature) - 1
        return kind, feature - self.starts[kind]

    def _check(self) -> None:
        check_choice("norm", self.norm, NORMS)
        _check_flag("lower", self.lower)
        _check_flag("sublinear", self.sublinear)
        if self.norm == "row" and self.shares != EQUAL_SHARES:
            raise InputError(f"`shares` must have the norm 'kinds'. Got {list(self.shares)} with 'row'.")
        if len(self.names) != len(KINDS) or len(self.bins) != len(KINDS):
            raise InputError("`names` and `bins` must have an entry for unigrams, bigrams and trigrams.")
        for table in self.names:
            if not isinstance(table, Strings):
                raise InputError(f"`names` must hold Strings, one for each kind. Got {type(table).__name__}.")
        for extra in self.bins:
            if type(extra) is not int or not 0 <= extra <= MAX_FEATURES:
                raise InputError(f"`bins` must hold whole numbers from 0 to {MAX_FEATURES}. Got {extra!r}.")

    def native_lookup(
        self, names: Sequence[Strings], weights: NDArray[np.float32], columns: NDArray[np.int32] | None = None
    ) -> _native.NgramLookup:
        """Return the native half of encoding, by these rules; features get these columns, or their own numbers."""
        try:
            unigrams, bigrams, trigrams = (
                _native.NgramNames(table.data, table.offsets, table.slots, extra)
                for table, extra in zip(names, self.bins, strict=True)
            )
            rules = (self.lower, self.sublinear, self.norm == "kinds", list(self.shares))
            numbers = np.zeros(0, np.int32) if columns is None else columns
            return _native.NgramLookup(*rules, unigrams, bigrams, trigrams, weights, numbers)
        except (TypeError, ValueError) as error:
            raise InputError(f"Vocabularies and weights must fit together. Got others: {error}.") from error


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InputError(f"`{name}` must be True or False. Got {value!r}.")


def check_shares(shares: Sequence[float]) -> None:
    """Refuse shares of n-gram kinds that are not one number for each, from 0 to 1."""
    if len(shares) != len(KINDS):
        raise InputError(f"`shares` must have a number for each of {', '.join(KINDS)}. Got {len(shares)}.")
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, int | float | np.number):
            raise InputError(f"`shares` must be numbers. Got {share!r}.")
        if share != 0 and not MIN_SHARE <= share <= 1:
            raise InputError(f"`shares` must be 0 or between {MIN_SHARE} and 1. Got {share!r}.")
    if not any(shares):
        raise InputError("One of `shares` must be above 0. Got 0 for all.")


Parts = list[NDArray[Any]]


class GrownNgrams(Encoder):
    """Encodes as its base does, with a column more for each n-gram that is new to it; old columns keep their numbers.

    A new n-gram weighs as much as the rarest of its kind that the base knows. A text without new n-grams has the base's
    own row; in another row the new ones take their part of its length. `NgramTfidf.grown` makes one.

    Parameters
    ----------
    base : NgramTfidf
        What has grown.
    more : sequence of Strings
        For each kind, the n-grams that are new.

    Examples
    --------
    >>> base = NgramTfidf.fit(["a red fig"], trigrams=0)
    >>> grown = base.grown(["red onion"])
    >>> [grown.feature_name(column) for column in grown.queries(["red onion"]).columns]
    ['red', 'onion', 'red#onion']
    """

    sparse = True

    def __init__(self, base: NgramTfidf, more: Sequence[Strings]):
        self.base, self.more = base, tuple(more)
        self._starts = list(accumulate(map(len, self.more), initial=base.dim))
        self._tables = [joined(old, new) for old, new in zip(base.names, self.more, strict=True)]
        self._weights, self._columns = self._numbered()
        self._lookup = base.native_lookup(self._tables, self._weights, self._columns)

    def _numbered(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return weight and column of every feature, kind by kind: known n-grams, new ones, what the others share."""
        weights: Parts = []
        columns: Parts = []
        for kind, (old, new) in enumerate(zip(self.base.names, self.more, strict=True)):
            first, end = self.base.starts[kind], self.base.starts[kind + 1]
            own = self.base.weights[first:end]
            rarest = float(own[: len(old)].max(initial=0.0)) or 1.0
            weights += [own[: len(old)], np.full(len(new), rarest), own[len(old) :]]
            news = np.arange(self._starts[kind], self._starts[kind + 1])
            columns += [np.arange(first, first + len(old)), news, np.arange(first + len(old), end)]
        return np.concatenate(weights).astype(np.float32), np.concatenate(columns).astype(np.int32)

    @property
    def dim(self) -> int:
        """The number of features."""
        return self._starts[-1]

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the base and with what is new."""
        said = repr((self.base.fingerprint, [table.fingerprint for table in self.more])).encode()
        return f"grown-ngrams:{_native.checksum(np.frombuffer(said, np.uint8)):016x}"

    @property
    def nbytes(self) -> int:
        """Memory of the vocabularies, weights and columns."""
        return sum(table.nbytes for table in self._tables) + int(self._weights.nbytes + self._columns.nbytes)

    def queries(self, texts: Sequence[str], *, threads: int = 1) -> SparseRows:
        """Return the texts' features and values; the answer does not depend on `threads`."""
        return self.base.rows_of(self._lookup, texts, self.dim, threads=threads)

    def feature_name(self, feature: int) -> str:
        """Return the n-gram of a column; see `NgramTfidf.feature_name`."""
        if feature < self.base.dim:
            return self.base.feature_name(feature)
        kind = bisect_right(self._starts, feature) - 1
        return self.more[kind][feature - self._starts[kind]]


def grow_ngrams(base: NgramTfidf, texts: Iterable[str]) -> NgramTfidf | GrownNgrams:
    """Return an encoder that also knows the n-grams of these texts, or the base where none is new."""
    used = [share > 0 and end > first for share, (first, end) in zip(base.shares, pairwise(base.starts), strict=True)]
    builder = _native.NgramBuilder(base.lower, [MAX_INT32 if use else 0 for use in used], 0)
    for batch in batches(texts):
        call_with(builder.add, batch)
    more = [_new(builder, kind, base.names[kind]) if used[kind] else Strings.of([]) for kind in range(len(KINDS))]
    return GrownNgrams(base, more) if any(map(len, more)) else base


def _new(builder: _native.NgramBuilder, kind: int, known: Strings) -> Strings:
    data, offsets, _, _ = builder.choose(kind, MAX_INT32, 1)
    met = list(Strings(data, offsets, np.zeros(0, np.uint32)))
    return Strings.of(met[place] for place in np.flatnonzero(known.find_all(met) < 0).tolist())
