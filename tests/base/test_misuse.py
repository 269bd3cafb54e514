"""What callers get wrong is said in the library's own errors: each was a stack trace, a crash or a wrong answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import vizsla
from vizsla._internal.terminal import escape_control, printable_json
from vizsla.base.contract import checked_numbers
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows, as_scipy
from vizsla.core.strings import Strings
from vizsla.core.validation import as_array, as_path, check_seed, validate_args
from vizsla.encoders import LsaEncoder, WordEncoder, open_encoder
from vizsla.errors import InputError
from vizsla.indexes.factory import make_index
from vizsla.methods.pefa import pefa_xs
from vizsla.methods.xrlinear.tree import LabelTree, cluster_items
from vizsla.text import WordPiece

ITEMS = {"a": "fig tree", "b": "pear"}


def lsa():
    return LsaEncoder.fit(["a b"], dim=1)


def test_more_negatives_than_items_cost_no_memory():
    clicks = [("vehicle", "a"), ("orchard", "b")]
    learned = [vizsla.tokens(ITEMS, clicks, epochs=1, negatives=many) for many in (2, 2**40)]
    assert learned[0]("vehicle orchard") == learned[1]("vehicle orchard")


@pytest.fixture(scope="module")
def search():
    return vizsla.bm25(ITEMS)


def of_matrices(**matrices):
    plain = vizsla.Dataset.of(ITEMS, queries=["fig"])
    return vizsla.Dataset(plain.items, plain.queries, **matrices)


def test_a_dense_matrix_of_clicks_is_as_good_as_a_sparse_one():
    dense, sparse = of_matrices(clicks=[[2.0, 0.0]]), of_matrices(clicks=csr_array([[2.0, 0.0]]))
    learned = [vizsla.learning.train_tokens(vizsla.tokens(ITEMS), clicks, epochs=1) for clicks in (dense, sparse)]
    assert learned[0]("fig") == learned[1]("fig") and dense.clicks.nnz == 1


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda search: vizsla.bm25(["fig", "pear"], ids=[1, 2]), "must be a text. Got 1"),
        (lambda search: search("fig", where=[True, False]), "mask it must be a numpy array"),
        (lambda search: search(None), "`queries` must be"),
        (lambda search: pefa_xs(search, [("fig", "a", "x")], weight=0.5), "`weight` must be numbers. Got"),
        (lambda search: vizsla.bm25({"\ud800": "fig"}), "valid Unicode"),
        (lambda search: make_index("flat", np.array([["a", "b"]])), "`vectors` must be numbers"),
        (lambda search: make_index("flat", [["a", "b"]]), "`vectors` must be numbers"),
        (lambda search: make_index("pq", [[1.0], [1.0, 2.0]], bytes=1), "`vectors` must be an array of numbers"),
        (lambda search: search.score_encoded([["a"], "b"], Candidates([0], [], None)), "must be an array of numbers"),
        (lambda search: LabelTree([[0, 1]], [["a"], "b"]), "must be an array of numbers"),
        (lambda search: LabelTree([[0, 1]], [[0]]), "in one dimension"),
        (lambda search: SparseRows.of([["a", "b"]]), "`matrix` must be numbers"),
        (lambda search: SparseRows.of([1.0]), "two dimensions. Got 1"),
        (lambda search: checked_numbers([[1], [2, 3]], 2), "`scores` must be an array of numbers"),
        (lambda search: checked_numbers(None, 1), "`scores` must be numbers"),
        (lambda search: search.score("fig", None), "Candidates or lists of item ids. Got NoneType"),
        (lambda search: search.explain("fig", None), "must be a text. Got NoneType"),
        (lambda search: search.save(None), "must be a text or a path. Got NoneType"),
        (lambda search: vizsla.load(b"x"), "must be a text or a path. Got bytes"),
        (lambda search: vizsla.Retrying(search, pause_s="x"), "`pause_s` must be a number"),
        (lambda search: vizsla.Retrying(search, seed=-1), "`seed` must be a whole number from 0"),
        (lambda search: vizsla.Retrying(search, failures=5), "`failures` must be a tuple"),
        (lambda search: WordPiece(["[UNK]"], prefix=None), "`prefix` must be a text"),
        (lambda search: WordPiece(["[UNK]"], special=slice(None)), "`special` must be a list or None"),
        (lambda search: vizsla.tfidf(ITEMS, encoder=5), "`encoder` must be a NgramTfidf or None"),
        (
            lambda search: vizsla.tokens(ITEMS, [("fig", "a")], epochs=1, seed=-1),
            "`seed` must be",
        ),
        (
            lambda search: vizsla.late_interaction(ITEMS, WordEncoder(lsa()), path="a\0"),
            "without a zero byte",
        ),
        (lambda search: LsaEncoder(lsa().ngrams, object()), "`projection` must be an array"),
        (lambda search: vizsla.text.NgramTfidf(lsa().ngrams.names, "x", bins=[1, 1, 1]), "`weights` must be numbers"),
        (lambda search: search.save("a\0b"), "without a zero byte"),
        (
            lambda search: LsaEncoder.fit(["a b"], dim=1, seed=-1),
            "`seed` must be a whole number from 0",
        ),
        (lambda search: vizsla.bm25(ITEMS, k1="x"), "`k1` must be a number. Got str"),
        (lambda search: vizsla.dense(ITEMS, "x"), "`encoder` must be an Encoder. Got str"),
        (lambda search: 2**70 * search, None),
        (lambda search: search.times("x"), "`weight` must be a number"),
        (lambda search: search.normalized(np.array(["minmax"])), "`how` must be a text"),
        (lambda search: search % 2**70, "below 2"),
        (lambda search: Candidates([0, 1], [2**40], None), "fit int32. Got 1099511627776"),
        (lambda search: Candidates([0, 1], [1.5], None), "`items` must be whole numbers. Got float64"),
        (lambda search: Candidates([0, 2**63 - 1, -2, 1], [0], [1.0]), "`offsets` must rise"),
        (lambda search: Candidates.from_dict({"q": {"a": "x"}}), "`scores` must be numbers"),
        (lambda search: vizsla.Dataset.of(ITEMS, clicks=5), "clicks"),
        (lambda search: vizsla.Dataset(None, None), "`items` must be Records; `Dataset.of` takes texts. Got NoneType"),
        (lambda search: vizsla.bm25({"a": "fig", "b": {"text": "fig"}}), "must hold str. Got dict at position 1"),
        (lambda search: open_encoder(""), "must be a model's hub id or folder. Got an empty text"),
        (lambda search: vizsla.compare({"a": search}, None), "dataset"),
        (
            lambda search: WordPiece(["[UNK]"], prefix="\ud800"),
            "`prefix` must be valid Unicode. Got '.ud800'",
        ),
        (lambda search: search("fig").to_trec(tag="\ud800"), "must be valid Unicode"),
        (lambda search: Candidates.from_dict({"\ud800": {"a": 1.0}}).to_trec(), "must be valid Unicode"),
        (lambda search: vizsla.text.Analyzer(stop_words=np.array(3)), "`stop_words` must be a language or a list"),
        (lambda search: vizsla.shards(csr_array((1, 1))), "`parts` must be a list. Got csr_array"),
        (lambda search: vizsla.tfidf(ITEMS, kind_shares=csr_array((1, 3))), "`kind_shares` must be a list"),
        (lambda search: of_matrices(clicks=[()]), "`clicks` must be 1 × 2. Got .1, 0."),
        (lambda search: of_matrices(clicks=[[np.nan, 1.0]]), "`clicks` must hold finite numbers. Got nan"),
        (lambda search: of_matrices(qrels={"test": [[np.inf, 1]]}), "`test` must hold finite numbers. Got inf"),
    ],
)
def test_a_misuse_is_an_input_error(search, misuse, message):
    if message is None:
        misuse(search)
        return
    with pytest.raises(InputError, match=message):
        misuse(search)


def test_a_number_that_does_not_fit_is_not_taken_for_another():
    table = Strings.of(["a", "b"])
    for wrong in ([2**32], [2], [-1], np.array([2**32]), np.array([5], np.int32)):
        with pytest.raises(IndexError):
            table.take(wrong)
    with pytest.raises(InputError, match="whole numbers"):
        table.take([0.5])
    assert table.take([1, 0]) == ["b", "a"] and table[-1] == "b"
    for wrong in (2, -3, 2**70):
        with pytest.raises(IndexError):
            table[wrong]
    with pytest.raises(InputError):
        table["a"]


def test_a_lone_surrogate_is_found_nowhere_and_breaks_nothing(search):
    assert search("\ud800 fig").ids == search("fig").ids
    assert search.items.find("\ud800") == -1 and search.items.find_all(["\ud800", "a"]).tolist() == [-1, 0]
    with pytest.raises(InputError, match="known"):
        search("fig", where=["\ud800"])


@pytest.mark.parametrize("places", [[0, 10**8, 3], [0, 3, 2**31 - 1], [1, 3, 3], [0, 2**31 - 1, -2]])
@pytest.mark.parametrize("numbers", [[0, 1, 2], [0, 1, 10**8], [-1, 0, 1]])
def test_a_sparse_matrix_that_does_not_fit_together_is_refused(places, numbers):
    wild = csr_array((np.ones(3, np.float32), [0, 1, 2], [0, 3, 3]), shape=(2, 3))
    wild.indptr, wild.indices = np.array(places, np.int32), np.array(numbers, np.int32)
    for use in (SparseRows.of, as_scipy, cluster_items):  # SciPy would read, and write, wherever these lead
        with pytest.raises(InputError, match="sound CSR"):
            use(wild)
    items = vizsla.Dataset.of(["a", "b", "c"], queries=["d", "e"])
    with pytest.raises(InputError, match="`clicks` must be a sound CSR"):
        vizsla.Dataset(items.items, items.queries, clicks=wild)


@pytest.mark.parametrize("wrong", [-1, 2**70, 1.5, "1", None, True])
def test_seeds(wrong):
    with pytest.raises(InputError, match="`seed` must be a whole number from 0"):
        check_seed(wrong)
    assert check_seed(np.int64(7)) == 7


def test_arrays_and_paths():
    assert as_array("x", [True, 2], np.float32).tolist() == [1.0, 2.0]
    for wrong in (["a"], [None], [[1], [2, 3]], object(), 1j):
        with pytest.raises(InputError, match="`x` must be"):
            as_array("x", wrong, np.float32)
    with pytest.raises(InputError, match="must be a path"):
        as_path(3)


def test_arguments_are_held_against_their_annotations():
    @validate_args
    def call(
        one: int, *rest: int, two: str | None = None, three: list[Strings] = (), four: Strings | None = None
    ) -> int:
        return one

    assert call(3) == call(3, "not looked at", two="x", three=[]) == call(np.int64(3), four=Strings.of([])) == 3
    for given, message in [
        ({"one": "3"}, "`one` must be a whole number. Got str"),
        ({"one": True}, "`one` must be a whole number. Got bool"),
        ({"one": 1, "two": 5}, "`two` must be a text or None. Got int"),
        ({"one": 1, "four": ["a"]}, "`four` must be a Strings or None. Got list"),
    ]:
        with pytest.raises(InputError, match=message):
            call(**given)
    with pytest.raises(TypeError, match="missing"):
        call()


def test_what_a_terminal_would_obey_is_shown():
    nasty = "red\x1b[31m \x9b1m \u202e \ud800\r\tend\nnext é 東京"
    assert escape_control(nasty) == r"red\x1b[31m \x9b1m \u202e \ud800\r\tend" + "\nnext é 東京"
    assert printable_json('"\u202e\x7f"') == r'"\u202e\u007f"'


def test_ids_with_escapes_are_printed_escaped(capsys):
    vizsla.bm25({"a\x1b[2Jb": "fig", "c\nd": "fig fig"})("fig\x1b]0;title\x07").show(texts={"a\x1b[2Jb": "\x1b[31m"})
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\x07" not in shown
    assert r"a\x1b[2Jb" in shown and r"c\nd" in shown
