"""A fingerprint changes with every byte that a model's answers depend on, and with nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.artifacts.signing import replace
from tests.contract.catalog import ITEMS
from tests.contract.registry import ENCODERS
from tests.encoders.small_onnx import write_small_onnx
from tests.fuzz.resigning import resign
from vizsla.artifacts.artifact import load
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.errors import FormatError
from vizsla.scorers.pair_models import OnnxPairModel


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "model.onnx_data"])
@pytest.mark.parametrize("kind", [OnnxEncoder, OnnxPairModel])
def test_every_byte_of_an_onnx_model_counts(tmp_path, name, kind):
    folder = write_small_onnx(tmp_path / "model")
    (folder / "model.onnx_data").write_bytes(b"weights")
    before = kind(folder).fingerprint
    data = (folder / name).read_bytes()
    model = kind(folder)
    for place in np.random.default_rng(0).integers(0, len(data), 20).tolist():
        (folder / name).write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        vars(model).pop("fingerprint", None)
        assert model.fingerprint != before, place
    (folder / name).write_bytes(data)
    vars(model).pop("fingerprint", None)
    assert model.fingerprint == before == kind(folder).fingerprint


def test_settings_of_an_onnx_model_count(tmp_path):
    folder = write_small_onnx(tmp_path / "model")
    settings = [
        {},
        {"query_prompt": "q"},
        {"item_prompt": "q"},
        {"normalize": False},
        {"max_tokens": 9},
        {"pooling": "cls"},
    ]
    assert len({OnnxEncoder(folder, **one).fingerprint for one in settings}) == len(settings)


@pytest.mark.parametrize("name", ENCODERS)
def test_one_number_changed_anywhere_gives_another_fingerprint(name, tmp_path):
    """Every stored array of every encoder that can be saved: the last bit of one of its numbers, signed anew."""
    encoder = ENCODERS[name]()
    saved, random = encoder.save(tmp_path / "saved"), np.random.default_rng(0)
    assert load(saved).fingerprint == encoder.fingerprint
    tried = 0
    for file in sorted(saved.rglob("*.npy")):
        array = np.load(file)
        if not array.size or file.name.endswith((".slots.npy", ".offsets.npy")):
            continue  # what only says where others lie
        for place in {0, array.size - 1, int(random.integers(array.size))}:
            copy = Path(shutil.copytree(saved, tmp_path / f"copy {tried}"))
            changed = array.copy()
            flat = changed.reshape(-1).view(np.uint8)
            flat[place * array.itemsize] ^= 1
            replace(copy / file.relative_to(saved), _as_written(file, changed))
            resign(copy)
            tried += 1
            try:
                other = load(copy)
            except FormatError:
                continue  # it cannot be such a number
            assert other.fingerprint != encoder.fingerprint, (file.name, place)
            shutil.rmtree(copy)
    assert tried


def _as_written(file, values):
    """Return the bytes of an array with the header that it had."""
    data = file.read_bytes()
    return data[: len(data) - values.nbytes] + values.tobytes()


@pytest.fixture(scope="module")
def sentence_folder(tmp_path_factory):
    """A tiny sentence-transformers model with weights drawn here."""
    pytest.importorskip("sentence_transformers", reason="the extra neural is not installed")
    transformers = pytest.importorskip("transformers")
    from sentence_transformers import SentenceTransformer, models

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += sorted({word for text in ITEMS.values() for word in text.lower().split()})
    (folder / "vocab.txt").write_text("\n".join(words))
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=16, **sizes)
    transformers.BertModel(config).save_pretrained(folder / "bert")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    inner = models.Transformer(str(folder / "bert"), max_seq_length=16)
    whole = SentenceTransformer(modules=[inner, models.Pooling(8, pooling_mode="mean")], device="cpu")
    whole.save(str(folder / "model"))
    return folder / "model"


def test_weights_tokenizer_and_modules_of_a_sentence_model_count(sentence_folder, tmp_path):
    from vizsla.encoders.sentence import SentenceEncoder

    first = SentenceEncoder(str(sentence_folder), download=False)
    before = first.fingerprint
    first.items(["a fig", "a fig tree in a garden"])
    del vars(first)["fingerprint"]
    assert first.fingerprint == before, "use changes nothing"
    names = list(first.model.state_dict())
    for name in names:
        model = SentenceEncoder(str(sentence_folder), download=False)
        weights = model.model.state_dict()[name].reshape(-1)
        weights[-1] = weights[-1] + 1
        assert model.fingerprint != before, name
    assert (
        SentenceEncoder(str(shutil.copytree(sentence_folder, tmp_path / "same")), download=False).fingerprint == before
    )

    def changed(file, old, new):
        folder = shutil.copytree(sentence_folder, tmp_path / f"{file.replace('/', ' ')} {new}")
        text = (folder / file).read_text()
        assert old in text, (file, text[:300])
        (folder / file).write_text(text.replace(old, new, 1))
        return SentenceEncoder(str(folder), download=False).fingerprint

    vocabulary = json.loads((sentence_folder / "tokenizer.json").read_text())["model"]["vocab"]
    word = next(word for word in vocabulary if word > "a")
    assert changed("tokenizer.json", f'"{word}"', '"quxquux"') != before
    assert changed("config.json", '"layer_norm_eps": 1e-12', '"layer_norm_eps": 1e-05') != before
    assert changed("1_Pooling/config.json", '"mean"', '"cls"') != before
