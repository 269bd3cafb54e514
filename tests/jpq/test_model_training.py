"""A transformer as the query side: a very small one learns, is saved, found again and written as ONNX."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla.errors import InputError
from vizsla.methods.pq import pq

torch = pytest.importorskip("torch", reason="the extra neural is not installed")
package = pytest.importorskip("sentence_transformers", reason="the extra neural is not installed")
transformers = pytest.importorskip("transformers", reason="the extra neural is not installed")

from vizsla.encoders.sentence import SentenceEncoder  # noqa: E402
from vizsla.methods.dense import dense  # noqa: E402
from vizsla.methods.jpq.model_training import train_jpq_model  # noqa: E402

SIZES, COLOURS = ("big", "small", "tiny", "huge"), ("red", "blue", "green", "black", "white")
THINGS = ("fig", "pear", "plum", "apple", "quince", "tree", "leaf", "root")
TEXTS = [f"{size} {colour} {thing}" for size in SIZES for colour in COLOURS for thing in THINGS]
WORDS = [text.split() for text in TEXTS]
CLICKS = [(f"{thing} that is {colour} and {size}", str(n)) for n, (size, colour, thing) in enumerate(WORDS)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Return a transformer of one layer with random weights."""
    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "that", "is", "and", *SIZES, *COLOURS, *THINGS]
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


def test_the_model_and_the_centroids_learn_together(encoder, tmp_path):
    flat = dense(TEXTS, encoder)
    coded = pq(flat, bytes=2, bits=4, rounds=2)
    before = encoder.queries(["fig"])
    trained = train_jpq_model(
        coded, CLICKS, tmp_path / "trained", teacher=flat, epochs=6, model_rate=1e-3, batch=16, negatives=20, depth=20
    )
    assert mean_rank(trained) < mean_rank(coded)
    assert np.array_equal(encoder.queries(["fig"]), before)
    assert np.array_equal(trained.encoder.items(["fig"]), encoder.items(["fig"]))
    assert trained.index.codes.tobytes() == coded.index.codes.tobytes()
    loaded = vizsla.load(trained.save(tmp_path / "saved"))
    assert loaded("red fig", 3).ids == trained("red fig", 3).ids
    with pytest.raises(InputError, match="must be new"):
        train_jpq_model(coded, CLICKS, tmp_path / "trained", teacher=flat)


def test_the_trained_model_is_written_as_onnx(encoder, tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    from vizsla.export.onnx_export import export_onnx

    flat = dense(TEXTS, encoder)
    trained = train_jpq_model(pq(flat, bytes=2, bits=4, rounds=2), CLICKS, tmp_path / "trained", teacher=flat)
    written = export_onnx(trained.encoder.asking, tmp_path / "onnx")
    np.testing.assert_allclose(written.queries(["red fig"]), trained.encoder.queries(["red fig"]), atol=1e-5)
