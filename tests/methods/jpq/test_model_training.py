"""A transformer as the query side: a very small one learns, is saved, found again and written as ONNX."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla.cli import main
from vizsla.errors import InputError
from vizsla.methods.pq import pq

torch = pytest.importorskip("torch", reason="the extra neural is not installed")
package = pytest.importorskip("sentence_transformers", reason="the extra neural is not installed")
transformers = pytest.importorskip("transformers", reason="the extra neural is not installed")

from vizsla.encoders.sentence import SentenceEncoder  # noqa: E402
from vizsla.methods.dense import Dense, dense  # noqa: E402
from vizsla.methods.jpq.query_adapter import QueryModel  # noqa: E402
from vizsla.methods.jpq.train_jpq import jpq, prepared_run, train_jpq, trained_retriever  # noqa: E402

SIZES, COLORS = ("big", "small", "tiny", "huge"), ("red", "blue", "green", "black", "white")
THINGS = ("fig", "pear", "plum", "apple", "quince", "tree", "leaf", "root")
TEXTS = [f"{size} {color} {thing}" for size in SIZES for color in COLORS for thing in THINGS]
WORDS = [text.split() for text in TEXTS]
CLICKS = [(f"{thing} that is {color} and {size}", str(n)) for n, (size, color, thing) in enumerate(WORDS)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Return a transformer of one layer with random weights."""
    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "that", "is", "and", *SIZES, *COLORS, *THINGS]
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=32, **shape)
    transformers.BertModel(config).save_pretrained(str(folder / "bert"))
    _tokenizer(words).save_pretrained(str(folder / "bert"))
    model = package.SentenceTransformer(str(folder / "bert"), device="cpu")  # it pools by the mean
    model.max_seq_length = 16
    model.save(str(folder / "model"), create_model_card=False)
    return SentenceEncoder(str(folder / "model"), device="cpu")


def _tokenizer(words):
    tokenizers = pytest.importorskip("tokenizers", reason="the extra neural is not installed")
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]")


def mean_rank(retriever):
    found = retriever([query for query, _ in CLICKS], k=len(TEXTS)).ids
    return np.mean([row.index(item) for row, (_, item) in zip(found, CLICKS, strict=True)])


FAST = {"batch": 32, "negatives": 20, "depth": 20, "click_loss_weight": 0.5}
ONCE = FAST | {"epochs": 1, "stop": 1}


@pytest.fixture(scope="module")
def flat(encoder):
    return dense(TEXTS, encoder)


@pytest.fixture(scope="module")
def coded(flat):
    return pq(flat, bytes=2, bits=4, rounds=2)


class StoppedError(Exception):
    """What ends a training in the middle."""


def stop_after(steps):
    def watch(watched):
        left.pop()
        if not left:
            raise StoppedError

    left = [None] * steps
    return watch


def weights(retriever):
    return retriever.encoder.asking.fingerprint


def test_the_model_and_the_centroids_learn_together(encoder, flat, coded, tmp_path):
    before = encoder.queries(["fig"])
    model = QueryModel(tmp_path / "trained", rate=1e-3)
    trained = train_jpq(coded, CLICKS, teacher=flat, model=model, **FAST | {"epochs": 6, "stop": 6, "batch": 16})
    assert mean_rank(trained) < mean_rank(coded)
    assert np.array_equal(encoder.queries(["fig"]), before)
    assert np.array_equal(trained.encoder.items(["fig"]), encoder.items(["fig"]))
    assert trained.index.codes.tobytes() == coded.index.codes.tobytes()
    assert np.array_equal(trained.index.coder.centroids, coded.index.centroids)
    loaded = vizsla.load(trained.save(tmp_path / "saved"))
    assert loaded("red fig", 3).ids == trained("red fig", 3).ids
    assert loaded.with_items({"new": TEXTS[3]})(CLICKS[3][0], len(TEXTS) + 1).ids[0]


def test_codes_follow_the_model(flat, coded, tmp_path):
    how = FAST | {"epochs": 2, "stop": 2, "reassignments": 1, "centroid_rate": 0.05}
    clicks = CLICKS[:100]
    trained = train_jpq(coded, clicks, teacher=flat, model=QueryModel(tmp_path / "trained", rate=1e-3), **how)
    changed = (trained.index.codes != coded.index.codes).any(axis=1)
    assert changed[:100].any() and not changed[100:].any()


def test_without_clicks_the_teacher_is_followed(flat, coded, tmp_path):
    log = [query for query, _ in CLICKS]
    trained = train_jpq(
        coded, queries=log, teacher=flat, model=tmp_path / "trained", **ONCE | {"click_loss_weight": 0.0}
    )
    assert trained.settings.click_loss_weight == 0 and weights(trained) != trained.encoder.answering.fingerprint


