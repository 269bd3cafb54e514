"""The command line and the picture of a budgeted search."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, full, scorer
from tests.support.tiny_bert import tiny_bert
from vizsla.cli import main
from vizsla.errors import InputError
from vizsla.evaluation.plots import plot_estimates
from vizsla.io.open import open_dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, residual_cur
from vizsla.methods.cur.anchors import anchor_queries
from vizsla.methods.tfidf import tfidf

score_anchors_module = import_module("vizsla.methods.cur.anchors")


def test_a_budgeted_search_from_the_command_line(tmp_path, capsys):
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    tfidf(ITEMS).save(tmp_path / "scorer")
    bm25(ITEMS).save(tmp_path / "prior")
    command = ["index", "anchors", str(data), "--scorer", str(tmp_path / "scorer"), "--prior", str(tmp_path / "prior")]
    command += ["--anchors", "12", "--output", str(tmp_path / "out")]
    assert main([*command, "--estimate"]) == 0
    assert "12 anchor queries: 720 calls, about" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(command) == 0
    assert "1 retriever," in capsys.readouterr().out
    assert main(["search", str(tmp_path / "out"), "a b c", "--budget", "7", "-k", "60", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["hits"]) == 7
    assert main(["search", str(tmp_path / "prior"), "a b c", "--budget", "7"]) == 2
    assert "`--budget` must be given to a budgeted search" in capsys.readouterr().err


def test_an_estimate_after_a_stop_tells_what_is_left(tmp_path, capsys, monkeypatch):
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    search, asked = tfidf(ITEMS), score_anchors_module._asked
    search.save(tmp_path / "scorer")
    queries = anchor_queries(open_dataset(data), 12)

    def stopped(scorer, queries, places):
        if places[0] >= 300:
            raise KeyboardInterrupt
        return asked(scorer, queries, places)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(score_anchors_module, "_asked", stopped)
        score_anchors_module.score_anchors(search, queries, tmp_path / "out.anchors", shard=100)
    command = ["index", "anchors", str(data), "--scorer", str(tmp_path / "scorer"), "--anchors", "12"]
    command += ["--output", str(tmp_path / "out")]
    assert main([*command, "--estimate"]) == 0
    assert "12 anchor queries: 420 calls, about" in capsys.readouterr().err
    assert main(command) == 0
    assert "12 anchor queries: 420 calls, about" in capsys.readouterr().err
    assert main([*command, "--estimate"]) == 0
    assert "out.anchors holds these scores already" in capsys.readouterr().err


def test_a_cross_encoders_folder_is_a_scorer_and_what_was_paid_for_serves_again(tmp_path, capsys):
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    models = [str(tiny_bert(tmp_path / f"bert{seed}", head=True, seed=seed)) for seed in range(2)]
    out = str(tmp_path / "out")
    command = ["index", "anchors", str(data), "--anchors", "6", "--budget", "7", "--output", out, "--overwrite"]
    again = []
    for model in (models[0], models[0], models[1]):
        assert main([*command, "--scorer", model]) == 0
        again.append("out.anchors holds these scores already" in capsys.readouterr().err)
    assert again == [False, True, False]
    assert main(["search", out, "a b c", "-k", "3", "--explain"]) == 0
    said = capsys.readouterr().out
    assert "7 model calls" in said and said.count("7 items scored for this query, 0 of them by new calls") == 3


@pytest.mark.parametrize(("wrong", "said"), [("prior", "there is no such file"), ("output", "`--output` must be new")])
def test_mistakes_are_found_before_a_call_is_paid_for(tmp_path, capsys, wrong, said):
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    tfidf(ITEMS).save(tmp_path / "scorer")
    prior, out = tmp_path / ("nowhere" if wrong == "prior" else "scorer"), tmp_path / "out"
    if wrong == "output":
        out.mkdir()
    command = ["index", "anchors", str(data), "--scorer", str(tmp_path / "scorer"), "--prior", str(prior)]
    assert main([*command, "--anchors", "12", "--output", str(out)]) == 2
    told = capsys.readouterr().err
    assert said in told and "anchor queries" not in told
    assert not (tmp_path / "out.anchors").exists()


def test_a_picture_of_estimates(tmp_path):
    anchors = AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS))
    search = residual_cur(scorer(), anchors, bm25(ITEMS), budget=20, rank=4, ridge=0.1)
    trace = search.trace(QUERIES[0])
    drawn = plot_estimates(trace, full(QUERIES)[0], tmp_path / "estimates.png", title="a b c")
    assert drawn.stat().st_size > 1000
    again = plot_estimates(trace, search.exact(QUERIES[0], k=60), tmp_path / "again.png", title="a b c")
    assert again.read_bytes() == drawn.read_bytes()
    nobody = residual_cur(scorer(), anchors, bm25(ITEMS), rank=4, ridge=0.1, pool=bm25(ITEMS), pool_size=9)
    with pytest.raises(InputError, match="`exact` must have a finite score"):
        plot_estimates(nobody.trace("zzz"), [], tmp_path / "estimates.png")
    odd = full(QUERIES)[0]
    odd[trace.items[:3]], odd[0] = np.inf, -np.inf
    infinite = replace(trace, exact=odd[trace.items])
    assert plot_estimates(infinite, odd, tmp_path / "infinite.png").stat().st_size > 1000
    with pytest.raises(InputError, match="`exact` must be a score for each of 60 items"):
        plot_estimates(trace, full(QUERIES)[0][:5], tmp_path / "estimates.png")
