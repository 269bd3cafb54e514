"""A trained retriever as an artifact: the encoder given back, new items, explanations, the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vizsla
from tests.methods.jpq.catalog import CLICKS, DIM, ENCODER, ITEMS, coded, flat
from vizsla.artifacts.inspect import inspect
from vizsla.base.encoder import FunctionEncoder
from vizsla.cli import main
from vizsla.cli.training_line import TrainingLine
from vizsla.errors import InputError
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.dense import dense
from vizsla.methods.jpq.train_jpq import train_jpq

QUERIES = [f"q{number}" for number in range(30)]


@pytest.fixture(scope="module")
def trained():
    return train_jpq(
        coded(), CLICKS, teacher=flat(), click_loss_weight=0.5, epochs=2, stop=2, batch=128, negatives=20, depth=10
    )


def test_the_base_encoder_is_given_back_after_a_load(trained, tmp_path):
    loaded = vizsla.load(trained.save(tmp_path / "saved"))
    with pytest.raises(InputError, match="with_encoder"):
        loaded(QUERIES, 5)
    assert loaded.with_encoder(ENCODER)(QUERIES, 5) == trained(QUERIES, 5)
    other = FunctionEncoder(lambda texts: np.zeros((len(texts), DIM)), dim=DIM, name="other")
    with pytest.raises(InputError, match="must be the one"):
        loaded.with_encoder(other)


def test_an_explanation_adds_up_to_the_score(trained):
    found = trained("q3", 1)[0][0]
    said = trained.explain("q3", found.id)
    assert said.score == found.score
    assert sum(part.score for part in said.parts) == pytest.approx(said.score, abs=1e-5)
    assert "before training" in said.reason


def test_one_query_is_encoded_once_for_adapter_and_base(trained):
    calls = []

    def counted(texts):
        calls.append(list(texts))
        return ENCODER.queries(texts)

    same = FunctionEncoder(counted, dim=DIM, name="made")
    both = 0.5 * trained.with_encoder(same) + 0.5 * flat().with_encoder(same)
    both("q3", 5)
    assert calls == [["q3"]]


def test_items_come_and_go(trained):
    grown = trained.with_items({"new": "i7"})
    assert {"new", "i7"} <= set(grown("i7", 2).ids[0])
    assert grown.without_items(["new"])(QUERIES, 5) == trained(QUERIES, 5)


def test_new_items_are_coded_as_the_others_were_and_searched_with_what_was_learned(trained):
    rows = flat().item_rows()
    grown = trained.index.with_items(rows[:5])
    assert np.array_equal(grown.codes[ITEMS:], trained.index.codes[:5])
    query = trained.encode("q3")
    again = grown.search(query, ITEMS + 5)
    scores = dict(zip(again.items.tolist(), again.scores.tolist(), strict=True))
    assert [scores[number] for number in range(5)] == [scores[ITEMS + number] for number in range(5)]


def test_one_centroid_an_item_is_flat_search():
    rows = flat().item_rows()[:200]
    index = PqIndex.build(rows, bytes=1, rounds=1)
    base = dense({f"i{number}": f"i{number}" for number in range(200)}, ENCODER, index=index)
    exact = dense({f"i{number}": f"i{number}" for number in range(200)}, ENCODER)
    assert base(QUERIES, 5).ids == exact(QUERIES, 5).ids


def test_from_the_shell(tmp_path, capsys):
    colors = ("red", "blue")
    texts = [f"{size} {color} {thing}" for size in ("big", "small") for color in colors for thing in "abcdefgh"]
    items = tmp_path / "items.tsv"
    items.write_text("".join(f"{number}\t{text}\n" for number, text in enumerate(texts)))
    clicks = tmp_path / "clicks.tsv"
    clicks.write_text("".join(f"{text.split()[1]} {text.split()[2]}\t{n}\n" for n, text in enumerate(texts)))
    lsa, out = tmp_path / "lsa", tmp_path / "small"
    main(["index", "dense", str(items), "-o", str(lsa), "--dim", "8"])
    how = ["--bytes", "2", "--bits", "4", "--epochs", "1"]
    main(["train", "jpq", str(lsa), "--clicks", str(clicks), "-o", str(out), *how])
    assert "times smaller" in capsys.readouterr().out
    assert vizsla.load(out)("big red c", 1).ids
    assert "jpq" in str(inspect(out))


def test_ctrl_c_keeps_the_best_so_far(tmp_path, capsys, monkeypatch):
    seen = []

    def interrupt(self, watched):
        seen.append(watched)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(TrainingLine, "__call__", interrupt)
    texts = [f"{color} {thing}" for color in ("red", "blue", "green") for thing in "abcdefghij"]
    vizsla.dense(texts, vizsla.encoders.LsaEncoder.fit(texts, dim=8)).save(tmp_path / "lsa")
    (tmp_path / "clicks.tsv").write_text("".join(f"{text} x\t{number}\n" for number, text in enumerate(texts)))
    how = ["--bytes", "2", "--bits", "4", "--epochs", "9", "--stop", "9"]
    files = ["--clicks", str(tmp_path / "clicks.tsv"), "-o", str(tmp_path / "kept")]
    main(["train", "jpq", str(tmp_path / "lsa"), *files, *how])
    assert "interrupted: the best so far" in capsys.readouterr().out
    assert vizsla.load(tmp_path / "kept")("red a", 1).ids == [["0"]]


@pytest.mark.parametrize("given", ["--query-log", "--clicks"])
def test_the_shell_trains_without_clicks(tmp_path, capsys, given):
    """From a log of queries, or from pieces of the texts of a data set that has no clicks."""
    colors = ("red", "blue")
    texts = [f"{size} {color} {thing}" for size in ("big", "small") for color in colors for thing in "abcdefgh"]
    vizsla.dense(texts, vizsla.encoders.LsaEncoder.fit(texts, dim=8)).save(tmp_path / "lsa")
    (tmp_path / "log.txt").write_text("red a\nblue small\nbig c\n")
    (tmp_path / "data").mkdir()
    lines = [json.dumps({"_id": str(number), "text": text}) for number, text in enumerate(texts)]
    (tmp_path / "data" / "corpus.jsonl").write_text("\n".join(lines))
    source = tmp_path / ("log.txt" if given == "--query-log" else "data")
    how = ["--bytes", "2", "--bits", "4", "--epochs", "1", "-o", str(tmp_path / "small")]
    main(["train", "jpq", str(tmp_path / "lsa"), given, str(source), *how])
    assert "times smaller" in capsys.readouterr().out
    small = vizsla.load(tmp_path / "small")
    assert not np.array_equal(small.index.centroids, small.index.coder.centroids)
    assert small("big red c", 1).ids


def test_the_shell_wants_bytes_for_what_is_not_coded(tmp_path, capsys):
    flat_lsa = vizsla.dense(
        ["fig tree", "apple tree"], vizsla.encoders.LsaEncoder.fit(["fig tree", "apple tree"], dim=2)
    )
    flat_lsa.save(tmp_path / "lsa")
    assert main(["train", "jpq", str(tmp_path / "lsa"), "-o", str(tmp_path / "out")]) != 0
    assert "`--bytes` must be given" in capsys.readouterr().err
