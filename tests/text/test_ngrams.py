"""N-gram features equal their plain Python twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.ngram_twin import Twin, ngrams
from vizsla import _native
from vizsla.errors import InputError
from vizsla.text.ngrams import NgramTfidf

# Few letters, so that n-grams repeat; of one to four bytes, with case, marks, digits and characters of no word.
ALPHABET = "aab cD_É9ß#\u0301ς東İ \U0001f600\U00020000,\ud800"
TEXTS = st.lists(st.one_of(st.text(ALPHABET, max_size=30), st.text(max_size=12)), max_size=12)
BUDGETS = st.tuples(*[st.sampled_from([0, 1, 3, 1000])] * 3).filter(any)
UNSEEN = {"drop": 0, "shared": 1, "hash": 5}
PAPER = "artistic iphone 6s case"


def fitted(texts, budgets=(1000, 1000, 1000), **options):
    return NgramTfidf.fit(texts, **dict(zip(("unigrams", "bigrams", "trigrams"), budgets, strict=True)), **options)


def as_dicts(rows):
    cells = list(zip(rows.columns.tolist(), rows.values.tolist(), strict=True))
    return [dict(cells[a:b]) for a, b in zip(rows.offsets, rows.offsets[1:], strict=False)]


def assert_equal_rows(rows, expected):
    assert rows.offsets.dtype == np.int64 and rows.columns.dtype == np.int32 and rows.values.dtype == np.float32
    got = as_dicts(rows)
    assert [list(row) for row in got] == [sorted(row) for row in expected]
    for row, right in zip(got, expected, strict=True):
        assert row == pytest.approx(right, rel=2e-6)


@given(
    TEXTS,
    TEXTS,
    BUDGETS,
    st.sampled_from([1, 2, 3]),
    st.sampled_from(sorted(UNSEEN)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([{"norm": "row"}, {"norm": "kinds"}, {"norm": "kinds", "shares": (1.0, 0.5, 0.25)}]),
    st.sampled_from([0, 1.0, 2.0]),
    st.sampled_from([1, 2, 7, 10**6]),
)
def test_native_equals_its_twin(texts, others, budgets, min_texts, unseen, lower, sublinear, norm, idf_power, room):
    rules = {"min_texts": min_texts, "lower": lower, "sublinear": sublinear, **norm, "room": room}
    rules["idf_power"] = idf_power
    twin = Twin(texts, budgets=budgets, bins=UNSEEN[unseen], **rules)
    model = fitted(texts, budgets, unseen=unseen, bins=5, **rules)
    assert [list(table) for table in model.names] == twin.names
    assert list(model.bins) == twin.bins
    np.testing.assert_allclose(model.weights, np.concatenate(twin.weights), rtol=1e-6)
    assert_equal_rows(model.queries(texts + others), [twin.row(text) for text in texts + others])


def test_many_words_equal_the_twin():
    """Longer than what is looked up together, and with more features than are ranked by comparison."""
    letters = np.random.default_rng(0).choice(list("abcdé "), size=3000)
    texts = ["".join(letters), "".join(letters[::-1]), "a" * 700 + " b" * 700]
    twin = Twin(texts[:2], budgets=(50, 200, 60))
    assert_equal_rows(fitted(texts[:2], (50, 200, 60)).queries(texts), [twin.row(text) for text in texts])


def test_the_paper_s_example():
    """Section 3.4, with its slips repaired: "ar" for "art", "phi" for "pho", and "ne#" left out."""
    assert _native.ngrams(PAPER, True, 0) == ["artistic", "iphone", "6s", "case"]
    assert _native.ngrams(PAPER, True, 1) == ["artistic#iphone", "iphone#6s", "6s#case"]
    printed = ["#ar", "ar", "rti", "tis", "ist", "sti", "tic", "ic#", "#ip", "iph", "phi", "hon", "one", "#6s", "6s#"]
    printed += ["#ca", "cas", "ase", "se#"]
    found = _native.ngrams(PAPER, True, 2)
    assert [t for t in found if t not in printed] == ["art", "pho", "ne#"]
    assert [t for t in printed if t not in found] == ["ar", "phi"]
    assert [t for t in found if t in printed] == [t for t in printed if t in found]


@pytest.mark.parametrize("text", ["", "?!", "a", "É", "東京 a", "a\u0301 b"])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_ngrams_of_odd_texts(text, kind):
    assert _native.ngrams(text, True, kind) == ngrams(text, kind)


def test_by_hand():
    """Two texts: idf is 1 where both hold a word, 1 + ln(3/2) where one does."""
    model = fitted(["fig tree", "fig"], (10, 0, 0), unseen="drop")
    rare = 1 + np.log(1.5)
    assert as_dicts(model.queries(["Fig, fig TREE plum"]))[0] == pytest.approx(
        {
            0: (1 + np.log(2)) / np.hypot(1 + np.log(2), rare),
            1: rare / np.hypot(1 + np.log(2), rare),
        }
    )


def test_budgets_keep_the_most_frequent_and_of_equals_the_first():
    model = fitted(["b a", "c a", "d c"], (2, 1, 0))
    assert list(model.names[0]) == ["a", "c"]
    assert list(model.names[1]) == ["b#a"]
    assert list(fitted(["b a", "c a", "d c"], (9, 9, 0), min_texts=2).names[0]) == ["a", "c"]


def test_rules_for_ngrams_outside_the_vocabulary():
    texts = ["a x", "a y", "a z"]

    def features(text, **options):
        return fitted(texts, (1, 0, 0), **options).queries([text]).columns.tolist()

    assert features("a x", unseen="drop") == [0]
    assert features("never seen", unseen="drop") == []
    assert features("x y never", unseen="shared") == [1]
    hashed = {word: features(word, unseen="hash", bins=64) for word in ("x", "y", "z")}
    assert sorted(f for found in hashed.values() for f in found) == sorted({f for [f] in hashed.values()})
    assert all(1 <= feature <= 64 for [feature] in hashed.values())


def test_a_shared_feature_that_met_nothing_stays_out():
    model = fitted(["a b", "b c"], (10, 10, 10))
    assert model.queries(["unknown"]).offsets.tolist() == [0, 0]


@given(TEXTS)
def test_a_batch_is_its_texts_one_by_one(texts):
    model = fitted(texts, (3, 3, 5))
    batch = as_dicts(model.queries(texts))
    assert batch == [as_dicts(model.queries([text]))[0] for text in texts]


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    words = ["fig", "tree", "apple", "pear", "Äpfel", "x"]
    texts = [" ".join(rng.choice(words, size=n)) for n in rng.integers(0, 60, 9000)]
    assert sum(map(len, texts)) > 1 << 20, "several pieces of work"
    model = fitted(texts, (4, 9, 12))
    one, two = model.queries(texts), model.queries(texts, threads=2)
    assert one == two
    some = slice(4000, 4100)
    assert as_dicts(one)[some] == as_dicts(model.queries(texts[some]))


def test_csr_arrays_are_sorted_and_have_length_1():
    model = fitted(["fig tree", "apple tree", "pear"])
    for rows in (model.queries(["tree fig fig", ""]), model.items(("tree fig fig", ""))):
        matrix = rows.to_scipy()
        assert matrix.shape == (2, model.dim) and matrix.dtype == np.float32
        assert matrix.has_sorted_indices and (np.diff(matrix.indices) > 0).all()
        assert np.sqrt((matrix.toarray() ** 2).sum(axis=1)) == pytest.approx([1, 0])
        matrix.data *= 2  # the caller's own


def test_names_and_kinds_of_features():
    model = fitted(["a b"], unseen="hash", bins=2)
    names = ["a", "b", "<unseen unigram 0>", "<unseen unigram 1>", "a#b", "<unseen bigram 0>", "<unseen bigram 1>"]
    names += ["#a#", "#b#", "<unseen trigram 0>", "<unseen trigram 1>"]
    assert [model.feature_name(i) for i in range(model.dim)] == names
    assert [model.feature_kind(i) for i in range(model.dim)] == ["unigram"] * 4 + ["bigram"] * 3 + ["trigram"] * 4
    for wrong in (-1, model.dim):
        with pytest.raises(InputError, match="`feature` must be between 0 and 10"):
            model.feature_name(wrong)


def test_the_fingerprint_tells_whether_texts_are_encoded_alike():
    texts = ["a b", "b c"]
    assert fitted(iter(texts)).fingerprint == fitted(texts).fingerprint
    others = [fitted([*texts, "b"]), fitted(texts, (2, 9, 9)), fitted(texts, lower=False)]
    others += [fitted(texts, sublinear=False), fitted(texts, norm="kinds"), fitted(texts, unseen="drop")]
    assert len({model.fingerprint for model in [fitted(texts), *others]}) == 7


def test_other_shares_are_those_of_a_fit_with_them():
    texts = ["a b c", "b c", "c a d"]
    model = fitted(texts, norm="kinds", shares=[1, 0.5, 0.2])
    assert fitted(texts).with_shares([1, 0.5, 0.2]).fingerprint == model.fingerprint
    without = fitted(texts).with_shares([0.3, 0, 1])
    expected = fitted(texts, norm="kinds", shares=[0.3, 0, 1])
    assert without.fingerprint == expected.fingerprint and without.bins == (1, 0, 1) and without.shares == (0.3, 0, 1)
    by_budget = fitted(texts, (9, 0, 9), norm="kinds", shares=[0.3, 1, 1])
    assert_equal_rows(without.queries(texts), as_dicts(by_budget.queries(texts)))


def test_shares_are_the_lengths_of_the_kinds():
    model = fitted(["a b c", "b c"], norm="kinds", shares=[1, 0.5, 0.2])
    rows = model.queries(["a b c"])
    kinds = np.array([model.feature_kind(f) for f in rows.columns])
    lengths = [np.sqrt((rows.values[kinds == kind] ** 2).sum()) for kind in ("unigram", "bigram", "trigram")]
    assert lengths / lengths[0] == pytest.approx([1, 0.5, 0.2], rel=1e-6)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([1, 1], "a number for each of unigram, bigram, trigram. Got 2"),
        ([1, 1, 2], "`shares` must be 0 or between 0.001 and 1. Got 2"),
        ([1, 1, -1], "Got -1"),
        ([1, 1, 0.0001], "Got 0.0001"),
        ([1, 1, float("nan")], "Got nan"),
        ([1, 1, "1"], "`shares` must be numbers. Got '1'"),
        ([0, 0, 0], "One of `shares` must be above 0"),
    ],
)
def test_shares_that_cannot_be_are_refused(shares, message):
    with pytest.raises(InputError, match=message):
        fitted(["a b"], norm="kinds", shares=shares)


def test_shares_need_the_norm_by_kinds_and_no_features_for_0():
    model = fitted(["a b"])
    with pytest.raises(InputError, match="`shares` must have the norm 'kinds'"):
        fitted(["a b"], shares=[1, 1, 0.5])
    with pytest.raises(InputError, match="0 for a kind without features"):
        NgramTfidf(model.names, model.weights, bins=model.bins, norm="kinds", shares=[1, 1, 0])
