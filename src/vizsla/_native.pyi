"""Vizsla's native core."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def bag_build(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], token_count: int) -> tuple:
    """Rows of distinct tokens as the arrays of a BagSegment."""

class BagSegment:
    def __init__(self, items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], token_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], token_count: int) -> None: ...

    @property
    def items(self) -> int: ...

    @property
    def postings(self) -> int: ...

    def rows(self) -> tuple:
        """Offsets and tokens of all items, tokens ascending."""

class BagLists:
    def __init__(self, segments: list, norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], token_count: int) -> None: ...

    @property
    def items(self) -> int: ...

    @property
    def postings(self) -> int: ...

    def search(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple: ...

    def score(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], item_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

def rank(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> tuple:
    """(offsets, items, scores) as bytes, every row best first and cut to k."""

def interleave(parts: Sequence[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], k: int) -> tuple:
    """
    (offsets, items) as bytes: the parts take turns, and an item is taken once.
    """

class WeightedSum:
    def __init__(self, parts: Sequence[tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], float, str, int, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]], taken: int, k: int) -> None: ...

    def wanted(self) -> object:
        """For each part None or (offsets, items) to score; None at the end."""

    def fill(self, part: int, scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Give a part's scores of what was wanted."""

    def best(self) -> tuple:
        """
        (offsets, items, scores, certain rows): the best k by the weighted sum.
        """

def normalize(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], how: str, depth: int, k: int) -> tuple:
    """
    (offsets, items, scores, scales) as bytes: ranked rows on their own scales, cut to k.
    """

