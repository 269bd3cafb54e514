"""A retriever or scorer that breaks the contract is mended where that is safe, and named where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.table_retriever import TableRetriever
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.index import Index
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.scorer import Scorer
from vizsla.compose.shards import shards
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.strings import Strings
from vizsla.errors import CompositionError, InputError
from vizsla.methods.pefa import pefa_xl

ITEMS = ["a", "b", "c", "d", "e"]
ROW = {"a": 1.0, "b": 4.0, "c": 3.0, "d": 3.0, "e": 0.0}
GOOD = TableRetriever({"q": {"a": 2.0, "b": 1.0, "e": 5.0}}, ITEMS)
LENGTH = FunctionEncoder(lambda texts: [[len(text)] for text in texts], dim=1, name="length")
VOTES = {
    "encoder": LENGTH,
    "weight": 0.5,
    "neighbors": 1,
    "votes": "mean",
    "near": 0.0,
    "scale": 1.0,
    "threshold": 0.0,
}


class Own(TableRetriever):
    """Answers as a table does, then something goes wrong."""

    kind = "own-answers"

    def __init__(self, search=None, score=None, scale="table"):
        super().__init__({"q": ROW}, ITEMS, scale=scale)
        self.after_search, self.after_score = search, score

    def _search(self, queries, k, filter, threads):
        found = super()._search(queries, len(ITEMS), filter, threads)
        return found if self.after_search is None else self.after_search(found)

    def _score(self, queries, candidates, filter, threads):
        scored = super()._score(queries, candidates, filter, threads)
        return scored if self.after_score is None else self.after_score(scored)


def backwards(found):
    rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    order = np.lexsort([-np.arange(len(rows)), rows])
    return Candidates(found.offsets, found.items[order], found.scores[order], catalog=found.catalog)


def other_items(found):
    return Candidates(found.offsets, found.items, found.scores, catalog=Strings.of(list("vwxyz")))


def repeated(found):
    return Candidates(found.offsets, np.zeros_like(found.items), found.scores, catalog=found.catalog)


def without_ids(found, more=0):
    return Candidates(found.offsets, found.items + np.int32(more), found.scores)


def no_numbers(found):
    nothing = np.full(len(found.items), np.nan, np.float32)
    return Candidates.unchecked(found.offsets, found.items, nothing, found.catalog, found.stats)


ASKED = {
    "alone": lambda part: part("q", k=3),
    "batch": lambda part: part(["q", "q"], k=3),
    "filtered": lambda part: part("q", k=3, where=ITEMS),
    "cut": lambda part: (part % 3)("q"),
    "sum": lambda part: (part + GOOD)("q", k=3),
    "minmax": lambda part: part.normalized()("q", k=3),
    "rank": lambda part: (part.normalized("rank") + GOOD.normalized("rank"))("q", k=3),
    "first": lambda part: (part >> GOOD)("q", k=3),
    "union": lambda part: ((part | GOOD) >> GOOD)("q", k=3),
    "shards": lambda part: shards([part, TableRetriever({}, ["z"])])("q", k=3),
    "votes": lambda part: pefa_xl(part, [("q", "a")], **VOTES)("q", k=3),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("mended", [None, backwards, without_ids])
def test_too_many_unsorted_or_unnamed_items_are_ranked_and_cut(asked, mended):
    sound = ASKED[asked](TableRetriever({"q": ROW}, ITEMS))
    assert ASKED[asked](Own(mended)) == sound


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (repeated, CompositionError, "an item once. Got 'a' twice"),
        (other_items, CompositionError, "must return its own items"),
        (lambda found: without_ids(found, 3), CompositionError, "must return its own items"),
        (lambda found: Candidates.from_rows([], catalog=found.catalog), CompositionError, "a row for each of"),
        (lambda found: found.unscored(), CompositionError, "must return scores"),
        (lambda found: found.to_dict(), CompositionError, "must return Candidates. Got dict"),
        (lambda found: None, CompositionError, "must return Candidates. Got NoneType"),
        (no_numbers, InputError, "Got NaN"),
    ],
)
def test_what_is_no_answer_raises_wherever_it_is_asked_for(asked, wrong, error, said):
    with pytest.raises(error, match=said):
        ASKED[asked](Own(wrong))


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda scored: scored.scores, CompositionError, r"Own must keep the contract: scoring must return PairScores"),
        (lambda scored: None, CompositionError, "Got NoneType"),
        (lambda scored: PairScores(scored.scores, None), CompositionError, "other stats"),
        (lambda scored: PairScores(scored.scores[:-1], scored.stats), InputError, "numbers. Got shape"),
        (lambda scored: PairScores(scored.scores[:, None], scored.stats), InputError, "numbers. Got shape"),
        (lambda scored: PairScores(scored.scores * np.nan, scored.stats), InputError, "Got NaN"),
        (lambda scored: PairScores(["x"] * len(scored.scores), scored.stats), InputError, "must be numbers"),
    ],
)
def test_what_is_no_score_raises(wrong, error, said):
    part = Own(score=wrong)
    for ask in (
        lambda: part.score("q", GOOD("q")),
        lambda: (GOOD >> part)("q"),
        lambda: part.exact("q"),
        lambda: (GOOD >> (0.5 * part + 0.5 * GOOD))("q"),
    ):
        with pytest.raises(error, match=said):
            ask()


def test_a_scorer_of_ones_own_is_held_to_the_contract_too():
    class Halves(Scorer):
        items = GOOD.items

        def _score(self, queries, candidates, filter, threads):
            return PairScores(np.full(len(candidates.items) // 2, 1.0), Stats())

    with pytest.raises(InputError, match="must return 3 numbers"):
        (GOOD >> Halves())("q")


class Rows(Index):
    """Vectors that are multiplied out; then something goes wrong."""

    def __init__(self, search=None, score=None):
        self.vectors = np.array([[1.0, 0.0], [4.0, 0.0], [3.0, 0.0]], np.float32)
        self.after_search, self.after_score = search, score

    dim, nbytes = 2, 24

    def __len__(self):
        return len(self.vectors)

    def search(self, rows, k, *, filter=None, threads=1):
        everything = Candidates.from_rows([np.arange(3, dtype=np.int32)] * len(rows))
        found = everything.with_scores(self.scores(rows, everything))
        return found if self.after_search is None else self.after_search(found)

    def scores(self, rows, candidates, *, threads=1):
        places = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
        scored = PairScores((rows[places] * self.vectors[candidates.items]).sum(axis=1), Stats())
        return scored if self.after_score is None else self.after_score(scored)

    def _write(self, writer):
        raise NotImplementedError

    _read = _write


class ByLength(IndexRetriever):
    scale = "length"
    _explain = _write = _read = None


def by_length(**wrong):
    encoder = FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts], dim=2, name="length and 1")
    return ByLength(Strings.of(["a", "b", "c"]), encoder, Rows(**wrong))


def test_an_index_of_ones_own_is_held_to_the_contract_too():
    assert by_length()("fig", k=2).ids == [["b", "c"]], "what is too much is cut"
    assert by_length(search=backwards)("fig", k=2).ids == [["b", "c"]]
    asked = np.array([[3.0, 1.0]], np.float32)
    assert Rows(search=backwards).search(rows=asked, k=1).items.tolist() == [1], "by its own names"
    for wrong, said in (
        (repeated, "Rows must keep the contract: .* 0 twice"),
        (lambda found: without_ids(found, 1), "own items"),
    ):
        with pytest.raises(CompositionError, match=said):
            by_length(search=wrong)("fig")
    with pytest.raises(InputError, match="Got shape"):
        (by_length() >> by_length(score=lambda scored: PairScores(scored.scores[1:], scored.stats)))("fig")


def test_lists_and_wide_numbers_are_taken():
    part = Own(score=lambda scored: PairScores(scored.scores.astype(float).tolist(), scored.stats))
    assert part.score("q", GOOD("q")).to_dict() == TableRetriever({"q": ROW}, ITEMS).score("q", GOOD("q")).to_dict()


def test_a_match_set_says_so():
    nameless = Own(lambda found: found.unscored(), scale="none")
    assert (nameless >> GOOD)("q", k=5).ids == [["e", "a", "b", "c", "d"]]