def test_share_and_epochs_are_chosen_on_held_out_clicks(flat, coded, tmp_path):
    seen = []
    how = FAST | {"epochs": 2, "click_loss_weight": "auto"}
    trained = train_jpq(coded, CLICKS, teacher=flat, model=tmp_path / "trained", watch=seen.append, **how)
    assert trained.choice.measure == "MRR@10"
    chosen = trained.choice.chosen
    assert (trained.settings.click_loss_weight, trained.settings.stop) == (
        chosen["click_loss_weight"],
        chosen["epochs"],
    )
    assert {each.phase for each in seen} >= {"trial, share 0.3", "trial, share 0.7"}


@pytest.mark.parametrize("steps", [8, 17])
def test_a_stopped_training_ends_with_the_same_bits(flat, coded, tmp_path, steps):
    how = {"teacher": flat, **FAST, "epochs": 2}
    whole = train_jpq(coded, CLICKS, model=tmp_path / "whole", **how)
    with pytest.raises(StoppedError):
        train_jpq(coded, CLICKS, model=tmp_path / "a", checkpoint=tmp_path / "state", watch=stop_after(steps), **how)
    assert not (tmp_path / "a").exists()
    resumed = train_jpq(coded, CLICKS, model=tmp_path / "b", checkpoint=tmp_path / "state", **how)
    assert weights(resumed) == weights(whole)
    assert np.array_equal(resumed.index.centroids, whole.index.centroids)
    assert resumed.choice == whole.choice


def test_the_best_so_far_is_there_when_a_run_is_interrupted(flat, coded, tmp_path):
    how = {"teacher": flat, **FAST, "epochs": 3, "stop": 3}
    run = prepared_run(coded, CLICKS, model=tmp_path / "kept", watch=stop_after(7), **how)
    with pytest.raises(StoppedError):
        run.run()
    kept = trained_retriever(coded, run, run.best)
    assert kept("red fig", 3).ids and (tmp_path / "kept").exists()


def test_a_checkpoint_of_another_rate_is_refused(flat, coded, tmp_path):
    how = {"teacher": flat, "checkpoint": tmp_path / "state", **ONCE}
    train_jpq(coded, CLICKS, model=tmp_path / "one", **how)
    with pytest.raises(InputError, match="settings and data"):
        train_jpq(coded, CLICKS, model=QueryModel(tmp_path / "two", rate=1e-3), **how)


@pytest.mark.parametrize("stage", ["negatives", "loss", "centroids"])
def test_the_stages_train_what_they_say(flat, coded, tmp_path, stage):
    trained = train_jpq(coded, CLICKS, teacher=flat, model=tmp_path / stage, stage=stage, **ONCE)
    assert np.array_equal(trained.index.centroids, coded.index.centroids) == (stage != "centroids")
    assert weights(trained) != trained.encoder.answering.fingerprint


def test_the_trained_model_is_written_as_onnx(flat, tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    from vizsla.export.onnx import export_onnx

    trained = jpq(flat, CLICKS, bytes=2, bits=4, rounds=2, model=tmp_path / "trained", **ONCE)
    written = export_onnx(trained.encoder.asking, tmp_path / "onnx")
    np.testing.assert_allclose(written.queries(["red fig"]), trained.encoder.queries(["red fig"]), atol=1e-5)


def test_from_the_shell(flat, tmp_path, capsys):
    flat.save(tmp_path / "flat")
    clicks = tmp_path / "clicks.tsv"
    clicks.write_text("".join(f"{query}\t{item}\n" for query, item in CLICKS))
    how = [
        "--bytes",
        "2",
        "--bits",
        "4",
        "--epochs",
        "1",
        "--stop",
        "1",
        "--click-loss-weight",
        "0.5",
        "--device",
        "cpu",
    ]
    order = ["train", "jpq", str(tmp_path / "flat"), "--clicks", str(clicks), "-o", str(tmp_path / "small"), *how]
    assert main(order) != 0
    assert "`--model` must be given" in capsys.readouterr().err
    assert main([*order, "--model", str(tmp_path / "trained")]) in (0, None)
    assert vizsla.load(tmp_path / "small")("red fig", 3).ids


def test_what_no_model_can_be_made_of_is_refused(flat, coded, tmp_path):
    letters = vizsla.encoders.FunctionEncoder(lambda texts: np.ones((len(texts), 32)), dim=32, name="ones")
    with pytest.raises(InputError, match="must be a SentenceEncoder"):
        train_jpq(
            Dense(coded.items, letters, coded.index),
            CLICKS,
            model=tmp_path / "new",
            **ONCE | {"click_loss_weight": 1.0},
        )
    with pytest.raises(InputError, match="`folder` must be new"):
        train_jpq(coded, CLICKS, model=tmp_path, teacher=flat, **ONCE)
    with pytest.raises(InputError, match="`device` must be"):
        train_jpq(coded, CLICKS, model=QueryModel(tmp_path / "new", device="cuda:7"), teacher=flat, **ONCE)