def rescale(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Bytes of float32: the scores on their rows' scales."""

def reciprocal_places(ranked_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ranked_items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Bytes of float32: 1 / (60 + place) among the ranked, or 0."""

class CursorSource:
    pass

class CursorSum:
    def __init__(self, terms: Sequence[tuple[float, str, int, tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None]]) -> None: ...

    def search(self, sources: Sequence[CursorSource], taken: int, k: int, threads: int) -> tuple:
        """
        (offsets, items, scores, certain, costs): the best k by the weighted sum.
        """

def csv_rows(block: bytes, position: int, line: int, *, separator: str, quotes: bool, width: int) -> tuple[list[list[str]], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], int, int]:
    """
    Reads records up to the end or to one that is odd: rows, where and on which line each begins, and where it stopped.
    """

def html_text(page: str) -> str:
    """
    The text of a page, headings between \\x02 and their level and \\x03, named references that are not resolved behind \\x1a.
    """

class NearDuplicates:
    def __init__(self, similarity: float) -> None: ...

    def add(self, texts: list) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        For every text, the number of the first one that it resembles, counted over all calls.
        """

def pair_dots(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    The inner product of each query row with its vector, as bytes of float32.
    """

def score_proposed(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], proposed: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple:
    """
    (offsets, items, scores) as bytes: the proposed items of each query, scored and ranked.
    """

def search_rows(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, longest: float, k: int, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, flags: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, portable: bool = False) -> tuple:
    """
    The best k vectors of each query, among all, those with the given numbers or those with a flag: bytes of int64 offsets, int32 items and float32 scores, and how often the vectors were read. `portable` leaves the CPU's own instructions unused, for tests.
    """

def search_int8_bounded(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], errors: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], longest: float, k: int, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, portable: bool = False) -> tuple:
    """
    What search_rows finds, by rows of a byte a number that are off by at most `errors`; the last part is how many vectors were scored in full.
    """

class EntryFormat:
    def __init__(self, *, separator: str, width: int, query: int, item: int, value: int = -1, time: int = -1, grades: bool = False) -> None: ...

class EntryTable:
    def __init__(self, queries: tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, items: tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, *, stop_at_unknown: bool) -> None: ...

    def add(self, query: bytes, item: bytes, value: float, line: int, time: float = float('nan')) -> bool:
        """Adds one entry; False if its query or item is unknown."""

    def read(self, block: bytes, position: int, line: int, format: EntryFormat) -> tuple[int, int, int]:
        """
        Reads lines up to the end or to one that is not plain: where it stopped, that line's number, blank lines passed.
        """

    @property
    def seen(self) -> int: ...

    @property
    def unknown_queries(self) -> tuple[int, bytes]: ...

    @property
    def unknown_items(self) -> tuple[int, bytes]: ...

    def take(self) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Rows, columns, values and line numbers, which leave the table."""

    def take_times(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Times of the entries that have one, in seconds since 1970."""

    def queries(self) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Bytes and offsets of the queries that were numbered as they came."""

    def items(self) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Bytes and offsets of the items that were numbered as they came."""

def fuzzy_build(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Letters, starts, numbers and signatures: what FuzzyWords finds the neighbors of words by.
    """

class FuzzyWords:
    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], letters: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], signatures: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def near(self, word: str, most: int) -> list[tuple]:
        """
        The words within `most` edits, with their distances: the nearest first, then by number.
        """

class Completions:
    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def find(self, prefix: str, k: int, typos: bool) -> list[tuple]:
        """
        The heaviest strings that begin with the prefix, then with one that is an edit away, and their edits.
        """

def checksum(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int = 0) -> int:
    """XXH64 of the bytes."""

def build_slots(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The hash table over the strings, and the numbers of strings that repeat an earlier one.
    """

class Strings:
    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def __len__(self) -> int: ...

    def get(self, arg: int, /) -> str: ...

    def take(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> list[str]: ...

    def find(self, arg: str, /) -> int: ...

    def find_all(self, arg: list[str], /) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def live_build(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], languages: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], term_count: int) -> dict:
    """
    Rows of terms, as `ordered_rows` has them, as the arrays of a LiveSegment but for the terms' strings.
    """

def live_merge(segments: list, kept: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> dict:
    """The arrays of one segment with the slots of some that are kept."""

class LiveSegment:
    def __init__(self, term_bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], term_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], term_table: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], list_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], wide_codes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], pair_counts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], pair_lengths: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], pair_languages: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], languages: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], row_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    @property
    def slots(self) -> int: ...

    @property
    def terms(self) -> int: ...

    def count_terms(self, slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')]) -> None:
        """Adds 1 to the count of every term of these slots."""

    def check(self) -> None:
        """Raises unless all lists and rows are sound."""

class LiveTerm:
    pass

class LiveLists:
    def __init__(self) -> None: ...

    def add(self, segment: object, removed: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, live: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, stretch: float, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], length_norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    @property
    def slots(self) -> int: ...

    @property
    def kept(self) -> tuple:
        """
        How many impacts, and words of marks, are kept for terms that still exist.
        """

    def find(self, terms: list) -> tuple:
        """
        Of each term its numbers in the segments, how many live slots hold it, and where they name it first.
        """

    def terms(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], absent: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], orders: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list: ...

    def search_one(self, terms: list, weights: Sequence[float], k: int, allowed: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None) -> tuple: ...

    def count(self, terms: list, weights: Sequence[float], allowed: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, up_to: int) -> tuple:
        """
        How many slots hold a term of the query; above `up_to` it may be a lower bound.
        """

    def search(self, terms: list, weights: Sequence[Sequence[float]], k: int, allowed: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, threads: int) -> tuple: ...

    def score(self, terms: list, weights: Sequence[Sequence[float]], slot_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

def max_sims(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, portable: bool = False) -> object:
    """
    For each pair of a query and an item the sum over the query's tokens of the best inner product with a token of the item, as bytes of float32. `portable` leaves the CPU's own instructions unused, for tests.
    """

def column_sums(numbers: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], own_weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int, kernels: str = 'best') -> object:
    """
    Each query's weights times every item's column of numbers, and times its own features of the items, plus its bias: bytes of float32, queries × items. `kernels` are best, plain, avx2 or avx512, for tests.
    """

def gather_columns(numbers: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    The columns of some items, each number times its row's step: bytes of float32, items × dimensions.
    """

def gather_pools(numbers: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, by_item: bool = False) -> object:
    """
    The columns of each query's own items, those of query q from offsets[q] on, each number times its row's step: bytes of float32, dimensions × items of one query after the other. With `by_item` the numbers are items × dimensions.
    """

def best_columns(numbers: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], own_weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, threads: int) -> tuple:
    """
    (offsets, items, sums): the k items of each query with the largest sums among its free ones, the best first; of equals, the lower numbers.
    """

def ngrams(text: str, lower: bool, kind: int) -> list:
    """
    The n-grams of a text in their order; kind 0: word unigrams, 1: word bigrams, 2: character trigrams.
    """

class NgramBuilder:
    def __init__(self, lower: bool, most: Sequence[int], bins: int) -> None: ...

    @property
    def texts(self) -> int: ...

    def add(self, arg: list, /) -> None: ...

    def choose(self, kind: int, budget: int, least: int) -> tuple: ...

class NgramNames:
    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: int) -> None: ...

class NgramLookup:
    def __init__(self, lower: bool, sublinear: bool, by_kind: bool, shares: Sequence[float], unigrams: NgramNames, bigrams: NgramNames, trigrams: NgramNames, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def rows(self, texts: list, threads: int) -> tuple: ...

def invert(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], term_count: int, gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """Rows of weighted terms as inverted lists: offsets, items, impacts."""

def join_fields(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], term_count: int, fields: int) -> tuple:
    """
    Rows of fields as rows of items: offsets, terms, and a count in halves for each field.
    """

def row_sums(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The sum of each row's values."""

class Postings:
    def __init__(self, items: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], impacts: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], priorities: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], absent: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def items(self) -> int: ...

    @property
    def terms(self) -> int: ...

    @property
    def block_bytes(self) -> int: ...

    def priorities(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    def restricted(self, kept: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple: ...

    def search_one(self, terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple: ...

    def search(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple: ...

    def source(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> CursorSource:
        """Postings with a call's queries, as a part of a CursorSum."""

    def score(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], item_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

    def score_one(self, terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple: ...

def indices_from(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], limit: float, instructions: int = 2) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    The places of values from a limit on. Of the CPU's instructions those of AVX-512 (2), AVX2 (1) or none of these (0) are used at most.
    """

def indices_within(values: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], low: int, width: int, instructions: int = 2) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    The places of values from `low` on that are below `low + width`; instructions as `indices_from` has them.
    """

def feature_bloom(query: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], halves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], instructions: int = 2) -> tuple:
    """
    Which of some features, given by their lower 16 bits, a query may have: with their places above them, and of the first 64 a bit each; instructions as `indices_from` has them.
    """

def pq_tables(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotation: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, centroids: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> object:
    """
    Each query's inner product with every centroid, as bytes of float32. Centroids are sub-spaces × width × 16 or 256.
    """

def pq_pairs(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotation: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, centroids: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], count: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """The score of each query row with its item, as bytes of float32."""

def pq_search(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotation: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, centroids: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], count: int, k: int, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, instructions: int = 3) -> tuple:
    """
    The best k items of each query, among all or those with the given numbers: bytes of int64 offsets, int32 items and float32 scores, and how often the codes were read. Of the CPU's instructions those of AVX-512 with VBMI (3), AVX-512 (2), AVX2 (1) or none of these (0) are used at most.
    """

unicode_version: str = '14.0.0'

def tokens(text: str, lower: bool, min_chars: int, max_chars: int, any_language: bool) -> list:
    """
    The tokens of a text: words, n-grams of words when the lengths are not 0, or what suits each script.
    """

def without_parts(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    The numbers of the strings that hold neither a digit nor an underscore.
    """

def fold(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], stemmed: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], stems: Sequence[list | None], dropped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rooted: bool = False) -> tuple:
    """
    The distinct terms as bytes and offsets, and a row of terms for each form: its stems (None: English ones are made here), or itself; -1 where it is dropped. If rooted, one column more: an English word's root, where it differs from the stem.
    """

def english_stems(words: list, roots: bool = False) -> list[str]:
    """English words in lower case without their inflections, or their roots."""

def strongest(sums: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int) -> tuple:
    """The column of each row's largest number, that number, and the next."""

def check_vocabulary(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """
    Raises unless the strings are UTF-8, distinct, and found by their slots.
    """

class BagBuilder:
    def __init__(self, lower: bool, min_chars: int, max_chars: int, any_language: bool, skipped: Sequence[str]) -> None: ...

    def add(self, arg: list, /) -> None: ...

    def forms(self) -> tuple: ...

    def evidence(self, row_of_form: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int, most: int) -> object:
        """
        The weights of the forms of every row, or of `most` rows at even distances, added up, a row after another.
        """

    def holders(self, row_of_form: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], forms: int, columns: int, column_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """How many rows of each column hold each of some forms."""

    def take_rows(self, terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int, column_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rooted: int | None = None) -> tuple:
        """
        The rows, each read in its column of the terms; none given: the forms themselves. Rows of the rooted column count the last column, too, by half.
        """

    def ordered_rows(self, terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int, column_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rooted: int | None = None) -> tuple:
        """
        The rows as `take_rows` has them, counts in halves, each in the order in which its text names terms first; terms of languages that a row is not in have the count 0.
        """

class BagLookup:
    def __init__(self, lower: bool, min_chars: int, max_chars: int, any_language: bool, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int, rooted: bool = False) -> None: ...

    def rows(self, arg: list, /) -> tuple:
        """Offsets, terms and counts as bytes, and the forms that are unknown."""

    def rows_with(self, texts: list, answers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
        """As rows, with a term (or -1) for each form that was unknown."""

def build_tree_layer(child_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: str) -> tuple:
    """
    The chunked layout of a layer: bucket offsets, buckets, entry offsets, entries, factors.
    """

class TreeFilter:
    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

class Tree:
    def __init__(self, layers: list, items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: str, transform: str, dim: int, bias: float) -> None: ...

    def __len__(self) -> int: ...

    @property
    def derived_bytes(self) -> int: ...

    def filter(self, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> TreeFilter:
        """What search needs of a mask: made once, used for many queries."""

    def search(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam: int, allowed: TreeFilter | None, threads: int) -> tuple: ...

    def source(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], beam: int) -> CursorSource:
        """The tree with a call's queries, as a part of a CursorSum."""

    def score(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

def cluster_sparse(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int, layers: Sequence[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], iterations: int, starts: int, sample: int, seed: int, threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The item at each place of a tree of this shape, like items together."""

def cluster_dense(vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], layers: Sequence[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], iterations: int, starts: int, sample: int, seed: int, threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The item at each place of a tree of this shape, like items together."""

def train_layer(x_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int, label_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], reached_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], reached_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], child_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: str, cost: float, bias: float, tolerance: float, epochs: int, threshold: float, max_nonzeros: int, seed: int, threads: int) -> tuple:
    """
    A layer's weights by child: offsets, features, values; and the epochs each child took.
    """

class ClickVotes:
    def __init__(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int) -> None: ...

    def count(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], queries: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], similar: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], neighbors: int, near: float, best: bool, allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple:
        """
        (offsets, items, votes) as bytes, of rows of past queries, nearest first.
        """

class VotedSum:
    def __init__(self, found: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], votes: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], width: int) -> None: ...

    def missing(self) -> object:
        """(offsets, items) as bytes that the base must score, or None."""

    def fill(self, scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Give the base's scores of what was missing."""

    def best(self, worth: float, threshold: float, clicked: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> tuple:
        """
        (offsets, items, scores) as bytes: the best k by base + worth * (votes - threshold).
        """

def add_votes(scored: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], votes: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], worth: float, threshold: float, clicked: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Bytes of float32: the scores with their votes, in the order given."""

class WordStream:
    def __init__(self, lower: bool, min_chars: int, max_chars: int, any_language: bool) -> None: ...

    def add(self, arg: list, /) -> None: ...

    def forms(self) -> tuple: ...

    def take(self) -> tuple:
        """Where each text begins, and the words of all texts in order, once."""

def word_lists(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], forms: int) -> tuple:
    """For each word the texts that hold it: offsets and numbers."""

def with_phrase(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], among: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], phrase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Those of some texts that hold these words one after another."""

class WordPiece:
    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], special: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], unknown: int, prefix: str, lower: bool, strip_accents: bool, split_ideographs: bool, most_chars: int) -> None: ...

    @property
    def size(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    def ids(self, texts: list) -> tuple:
        """Offsets and ids as bytes: all tokens in their order."""

    def rows(self, texts: list) -> tuple:
        """
        Offsets, distinct ids and their counts as bytes, without special tokens.
        """
