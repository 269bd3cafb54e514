"""LateInteraction as a retriever and a scorer; token vectors that are encoded in several goes."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.encoders.late import TokenVectors, WordEncoder
from vizsla.encoders.resumable import resumable_tokens
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.late_interaction import LateInteraction, late_interaction

ITEMS = {"a": "a ripe fig", "b": "pear tree", "c": "fig tree, apple tree", "d": ""}
calls: list[list[str]] = []


def letters(texts):
    calls.append(list(texts))
    return [[text.count(letter) for letter in "aefgiprt"] for text in texts]


def words() -> WordEncoder:
    return WordEncoder(FunctionEncoder(letters, dim=8, name="letters"))


def test_scores_are_the_sum_of_the_best():
    search = late_interaction(ITEMS, words(), storage="float32")
    rows = {word: np.array(letters([word])[0]) for word in ("fig", "pear", "tree")}
    wanted = sum(max(rows[word] @ rows[other] for other in ("pear", "tree")) for word in ("fig", "tree"))
    assert search.score("fig tree", search("fig tree", 4)).to_dict()["0"]["b"] == wanted
    assert search("fig tree", 4).to_dict()["0"]["d"] == 0


def test_explanations_add_up_and_name_the_query():
    search = late_interaction(ITEMS, words())
    why = search.explain("fig tree", "c")
    assert why.score == sum(part.score for part in why.parts) == search("fig tree").to_dict()["0"]["c"]
    assert [part.reason for part in why.parts] == ["'fig': token 1 of the item", "'tree': token 2 of the item"]


def test_a_query_is_encoded_once_a_call_and_calls_no_model():
    search = bm25(ITEMS) >> late_interaction(ITEMS, words())
    calls.clear()
    stats = search("fig tree").stats
    assert calls == [["fig", "tree"]] and stats.model_calls == 0
    queries = Queries(["fig", "tree"])
    search.score(queries, search(queries))
    calls.clear()
    part = queries.take(np.array([1]))
    search.score(part, search(part))
    assert calls == []


def test_encoding_goes_on_where_it_stopped(tmp_path):
    texts = [f"{'fig ' * (number % 7)}tree" for number in range(1200)]
    whole = TokenVectors.build(texts, words())

    def failing(given):
        if len(calls) == 2:
            raise KeyboardInterrupt
        return letters(given)

    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        TokenVectors.encode(texts, WordEncoder(FunctionEncoder(failing, dim=8, name="letters")), tmp_path / "tokens")
    for name in ("rows.partial", "counts.partial"):
        with (tmp_path / "tokens.encoding" / name).open("ab") as torn:
            torn.write(b"torn")
    encoded = TokenVectors.encode(texts, words(), tmp_path / "tokens")
    assert len(calls) == 3
    assert np.array_equal(encoded.offsets, whole.offsets) and np.array_equal(encoded.stored.rows, whole.stored.rows)
    assert not (tmp_path / "tokens.encoding").exists()
    opened = late_interaction(texts, words(), path=tmp_path / "tokens")
    assert opened("fig").ids == late_interaction(texts, words())("fig").ids
    with pytest.raises(InputError, match="`path` must hold the tokens of these 2 items"):
        late_interaction(["fig", "tree"], words(), path=tmp_path / "tokens")


def test_stored_tokens_serve_the_texts_that_they_were_made_of_and_no_others(tmp_path):
    path, texts = tmp_path / "tokens", ["fig", "pear tree", "plum"]
    first = late_interaction(texts, words(), path=path)
    assert first.tokens.texts == TokenVectors.build(texts, words()).texts == vizsla.load(path).texts
    calls.clear()
    again = late_interaction(iter(texts), words(), path=path)
    assert calls == [], "nothing is encoded anew"
    assert again("fig") == first("fig")
    for changed in (["fig", "pear tree", "plums"], ["pear tree", "fig", "plum"], ["figpear tree", "", "plum"]):
        with pytest.raises(InputError, match="tokens of these 3 items.*other texts under the same ids"):
            late_interaction(changed, words(), path=path)
    old = TokenVectors(first.tokens.ids, first.tokens.offsets, first.tokens.stored, first.tokens.fingerprint)
    old.save(tmp_path / "old")
    assert late_interaction(texts, words(), path=tmp_path / "old")("fig") == first("fig")


def test_a_torn_record_is_refused(tmp_path):
    resumable_tokens(words(), ["fig", "pear tree"], tmp_path / "working")
    (tmp_path / "working" / "counts.partial").write_bytes(b"")
    with pytest.raises(InputError, match="must hold 2 counts"):
        resumable_tokens(words(), ["fig", "pear tree"], tmp_path / "working")


def test_the_encoder_must_be_the_one(tmp_path):
    search = late_interaction(ITEMS, words())
    other = WordEncoder(FunctionEncoder(letters, dim=8, name="other"))
    with pytest.raises(InputError, match="the one that made the tokens"):
        LateInteraction(other, search.tokens)
    with pytest.raises(InputError, match="WordEncoder"):
        late_interaction(ITEMS, FunctionEncoder(letters, dim=8, name="letters"))
    saved = vizsla.load(search.save(tmp_path / "saved"))
    with pytest.raises(InputError, match="with_encoder"):
        saved("fig")
    for given in (words(), words().base):
        assert saved.with_encoder(given)("fig tree").to_dict() == search("fig tree").to_dict()
    with pytest.raises(InputError, match="must be"):
        saved.with_encoder(other)


def test_offsets_are_checked():
    tokens = TokenVectors.build(ITEMS, words())
    for bad in (tokens.offsets + 1, tokens.offsets[::-1].copy(), tokens.offsets[:-1]):
        with pytest.raises((InputError, FormatError), match="offsets"):
            TokenVectors(tokens.ids, bad, tokens.stored, tokens.fingerprint)


class Letters(TokenEncoder):
    """A user's own encoder of words, which no file can bring back."""

    dim = 8
    fingerprint = "letters of words"

    def queries(self, texts):
        return np.array(letters(texts), np.float32)

    def query_tokens(self, texts):
        return TokenRows.of([np.array(letters(self.query_words(text)), np.float32) for text in texts], dim=8)

    item_tokens = query_tokens

    def query_words(self, text):
        return text.split() or ["-"]


def test_an_encoder_that_was_not_saved_is_asked_for(tmp_path):
    search = late_interaction(ITEMS, Letters())
    search.save(tmp_path / "late")
    loaded = vizsla.load(tmp_path / "late")
    for ask in (lambda: loaded("fig"), lambda: loaded.explain("fig", "a")):
        with pytest.raises(InputError, match=r"'letters of words' must be given .*with_encoder"):
            ask()
    assert loaded.with_encoder(Letters())("fig tree") == search("fig tree")


def test_an_encoder_without_tokens_is_refused():
    tokens = late_interaction(ITEMS, Letters()).tokens
    with pytest.raises(InputError, match="a vector for every token"):
        LateInteraction(FunctionEncoder(letters, dim=8, name="letters"), tokens)
