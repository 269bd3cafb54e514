"""Training: it learns, resumes to the same result, and its parts are what they should be."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import vizsla
from tests.methods.sidr.tiny import ITEMS, dataset, model_folder, tiny_base, tokens
from vizsla import Dataset, dense, load
from vizsla.cli import main
from vizsla.encoders import FunctionEncoder
from vizsla.encoders.sidr import SidrEncoder
from vizsla.errors import InputError
from vizsla.methods.sidr.train_sidr import train_sidr
from vizsla.text import WordPiece

for package in ("torch", "transformers", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason="the extra neural is not installed")

FAST = {"epochs": 2, "batch": 16, "vectors": 4, "tokens": 20, "max_tokens": 12, "table_epochs": 0, "rate": 3e-3}
FAST |= {"head_rate": 1e-2, "bias_rate": 1e-2, "retrieved": 5}


@pytest.fixture(scope="module")
def trained():
    losses = []
    found = train_sidr(tiny_base(), dataset(), model_folder(), watch=lambda one: losses.append(one.loss), **FAST)
    return found, losses


def test_the_loss_falls(trained):
    _, losses = trained
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_items_begin_at_their_bags(trained):
    search, one, texts = trained[0], trained[0].encoder, list(ITEMS.values())
    encoder = SidrEncoder(one.table, one.model, one.tokens, **{**one.settings, "item_scale": 0.3})
    known = encoder.with_forms(items="learned").items(texts).toarray()
    bags = search.index.item_rows().toarray() * search.index.norms[:, None]
    assert known.any() and np.allclose(encoder.items(texts).toarray(), known + bags, rtol=1e-5)


def test_the_whole_head_compares_items_by_their_strongest_tokens():
    from vizsla.learning.clicks import ClickLog
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train_sidr import initialized_model
    from vizsla.methods.sidr.trainer import SidrTraining
    from vizsla.methods.sidr.training_data import prepared

    data, base = dataset(), tiny_base()
    settings = SidrSettings(**{**FAST, "whole_head": True, "tokens": 7})
    ready = prepared(base, ClickLog.of(data, base.items), list(ITEMS.values()), settings)
    training = SidrTraining(
        initialized_model(base, ready.training_data, model_folder(), settings), ready.training_data, settings
    )
    assert training._scored(np.array([5])).tolist() == ready.training_data.held.tolist()
    said, kept = training._outputs(np.array([0, 3]), ready.training_data.held)
    values = said.detach().numpy()
    for row in range(2):
        assert kept[row].sum() == 7 and values[row][kept[row] > 0].min() >= values[row][kept[row] == 0].max()
    assert np.isfinite(training.step(np.arange(8)))


def test_the_report_says_which_epoch_and_scale_serve(trained):
    report = trained[0].report
    assert report.made["item_scale"].chosen["item_scale"] == pytest.approx(trained[0].encoder.item_scale)
    epochs = report.made["epochs"]
    assert [trial["epochs"] for trial in epochs.trials] == list(range(len(epochs.trials)))
    assert epochs.chosen["all"] == max(trial["all"] for trial in epochs.trials)
    assert "MRR@10" in report.summary


def test_the_lists_are_shared(trained):
    assert trained[0].index.segments[0].rows() == tiny_base().index.segments[0].rows()


def test_the_same_seed_gives_the_same_encoder(trained):
    again = train_sidr(tiny_base(), dataset(), model_folder(), **FAST)
    assert again.encoder.fingerprint == trained[0].encoder.fingerprint


def test_a_stopped_run_goes_on_to_the_same_result(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("vizsla.methods.sidr.trainer.SAVE_EVERY", 1)

    def stop(one):
        if one.step == 4:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train_sidr(tiny_base(), dataset(), model_folder(), checkpoint=tmp_path / "c", watch=stop, **FAST)
    steps = []
    resumed = train_sidr(
        tiny_base(),
        dataset(),
        model_folder(),
        checkpoint=tmp_path / "c",
        watch=lambda w: steps.append(w.step),
        **FAST,
    )
    assert steps[0] == 5  # step 4 was saved before the break
    assert resumed.encoder.fingerprint == trained[0].encoder.fingerprint


def test_ctrl_c_keeps_the_best_epoch_so_far():
    def stop(one):
        if len(one.held_out) > 1:
            raise KeyboardInterrupt

    stopped = train_sidr(tiny_base(), dataset(), model_folder(), watch=stop, **FAST)
    assert len(stopped("fig auto", k=3).ids[0]) == 3


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    options = {**FAST, "epochs": 1}
    train_sidr(tiny_base(), dataset(), model_folder(), checkpoint=tmp_path / "c", **options)
    with pytest.raises(InputError, match="same settings"):
        train_sidr(tiny_base(), dataset(), model_folder(), checkpoint=tmp_path / "c", **{**options, "batch": 8})


@pytest.mark.parametrize(
    "changes",
    [
        {"semi_parametric": False},
        {"retrieved": 0},
        {"retrieved": 1, "negatives": 3},
        {"item_tokens": False},
        {"table_epochs": 1},
        {"masked_steps": 2},
        {"center_bias": False},
        {"frozen_layers": 1, "dropout": 0.1},
    ],
)
def test_every_switch_trains(changes):
    found = train_sidr(tiny_base(), dataset(), model_folder(), **{**FAST, "epochs": 1, **changes})
    assert len(found("fig auto", k=3).ids[0]) == 3


def test_the_table_that_serves_learns_from_all_clicks_as_long_as_it_is_told():
    from vizsla.learning.clicks import ClickLog
    from vizsla.methods.sidr.training_data import learned_table

    base, changes = tiny_base(), {"table_epochs": 1, "served_epochs": 2, "max_steps": 1}
    found = train_sidr(base, dataset(), model_folder(), **{**FAST, **changes})
    clicked = ClickLog.of(dataset(), base.items)
    wanted = learned_table(base, clicked, clicked.clicks, epochs=2, seed=0)
    assert found.encoder.table.fingerprint == wanted.fingerprint


def test_a_plain_head_begins_without_biases_and_a_level_one_without_favorites():
    from vizsla.learning.clicks import ClickLog
    from vizsla.learning.torch_vocabulary import INITIAL_LOGIT
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train_sidr import initialized_model
    from vizsla.methods.sidr.training_data import prepared

    data, base = dataset(), tiny_base()
    for center_bias in (False, True):
        settings = SidrSettings(**{**FAST, "center_bias": center_bias})
        training_data = prepared(base, ClickLog.of(data, base.items), list(ITEMS.values()), settings).training_data
        model = initialized_model(base, training_data, model_folder(), settings)
        with model.no_gradients():
            means = [
                model.highest(model.encode(texts), np.arange(model.tokens)).numpy().mean(axis=0)
                for texts in (training_data.queries, training_data.items)
            ]
        assert np.allclose(np.mean(means, axis=0), INITIAL_LOGIT, atol=0.1) == center_bias
        assert bool((model.bias == 0).all()) == (not center_bias)


def test_a_checkpoint_with_a_head_keeps_it():
    found = train_sidr(tiny_base(), dataset(), model_folder(head=True), **{**FAST, "epochs": 1})
    assert len(found("fig auto", k=3).ids[0]) == 3


def test_a_teacher_is_imitated():
    lengths = FunctionEncoder(lambda texts: [[len(t), 1.0] for t in texts], dim=2, name="length")
    taught = train_sidr(tiny_base(), dataset(), model_folder(), teacher=dense(ITEMS, lengths), **{**FAST, "epochs": 1})
    plain = train_sidr(tiny_base(), dataset(), model_folder(), **{**FAST, "epochs": 1})
    assert taught.encoder.fingerprint != plain.encoder.fingerprint


def test_items_with_an_answer_are_no_negatives():
    from vizsla.learning.clicks import ClickLog
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train_sidr import _texts
    from vizsla.methods.sidr.training_data import prepared

    search, data = tiny_base(), dataset()
    clicked = ClickLog.of(data, search.items)
    answers = {clicked.texts[0]: ["Plum"]}
    training_data = prepared(search, clicked, _texts(search, data), SidrSettings(**FAST), answers).training_data
    items = np.arange(len(search.items))
    right = training_data.are_right(np.array([0]), items)[0]
    clicks = training_data.are_clicks(np.array([0]), items)[0]
    assert (right == (clicks | np.array(["plum" in item for item in search.items]))).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"max_tokens": 40}, "max_tokens"), ({"epochs": 0}, "epochs"), ({"folds": 1}, "folds"), ({"rate": -1}, "rate")],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=f"`{message}`"):
        train_sidr(tiny_base(), dataset(), model_folder(), **{**FAST, **changes})


def test_a_bag_of_words_is_refused():
    with pytest.raises(InputError, match="analyzer=vizsla.text.WordPiece"):
        train_sidr(vizsla.tokens(ITEMS), dataset(), model_folder(), **FAST)


def test_int8_is_taken_only_if_recall_holds(trained):
    from vizsla.methods.sidr.quantize import quantize_sidr

    small, check = quantize_sidr(trained[0], dataset(), max_loss=1.0)
    assert check.accepted and small.encoder.fingerprint != trained[0].encoder.fingerprint
    same, check = quantize_sidr(trained[0], dataset(), max_loss=-2.0)
    assert not check.accepted and same is trained[0]


def test_an_int8_model_says_the_same_of_a_text_in_any_company(trained):
    from vizsla.methods.sidr.quantize import quantize_sidr

    texts, small = (
        ["fig auto", "a plum cake please in the old town", "orchard"],
        quantize_sidr(trained[0], dataset(), max_loss=1.0)[0],
    )
    together = small.encoder.queries(texts).toarray()
    assert (together == np.concatenate([small.encoder.queries([text]).toarray() for text in texts])).all()


def test_the_command_line_trains_and_saves(tmp_path, capsys):
    data = dataset()
    items, clicks = tmp_path / "items.jsonl", tmp_path / "clicks.tsv"
    items.write_text("".join(json.dumps({"id": i.id, "text": i.text}) + "\n" for i in data.items))
    rows = zip(*data.clicks.nonzero(), strict=True)
    texts, ids = [query.text for query in data.queries], [item.id for item in data.items]
    clicks.write_text("".join(f"{texts[q]}\t{ids[i]}\n" for q, i in rows))
    options = ["--epochs", "1", "--batch", "32", "--vectors", "2", "--table-epochs", "0", "--max-tokens", "12"]
    options += ["--negatives", "2", "--no-item-tokens"]
    out = tmp_path / "model"
    arguments = ["train", "sidr", str(items), "--clicks", str(clicks), "--model", str(model_folder()), "-o", str(out)]
    assert main([*arguments, *options]) in (0, None)
    assert f"{len(data.items)} items" in capsys.readouterr().out
    assert len(load(out)("fig auto", k=3).ids[0]) == 3
    assert load(out).encoder.mean_length == 0
    assert load(out).report.summary.startswith("epochs ")


def test_the_items_scale_is_chosen_on_held_out_clicks():
    """What is tried at 0 is beta search; what is chosen harms neither cold nor warm queries."""
    from vizsla.learning.clicks import ClickLog
    from vizsla.learning.torch_vocabulary import VocabularyModel
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train_sidr import RERANKED_DEPTH, _texts, tune_item_scale
    from vizsla.methods.sidr.training_data import prepared

    search, data = tiny_base(), dataset()
    training_data, held = prepared(search, ClickLog.of(data, search.items), _texts(search, data), SidrSettings(**FAST))
    model = VocabularyModel(model_folder(), item_scale=0.5)
    choice = tune_item_scale(model, training_data, held, tokens=20, seed=0)
    assert [trial["item_scale"] for trial in choice.trials[:2]] == [0.0, 0.0625] and RERANKED_DEPTH >= 10
    beta = held.measured(model, training_data.index, training_data.held, 20)
    assert np.isclose(choice.trials[0]["all"], beta.mean())
    assert all(choice.chosen[kind] >= choice.trials[0][kind] for kind in ("warm", "cold"))


def test_some_held_out_queries_are_cold_and_warm_alike():
    from vizsla.learning.clicks import ClickLog
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train_sidr import _texts
    from vizsla.methods.sidr.training_data import prepared

    search, data = tiny_base(), dataset()
    _, held = prepared(search, ClickLog.of(data, search.items), _texts(search, data), SidrSettings(**FAST))
    some = held.some(2, seed=1)
    assert sorted(some.cold.tolist()) == [False, True]
    place = held.clicked.texts.index(some.clicked.texts[0])
    assert (held.queries[place] == some.queries[0]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(b"garbage"), "deserializing"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no file named"),
        (lambda folder: (folder / "config.json").write_text("{}"), "model_type"),
        (lambda folder: (folder / "config.json").write_text("{"), "JSON"),
        (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    ],
)
def test_a_broken_model_is_named(tmp_path, change, message):
    folder = tmp_path / "broken"
    shutil.copytree(model_folder(), folder)
    change(folder)
    with pytest.raises(InputError, match=f"`model` must be .*broken.*{message}"):
        train_sidr(tiny_base(), dataset(), folder, **FAST)


def test_what_is_no_dataset_is_refused():
    with pytest.raises(InputError, match="`dataset` must be a Dataset"):
        train_sidr(tiny_base(), [("fig auto", "fig-car")], model_folder(), **FAST)


def test_an_answer_must_stand_in_a_list():
    data = dataset()
    with pytest.raises(InputError, match="put it into a list"):
        train_sidr(tiny_base(), data, model_folder(), answers={data.queries[0].text: "plum"}, **FAST)


def test_items_without_any_token_are_refused():
    data = Dataset.of({"a": "?"}, queries={"1": "fig"}, clicks={"1": {"a": 1}})
    with pytest.raises(InputError, match="at least one token"):
        train_sidr(vizsla.tokens(data, analyzer=WordPiece(tokens()), epochs=0), data, model_folder(), **FAST)


def test_a_checkpoint_is_a_folder_of_the_same_teacher(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="`checkpoint` must be a folder"):
        train_sidr(tiny_base(), dataset(), model_folder(), checkpoint=tmp_path / "file", **FAST)
    options = {**FAST, "epochs": 1, "checkpoint": tmp_path / "c"}
    train_sidr(tiny_base(), dataset(), model_folder(), **options)
    with pytest.raises(InputError, match="same settings"):
        train_sidr(tiny_base(), dataset(), model_folder(), teacher=vizsla.tokens(ITEMS), **options)
    options["checkpoint"] = tmp_path / "taught"
    train_sidr(tiny_base(), dataset(), model_folder(), teacher=vizsla.tokens(ITEMS), **options)
    others = dict(zip(ITEMS, [*list(ITEMS.values())[1:], "fig"], strict=True))
    with pytest.raises(InputError, match="same settings"):
        train_sidr(tiny_base(), dataset(), model_folder(), teacher=vizsla.tokens(others), **options)


def test_without_its_loss_beta_search_judges_no_epoch():
    """Held-out queries of beta search would bring the first epoch back: what is trained for is not measured."""
    watched = []
    options = {**FAST, "semi_parametric": False, "item_tokens": False}
    train_sidr(tiny_base(), dataset(), model_folder(), watch=watched.append, **options)
    assert watched[-1].step == watched[-1].steps and not watched[-1].held_out


def test_the_papers_preset_trains_and_searches_the_whole_vocabulary(tmp_path):
    base = tiny_base().with_b(0.0)
    small = {"epochs": 1, "batch": 8, "vectors": 8, "max_tokens": 12, "tokens": 20, "retrieved": 5}
    found = train_sidr(base, dataset(), model_folder(), paper=True, **small)
    assert found.encoder.tokens.tolist() == list(range(base.index.dim)) and found.encoder.item_scale == 1.0
    assert np.array_equal(found.index.norms, np.ones(len(base.items), np.float32))
    query = found.encoder.queries(["fig auto"]).toarray()[0]
    bags = found.index.item_rows().toarray() > 0
    assert np.allclose(found.exact("fig auto", k=3).scores, np.sort(bags @ query)[::-1][:3], rtol=1e-5)
    found.save(tmp_path / "sidr")
    assert load(tmp_path / "sidr")("fig auto", k=3).ids == found("fig auto", k=3).ids
