"""TF-IDF against its twin: n-gram rows of every item and query multiplied out in numpy."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.text.ngram_twin import Twin
from vizsla.cli import main
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods.tfidf import Tfidf, tfidf
from vizsla.text.ngrams import NgramTfidf

TEXTS = list(ITEMS.values())


def rows_of(encoder: NgramTfidf, texts: list[str]) -> np.ndarray:
    return encoder.queries(texts).toarray().astype(np.float64)


def heaviest(rows: np.ndarray, entries: int | None) -> np.ndarray:
    if entries is None:
        return rows
    cut = np.zeros_like(rows)
    for row, values in enumerate(rows):
        best = np.lexsort((np.arange(len(values)), -values))[:entries]
        cut[row, best] = values[best]
    return cut


@pytest.mark.parametrize("entries", [None, 1, 20])
def test_search_is_the_inner_product_of_all_rows(entries):
    search = tfidf(ITEMS, entries=entries)
    expected = rows_of(search.encoder, QUERIES) @ heaviest(rows_of(search.encoder, TEXTS), entries).T
    found = search(QUERIES, k=len(ITEMS))
    for row, scores in enumerate(expected):
        items, given = found.row(row)
        np.testing.assert_allclose(given, scores[items], atol=1e-6)
        assert set(items.tolist()) == set(np.flatnonzero(scores > 0).tolist())
        assert (np.diff(given) <= 0).all()


def test_rows_are_those_of_the_ngram_twin():
    rows = tfidf(ITEMS).item_rows().toarray()
    twin = Twin(TEXTS, budgets=(10**6,) * 3, norm="kinds", idf_power=2.0)
    for text, row in zip(TEXTS, rows, strict=True):
        expected = twin.row(text)
        assert set(np.flatnonzero(row).tolist()) == set(expected)
        np.testing.assert_allclose(row[list(expected)], list(expected.values()), atol=1e-6)


def test_clicked_queries_of_a_dataset_count_as_texts():
    with pytest.warns(UserWarning):  # one item has no text
        log = Dataset.of(ITEMS, queries={**CLICKED, "none": "nobody clicked"}, clicks=CLICKS)
    clicked = np.flatnonzero(np.diff(log.clicks.indptr))
    texts = [log.query_texts()[1][row] for row in clicked]
    assert 0 < len(texts) < len(log.queries)
    expected = NgramTfidf.fit([*texts, *TEXTS], norm="kinds", idf_power=2.0)
    assert tfidf(log).encoder.fingerprint == expected.fingerprint
    assert tfidf(ITEMS).encoder.fingerprint != expected.fingerprint


def test_an_explanation_names_the_ngrams_and_adds_up():
    search = tfidf({"a": "a small fig tree", "b": "an apple tree"})
    why = search.explain("small figs apple", "a")
    said = " ".join(part.reason for part in why.parts)
    assert "'small': unigram" in said and "'#fi': trigram" in said and "that the item lacks" in said
    assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-6)
    assert why.score == search("small figs apple").to_dict()["0"]["a"]


def test_a_long_explanation_is_summed_up():
    text = "many different words make a long explanation unreadable"
    why = tfidf({"a": text, "b": "another"}).explain(text, "a")
    assert len(why.parts) == 13 and "other n-grams" in why.parts[-1].reason
    assert sum(part.score for part in why.parts) == pytest.approx(1.0, abs=1e-5)


def test_items_come_and_go_without_a_trace():
    search = tfidf(ITEMS, entries=20)
    more = search.with_items({"new": "quince quince 東京 fig seed", "blank": ""})
    assert more("東京 fig seed", k=1).ids == [["new"]] and len(more.items) == len(ITEMS) + 2
    back = more.without_items(["new", "blank"])
    assert back(QUERIES, k=9) == search(QUERIES, k=9) and back.index.nbytes == search.index.nbytes
    assert back.entries == 20 and back.encoder is search.encoder
    with pytest.raises(InputError, match="must be new"):
        more.with_items({"new": "again"})
    with pytest.raises(InputError, match="several ids"):
        search.without_items("new")


def test_refusals():
    with pytest.raises(InputError, match="`entries`"):
        tfidf(ITEMS, entries=0)
    for wrong in ({"kind_shares": None}, {"encoder": "ngrams"}):
        with pytest.raises(InputError, match=f"`{next(iter(wrong))}` must be"):
            tfidf(ITEMS, **wrong)
    with pytest.raises(InputError, match="Only one of"):
        tfidf(ITEMS, encoder=NgramTfidf.fit(TEXTS), kind_shares=(1, 1, 0))
    with pytest.raises(InputError, match="dimensions"):
        Tfidf(tfidf(ITEMS).items, NgramTfidf.fit(["fig"]), tfidf(ITEMS).index)


def test_the_command_builds_what_python_builds(tmp_path, capsys):
    lines = (json.dumps({"_id": item, "text": text}) for item, text in ITEMS.items())
    (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = str(tmp_path / "out")
    assert main(["index", "tfidf", str(tmp_path / "items.jsonl"), "-o", out, "--entries", "30"]) == 0
    assert "n-grams" in capsys.readouterr().out
    loaded = vizsla.load(out)
    assert repr(loaded) == f"Tfidf({len(ITEMS)} items, 30 entries)"
    assert loaded(QUERIES, k=9) == tfidf(ITEMS, entries=30)(QUERIES, k=9)
    (tmp_path / "new.jsonl").write_text(json.dumps({"_id": "brand/new", "text": "quince quince 東京 fig seed"}) + "\n")
    assert main(["add", out, str(tmp_path / "new.jsonl"), "-o", out]) == 0
    assert vizsla.load(out)("東京 fig seed", k=1).ids == [["brand/new"]]
