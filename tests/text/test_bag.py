"""Bags of words equal a Python dict of counts, whatever the batches; what is saved comes back, and lies are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.interrupts import seconds_until_stopped
from tests.text import twin
from vizsla.artifacts.artifact import load
from vizsla.artifacts.writer import ArtifactWriter
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError
from vizsla.text import streams as texts_module
from vizsla.text.analyzers import Analyzer
from vizsla.text.bag_of_words import BagOfWords

ANALYZERS = [
    Analyzer(),
    Analyzer(lower=False),
    Analyzer(stop_words="english"),
    Analyzer(stem="english"),
    Analyzer.named("english"),
    Analyzer("chars", min_chars=1, max_chars=3),
    Analyzer("chars", stop_words=["a", "th"]),
]
WORDS = ["The", "the", "run", "Runs", "running", "being", "be", "café", "東京都", "a_b", "7"]
WORDS += ["extraordinary", "extraordinarily"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), max_size=12)


def as_dicts(rows: SparseRows) -> list[dict[int, int]]:
    assert rows.offsets.dtype == np.int64 and rows.columns.dtype == np.int32 and rows.values.dtype == np.float32
    bounds = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    pairs = [(rows.columns[a:b].tolist(), rows.values[a:b].tolist()) for a, b in bounds]
    assert all(terms == sorted(set(terms)) for terms, _ in pairs)
    return [dict(zip(terms, map(int, counts), strict=True)) for terms, counts in pairs]


@given(texts, st.sampled_from(ANALYZERS))
def test_fit_counts_as_the_twin(given_texts: list[str], analyzer: Analyzer) -> None:
    bag, rows = BagOfWords.fit(given_texts, analyzer)
    terms, counts = twin.bag(given_texts, analyzer)
    assert list(bag.terms) == terms
    assert as_dicts(rows) == counts


@given(texts, texts, st.sampled_from(ANALYZERS))
def test_rows_count_known_terms_as_the_twin(fitted: list[str], asked: list[str], analyzer: Analyzer) -> None:
    bag, rows = BagOfWords.fit(fitted, analyzer)
    known = len(bag.terms)
    expected = twin.bag([*fitted, *asked], analyzer)[1][len(fitted) :]
    assert as_dicts(bag.queries(asked)) == [{t: n for t, n in row.items() if t < known} for row in expected]
    assert as_dicts(bag.queries(fitted)) == as_dicts(rows)


def test_a_form_never_seen_is_found_by_its_stem() -> None:
    bag, _ = BagOfWords.fit(["a run", "extraordinary sights"], Analyzer.named("english"))
    assert "running" not in bag.forms
    found = bag.queries(["running, runs, a RUN", "sight unseen the", "nothing"])
    assert as_dicts(found) == [{0: 3}, {2: 1}, {}]


def test_a_stop_word_that_never_occurred_is_not_stemmed_into_a_term() -> None:
    bag, _ = BagOfWords.fit(["doe"], Analyzer(stop_words=["does"], stem="english"))
    assert as_dicts(bag.queries(["does doe"])) == [{0: 1}]


@given(texts, texts, st.sampled_from(ANALYZERS))
def test_a_grown_bag_is_one_that_was_fitted_to_both(fitted: list[str], more: list[str], analyzer: Analyzer) -> None:
    bag, rows = BagOfWords.fit(fitted, analyzer)
    grown = bag.grown(iter(more))
    terms, counts = twin.bag([*fitted, *more], analyzer)
    assert list(grown.terms) == terms
    assert list(grown.terms)[: bag.dim] == list(bag.terms)
    assert list(grown.forms)[: len(bag.forms)] == list(bag.forms)
    assert as_dicts(grown.queries([*fitted, *more])) == counts
    assert as_dicts(rows) == counts[: len(fitted)]
    assert bag.grown_to(BagOfWords.fit(more, analyzer)[0]).fingerprint == grown.fingerprint


def test_a_grown_bag_knows_the_new_words_by_their_stems() -> None:
    bag, _ = BagOfWords.fit(["a run"], Analyzer.named("english"))
    grown = bag.grown(["running extraordinarily", "the sights", "a sight"])
    assert list(grown.terms) == ["run", "extraordinarili", "sight"]
    assert as_dicts(grown.queries(["runs", "sighted", "the a"])) == [{0: 1}, {2: 1}, {}]
    assert grown.analyzer == bag.analyzer and grown.fingerprint != bag.fingerprint


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_growing_by_nothing_new_is_the_bag_itself(analyzer: Analyzer) -> None:
    bag, _ = BagOfWords.fit(WORDS, analyzer)
    assert bag.grown([]) is bag
    assert bag.grown(["", " . ", *WORDS]) is bag


@pytest.mark.parametrize("analyzer", [Analyzer(), Analyzer.named("english")], ids=["words", "english"])
def test_batches_do_not_change_what_grows(analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch) -> None:
    given_texts = long_texts()
    whole, _ = BagOfWords.fit(given_texts, analyzer)
    bag, _ = BagOfWords.fit(given_texts[:100], analyzer)
    prints = set()
    for size in (1, 13, 4096):
        monkeypatch.setattr(texts_module, "TEXTS_PER_BATCH", size)
        grown = bag.grown(iter(given_texts[100:]))
        prints.add(grown.fingerprint)
        assert list(grown.terms) == list(whole.terms)
    assert len(prints) == 1


def test_bags_of_two_analyzers_do_not_grow_together() -> None:
    with pytest.raises(InputError, match="same analyzer"):
        BagOfWords.fit(["a"])[0].grown_to(BagOfWords.fit(["a"], Analyzer(lower=False))[0])


def test_a_grown_bag_refuses_what_is_not_a_text() -> None:
    bag, _ = BagOfWords.fit(["a"])
    for wrong in ("one text", ["a", 3], [b"bytes"]):
        with pytest.raises(InputError, match="`texts` must hold"):
            bag.grown(wrong)  # type: ignore[arg-type]


def long_texts() -> list[str]:
    rng = np.random.default_rng(7)
    vocabulary = [f"w{n}" * (1 + n % 4) for n in range(30_000)] + ["naïve", "Ωμέγα"]
    return [" ".join(vocabulary[i] for i in rng.integers(0, len(vocabulary), rng.integers(0, 300))) for _ in range(700)]


@pytest.mark.parametrize("analyzer", [Analyzer(), Analyzer.named("english")], ids=["words", "english"])
def test_batches_and_the_growing_vocabulary_change_nothing(analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch) -> None:
    given_texts = long_texts()
    bag, rows = BagOfWords.fit(given_texts, analyzer)
    terms, counts = twin.bag(given_texts, analyzer)
    assert (list(bag.terms), as_dicts(rows)) == (terms, counts)
    for size in (1, 13, 4096):
        monkeypatch.setattr(texts_module, "TEXTS_PER_BATCH", size)
        again, again_rows = BagOfWords.fit(iter(given_texts), analyzer)
        assert again.fingerprint == bag.fingerprint
        assert again_rows == rows


def test_no_texts_and_empty_texts() -> None:
    for analyzer in ANALYZERS:
        bag, rows = BagOfWords.fit([], analyzer)
        assert (bag.dim, rows.offsets.tolist(), len(rows.columns)) == (0, [0], 0)
        assert as_dicts(bag.queries(["any", ""])) == [{}, {}]
        assert bag.queries([]).offsets.tolist() == [0]
        assert as_dicts(BagOfWords.fit(["", " . "], analyzer)[1]) == [{}, {}]


def test_lone_surrogates_separate_words() -> None:
    bag, rows = BagOfWords.fit(["a\ud800b", "é\udfffb"])
    assert list(bag.terms) == ["a", "b", "é"]
    assert as_dicts(rows) == as_dicts(bag.queries(["a b", "\ud800é \udfffb"]))


def test_queries_are_a_sparse_matrix() -> None:
    bag, _ = BagOfWords.fit(["one two", "two three"])
    matrix = bag.queries(("two two one", "none"))
    assert matrix.shape == (2, 3) and matrix.values.dtype == np.float32
    assert matrix.toarray().tolist() == [[1, 2, 0], [0, 0, 0]]
    assert bag.sparse and (bag.items(["three"]).toarray() == [[0, 0, 1]]).all()


def test_fingerprints_tell_bags_apart() -> None:
    fits = [(["a b"], Analyzer()), (["b a"], Analyzer()), (["a b"], Analyzer(lower=False))]
    fits += [(["a b"], Analyzer(stop_words=["c"])), (["a b"], Analyzer(stem="english"))]
    prints = [BagOfWords.fit(given_texts, analyzer)[0].fingerprint for given_texts, analyzer in fits]
    assert len(set(prints)) == len(prints)
    assert BagOfWords.fit(["a b"])[0].fingerprint == prints[0]


@pytest.mark.parametrize("wrong", ["one text", ["a", 3], ["a", None], [b"bytes"]])
def test_texts_must_be_many_strings(wrong: Any) -> None:
    bag, _ = BagOfWords.fit(["a"])
    with pytest.raises(InputError, match="`texts` must hold"):
        bag.queries(wrong)
    with pytest.raises(InputError, match="`texts` must hold"):
        BagOfWords.fit(wrong)


def test_the_position_of_a_wrong_text_is_named() -> None:
    with pytest.raises(InputError, match="Got int at position 1000"):
        BagOfWords.fit(["a"] * 1000 + [3])  # type: ignore[list-item]


def test_an_error_of_the_reader_passes_through() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise TypeError("disk on fire")

    with pytest.raises(TypeError, match="disk on fire"):
        BagOfWords.fit(broken())


def test_an_interrupt_stops_a_fit_at_once() -> None:
    long = ["word by word " * 200_000] * 500  # over a gigabyte in one batch; the whole takes 2.6 s
    assert seconds_until_stopped(lambda: BagOfWords.fit(long), 0.1) < 1.2


def store(path: Path, fill: Callable[[ArtifactWriter], None]) -> Path:
    path.mkdir()
    ArtifactWriter(path, "bag-of-words").write(SimpleNamespace(_write=fill, _noted=dict))  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize("mmap", [True, False])
def test_what_is_written_is_read(tmp_path: Path, analyzer: Analyzer, mmap: bool) -> None:
    bag, rows = BagOfWords.fit(WORDS, analyzer)
    again = BagOfWords.load(bag.save(tmp_path / "bag"), mmap=mmap)
    assert (again.analyzer, again.fingerprint, again.dim) == (bag.analyzer, bag.fingerprint, bag.dim)
    assert as_dicts(again.queries(WORDS)) == as_dicts(rows)


def write_lie(path: Path, bag: BagOfWords, **lies: Any) -> Path:
    """Store a bag with some of its parts replaced; checksums and sizes are right."""

    def fill(writer: ArtifactWriter) -> None:
        writer.json("analyzer", lies.get("analyzer", bag.analyzer.to_dict()))
        writer.array("term_of_form", lies.get("term_of_form", bag.term_of_form))
        for name, strings in (("terms", bag.terms), ("forms", bag.forms)):
            for part, attribute in (("bytes", "data"), ("offsets", "offsets"), ("slots", "slots")):
                writer.array(f"{name}.{part}", lies.get(f"{name}_{part}", getattr(strings, attribute)))

    return store(path, fill)


BAG = BagOfWords.fit(["running shoes", "é shops"], Analyzer.named("english"))[0]
LIES: dict[str, dict[str, Any]] = {
    "term too large": {"term_of_form": np.where(BAG.term_of_form == 2, BAG.dim, BAG.term_of_form)},
    "term too small": {"term_of_form": BAG.term_of_form - 1},
    "terms missing": {"term_of_form": BAG.term_of_form[:-1]},
    "no terms": {"term_of_form": BAG.term_of_form[:0]},
    "terms of another type": {"term_of_form": BAG.term_of_form.astype(np.int64)},
    "terms in a square": {"term_of_form": BAG.term_of_form.reshape(1, -1)},
    "slots emptied": {"terms_slots": np.zeros_like(BAG.terms.slots)},
    "slots shifted": {"terms_slots": np.roll(BAG.terms.slots, 1)},
    "slots of forms shifted": {"forms_slots": np.roll(BAG.forms.slots, 1)},
    "slots missing": {"forms_slots": BAG.forms.slots[:0]},
    "slots past the end": {"forms_slots": np.full_like(BAG.forms.slots, 2**31)},
    "offsets past the end": {"terms_offsets": BAG.terms.offsets * 2},
    "offsets falling": {"terms_offsets": BAG.terms.offsets[::-1]},
    "offsets inside a character": {"terms_offsets": BAG.terms.offsets + (BAG.terms.offsets == 7)},
    "not UTF-8": {"terms_bytes": np.full_like(BAG.terms.data, 255)},
    "all the same": {"forms_bytes": np.full_like(BAG.forms.data, ord("a"))},
    "another analyzer": {"analyzer": {"kind": "words"}},
    "a list for an analyzer": {"analyzer": []},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_hostile_files_are_refused(tmp_path: Path, lie: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=str(tmp_path)):
        load(write_lie(tmp_path / "bag", BAG, **lie))


def test_the_hostile_files_differ_from_an_honest_one_by_their_lies_alone(tmp_path: Path) -> None:
    honest = load(write_lie(tmp_path / "bag", BAG))
    assert honest.fingerprint == BAG.fingerprint


@pytest.mark.parametrize("term_of_form", [None, [], [0, 0], [1], [-2]])
def test_forms_must_fit_the_terms(term_of_form: list[int] | None) -> None:
    numbers = None if term_of_form is None else np.array(term_of_form, np.int32)
    with pytest.raises(InputError, match="term_of_form"):
        BagOfWords(Analyzer(stem="english"), Strings.of(["a"]), Strings.of(["as"]), numbers)


def test_forms_belong_to_stemming() -> None:
    with pytest.raises(InputError, match="stems"):
        BagOfWords(Analyzer(stem="english"), Strings.of(["a"]))
    with pytest.raises(InputError, match="stems"):
        BagOfWords(Analyzer(), Strings.of(["a"]), Strings.of(["as"]), np.array([0], np.int32))
