"""Learning without clicks: made queries, a fusion without labels, and tokens that a teacher taught."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vizsla
from vizsla.autopilot.without_clicks import pseudo_queries, pseudo_searches, taught_tokens, teacher_clicks
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError

PLACES = ["harbor", "castle", "garden", "bridge", "tower", "market", "museum", "temple", "forest", "valley"]
TIMES = ["winter", "summer", "morning", "evening", "monday", "harvest", "carnival", "easter", "noon", "midnight"]
SECRET = {word: f"q{word[::-1]}" for word in [*PLACES, *TIMES]}
"""Words of queries, which no item has and the teacher knows."""


def catalog():
    return vizsla.Dataset.of({
        f"{place}-{time}": f"Opening hours of the {place} in {time}. Tickets are sold at the gate."
        for place in PLACES for time in TIMES
    })  # fmt: skip


def teacher_encoder():
    words = [*PLACES, *TIMES]
    known = {word: at for at, word in enumerate(words)} | {SECRET[word]: at for at, word in enumerate(words)}

    def encode(texts):
        rows = np.zeros((len(texts), len(words)), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[known[word] for word in text.lower().replace(".", "").split() if word in known]] = 1
        return rows

    return FunctionEncoder(encode, dim=len(words), name="teacher")


def test_queries_are_made_of_titles_and_sentences():
    data = vizsla.Dataset.of([{"id": "a", "title": "Fig tree", "text": "It grows in the warm south. Figs are sweet."}])
    made = pseudo_queries(data, seed=1)
    assert made[0] == ("Fig tree", 0)
    assert made[1][0] in data.items[0].text
    assert 3 <= len(made[1][0].split()) <= 7
    assert pseudo_queries(data, seed=1) == made
    assert pseudo_queries(data, generate=lambda text: [text[:3], " "]) == [("Fig", 0)]
    assert pseudo_searches(data, made).wanted.toarray().tolist() == [[1.0]] * len(made)


def test_a_teachers_hits_are_clicks():
    teacher = vizsla.bm25({"f": "a fig", "j": "fig jam, sweet"})
    assert teacher_clicks(teacher, ["fig", "fig"], hits=2) == [("fig", "f", 1.0), ("fig", "j", 0.5)]
    with pytest.raises(InputError, match="must be queries"):
        teacher_clicks(teacher, [])


def test_taught_tokens_find_what_words_cannot():
    """Queries in words that no item has: words find nothing, and the teacher taught what they mean."""
    words = [*PLACES, *TIMES]
    data = vizsla.Dataset.of({word: f"all about the {word}" for word in words})
    teacher = vizsla.dense(data, teacher_encoder())
    taught = taught_tokens(data, teacher, [f"{SECRET[word]} {more}" for word in words for more in "xyz"], epochs=40)
    new = [f"where is {SECRET[word]}" for word in words]
    assert vizsla.bm25(data)(new, 1).ids == [[]] * len(words)
    right = [row == [word] for row, word in zip(taught(new, 1).ids, words, strict=True)]
    assert np.mean(right) > 0.9


def test_without_an_encoder_it_is_words_and_says_so(tmp_path):
    engine = vizsla.learn(catalog(), tmp_path / "places")
    assert engine("harbor winter", k=1).ids == [["harbor-winter"]]
    assert "nothing could be judged" in engine.report.summary
    assert json.loads((tmp_path / "places.learn" / "report.json").read_text("utf-8"))["split"]["by"] == "no clicks"
    assert (tmp_path / "places.learn" / "report.html").exists()
    engine.close()


def test_with_an_encoder_words_and_vectors_are_added():
    made = vizsla.learn(catalog(), encoder=teacher_encoder())
    assert [one.name for one in made.report.measured] == ["fused", "bm25"]
    query = f"{SECRET['castle']} {SECRET['noon']}"
    assert made(query, k=1).ids == [["castle-noon"]]
    small = vizsla.learn(catalog(), encoder=teacher_encoder(), limit="170 bytes/item")
    assert small.report.winner == "bm25"
    with pytest.raises(InputError, match="one that BM25 keeps"):
        vizsla.learn(catalog(), limit="1 bytes/item")


@pytest.mark.parametrize("artifact", [False, True])
def test_what_was_learned_with_an_encoder_is_opened_without_one(artifact, tmp_path):
    encoder = LsaEncoder.fit((item.text for item in catalog().items), dim=16)
    made = vizsla.learn(catalog(), tmp_path / "places", encoder=encoder, artifact=artifact)
    assert made.report.winner.startswith("0.5*bm25")
    found = made("the harbor in winter", 5).ids
    if artifact:
        assert vizsla.load(tmp_path / "places")("the harbor in winter", 5).ids == found
        return
    made.close()
    with vizsla.Engine.open(tmp_path / "places", maintenance="manual") as again:
        assert again("the harbor in winter", 5).ids == found
