"""Learning without clicks: made queries, a fusion without labels, and tokens that a teacher taught."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vizsla
from vizsla.autopilot.without_clicks import pseudo_searches
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.learning import pseudo_clicks
from vizsla.methods.tokens.taught_tokens import pseudo_queries, taught_tokens, teacher_clicks
from vizsla.scorers import FunctionScorer

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


def test_generated_queries_are_clicks_that_pefa_learns_from():
    data = vizsla.Dataset.of({"f": "a fig tree", "p": "a pear tree"})
    made = pseudo_clicks(data, weight=0.5, generate=lambda text: ["figue" if "fig" in text else "poire"])
    assert made == [("figue", "f", 0.5), ("poire", "p", 0.5)]
    numbers = {(text, data.item_ids[number]) for text, number in pseudo_queries(data, seed=3)}
    assert {(text, item) for text, item, _ in pseudo_clicks(data, seed=3)} == numbers
    words = vizsla.bm25(data)
    assert words("poire").ids == [[]]
    taught = vizsla.pefa(words, [*made, ("sweet", "f")], "xs", weight=0.5, calibrated=False)
    assert taught("poire", k=1).ids == [["p"]] and taught("sweet", k=1).ids == [["f"]]


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
    assert [one.name for one in made.report.measured] == ["bm25 + vectors", "bm25 + taught", "taught", "bm25"]
    query = f"{SECRET['castle']} {SECRET['noon']}"
    assert made(query, k=1).ids == [["castle-noon"]]
    small = vizsla.learn(catalog(), encoder=teacher_encoder(), limit="166 bytes/item")
    assert small.report.winner == "bm25"
    with pytest.raises(InputError, match="one that BM25 keeps"):
        vizsla.learn(catalog(), limit="1 bytes/item")


HOURS = [f"hour{number}" for number in range(40)]
SAME = {"castle": "fort", "harbor": "port", "forest": "woods", "market": "bazaar", "valley": "dale"}
"""Items have one word or the other; for the teacher they are the same."""


def twofold_catalog():
    """Every place under both of its names, so that words find half of what is meant."""
    rows = [
        (f"{name}-{time}", f"{name} {time}") for one, other in SAME.items() for name in (one, other) for time in HOURS
    ]
    return vizsla.Dataset.of(dict(rows))


def twofold_encoder():
    kinds = [*SAME, *HOURS]
    known = {word: at for at, word in enumerate(kinds)} | {other: kinds.index(one) for one, other in SAME.items()}

    def encode(texts):
        rows = np.zeros((len(texts), len(kinds)), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[known[word] for word in text.lower().split() if word in known]] = 1
        return rows

    return FunctionEncoder(encode, dim=len(kinds), name="twofold")


def titled(data):
    """The same items with their words as a title, of which queries are made."""
    return vizsla.Dataset.of([{"id": item.id, "title": item.text, "text": item.text} for item in data.items])


@pytest.mark.parametrize("artifact", [False, True])
def test_taught_tokens_are_delivered_where_vectors_are_too_large(artifact, tmp_path):
    """They call to mind what is the same for the teacher; a lock builds them again, and so does an engine."""
    data, encoder = titled(twofold_catalog()), twofold_encoder()
    path, limit = tmp_path / "places", "100 bytes/item"
    made = vizsla.learn(data, path, encoder=encoder, limit=limit, artifact=artifact)
    assert "taught" in made.report.members
    assert "need no model for a query, stand" in made.report.summary
    asked = [f"{name} {time}" for one in SAME for name in (one, SAME[one]) for time in HOURS]
    meant = [{f"{one}-{time}", f"{SAME[one]}-{time}"} for one in SAME for _ in range(2) for time in HOURS]

    def share(search):
        return np.mean([set(found) == both for found, both in zip(search(asked, k=2).ids, meant, strict=True)])

    assert share(made) > share(vizsla.bm25(data)) + 0.05
    lock = tmp_path / "places.learn" / "lock.json"
    again = vizsla.learn(data, tmp_path / "again", encoder=encoder, artifact=True, replay=lock)
    assert again(asked, k=5).ids == made(asked, k=5).ids
    if artifact:
        assert vizsla.load(path)(asked, k=5).ids == again(asked, k=5).ids  # without an encoder
        return
    made.rebuild("taught")
    assert made(asked, k=5).ids == again(asked, k=5).ids
    made.close()


def test_a_scorer_alone_teaches_tokens(tmp_path):
    """Items whose words are alike are all found by words; the scorer says which one is meant."""
    data = titled(twofold_catalog())
    kind = {word: one for one, other in SAME.items() for word in (one, other)}

    def score(query, texts):
        asked = {kind.get(word, word) for word in query.split()}
        return [float(len(asked & {kind.get(word, word) for word in text.split()})) for text in texts]

    scorer = FunctionScorer(score, {item.id: item.text for item in data.items}, name="twofold")
    made = vizsla.learn(data, tmp_path / "places", scorer=scorer, artifact=True)
    assert "taught" in made.report.members
    assert "scorer" not in made.report.winner
    lock = tmp_path / "places.learn" / "lock.json"
    assert vizsla.learn(data, scorer=scorer, replay=lock)("bazaar hour7", 2).ids == made("bazaar hour7", 2).ids
    assert "taught by bm25, re-ranked by the scorer" in made.report.summary
    assert made.report.measured[0].calls == 0
    assert made("bazaar hour7", 2).stats.model_calls == 0


def test_taught_tokens_fall_where_they_are_no_closer_to_their_teacher_than_words():
    """A teacher that searches by words teaches nothing that BM25 does not know."""
    data = titled(twofold_catalog())
    words = sorted({word for item in data.items for word in item.text.split()})

    def encode(texts):
        return np.array([[word in text.split() for word in words] for text in texts], np.float32)

    encoder = FunctionEncoder(encode, dim=len(words), name="words")
    made = vizsla.learn(data, encoder=encoder, limit="100 bytes/item")
    assert made.report.winner == "bm25"
    assert "do not stand" in made.report.summary


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
