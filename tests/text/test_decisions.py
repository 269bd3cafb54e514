"""What decides on languages, files and shapes of catalogs: twins of the rules, with values just beside each bar."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla import Dataset
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.text import Analyzer, AnyLanguage, WordPiece
from vizsla.text.languages import (
    LANGUAGES,
    OTHER_SCRIPTS,
    STOP_WORDS,
    clear_language,
    columns_of,
    evidence_of,
    languages_of,
    latin_forms,
    leaning,
    said_by,
    telling_words,
    with_likely,
)
from vizsla.text.stemming import light_stems, stem_words
from vizsla.text.streams import TEXTS_PER_BATCH, TextStream, batches, grown_ids, kept_items, left_ids, new_items
from vizsla.text.wordpiece import sequences, tokenizer_file

UNIT = 240
AT = {language: place for place, language in enumerate(LANGUAGES)}


def said(*rows):
    found = np.zeros((len(rows), len(LANGUAGES)), np.int32)
    for number, row in enumerate(rows):
        for language, amount in row.items():
            found[number, AT[language]] = amount
    return found


def languages_by_hand(evidence, telling):
    """A language needs two clear units in all, three telling words and a fiftieth of the clear items."""

    def votes_of(rows):
        votes, amounts = {}, {}
        for row in rows:
            order = sorted(range(len(row)), key=lambda place: (-row[place], place))
            first, second = int(row[order[0]]), int(row[order[1]])
            if first >= UNIT and first >= 1.5 * second:
                votes[order[0]] = votes.get(order[0], 0) + 1
                amounts[order[0]] = amounts.get(order[0], 0) + first
        return votes, amounts

    votes, amounts = votes_of(evidence)
    if not votes:
        votes, amounts = votes_of([evidence.sum(axis=0, dtype=np.int64)])
    total = sum(votes.values())
    kept = [n for n in votes if votes[n] >= 0.02 * total and amounts[n] >= 2 * UNIT and telling[n] >= 3]
    return tuple(LANGUAGES[n] for n in sorted(kept, key=lambda n: (-votes[n], -amounts[n], n)))


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_the_languages_of_a_catalog_are_the_twins(seed, items):
    rng = np.random.default_rng(seed)
    spoken = rng.choice(len(LANGUAGES), 3, replace=False)
    evidence = np.zeros((items, len(LANGUAGES)), np.int32)
    for row in range(items):
        main = spoken[min(int(rng.geometric(0.6)) - 1, 2)]
        evidence[row, main] = rng.integers(0, 5) * UNIT // 2
        evidence[row, rng.choice(spoken)] += rng.integers(0, 3) * UNIT // 3
    telling = rng.integers(1, 6, len(LANGUAGES))
    assert languages_of(evidence, telling) == languages_by_hand(evidence, telling)


@pytest.mark.parametrize(
    ("rows", "telling", "found"),
    [
        ([{"german": 2 * UNIT}], 3, ("german",)),
        ([{"german": 2 * UNIT - 1}], 3, ()),
        ([{"german": 2 * UNIT}], 2, ()),
        ([{"german": 3 * UNIT, "english": 2 * UNIT}], 3, ("german",)),
        ([{"german": 3 * UNIT - 1, "english": 2 * UNIT}], 3, ()),
        ([{"german": UNIT}] * 2, 3, ("german",)),
        ([{"german": UNIT - 1}] * 3 + [{"english": 5}], 3, ("german",)),  # clear only all together
        ([{"english": 2 * UNIT}] * 49 + [{"german": 2 * UNIT}], 3, ("english", "german")),
        ([{"english": 2 * UNIT}] * 50 + [{"german": 2 * UNIT}], 3, ("english",)),
        ([{"english": 2 * UNIT}, {"german": 3 * UNIT}], 3, ("german", "english")),
        ([], 3, ()),
    ],
)
def test_bars_of_a_language(rows, telling, found):
    assert languages_of(said(*rows), np.full(len(LANGUAGES), telling)) == found


@given(st.integers(0, 10**6), st.booleans())
def test_each_item_is_in_its_strongest_language_or_the_first_latin_one(seed, with_latin):
    rng = np.random.default_rng(seed)
    languages = tuple(rng.permutation(["english", "russian", "german", "chinese", "greek"])[: rng.integers(1, 6)])
    evidence = rng.choice([0, 0, 1, 59, 60, 61, UNIT], (20, len(LANGUAGES))).astype(np.int32)
    latin = rng.integers(0, 2, 20).astype(np.int32) if with_latin else None
    found = columns_of(evidence, languages, latin)
    usual = next((place for place, one in enumerate(languages) if one not in OTHER_SCRIPTS), 0)
    for row, column in enumerate(found.tolist()):
        mine = [int(evidence[row, AT[language]]) for language in languages]
        sure = max(mine) >= 60 or (latin is not None and max(mine) > 0 and latin[row] == 0)
        assert column == (mine.index(max(mine)) if sure else usual)


@given(st.lists(st.sampled_from(["the", "und", "le", "der", "haus", "é", "ñ", "и", "의", "什"]), max_size=5))
def test_a_querys_language_is_clear_by_half_as_much_again(words):
    languages = ("german", "english", "french", "russian", "spanish")
    amounts = [sum(int(said_by(word)[AT[language]]) for word in words) for language in languages]
    first, *rest = sorted(amounts, reverse=True)
    clear = first >= 60 and first >= 1.5 * rest[0]
    assert clear_language(words, languages) == (amounts.index(first) if clear else -1)
    assert clear_language(words, ()) == -1


def test_what_words_say_in_a_table_is_what_each_says_alone():
    words = ["the", "und", "straße", "él", "яблоко", "ї", "東京", "ひらがな", "한국", "ไทย", "fig", "3d", "λόγος", "कि"]
    rows, weights = evidence_of(Strings.of(words))
    for word, row in zip(words, rows.tolist(), strict=True):
        assert (said_by(word) == (weights[row] if row >= 0 else 0)).all(), word
    speaking = [word for word in words if said_by(word)[AT["german"]] > 0]
    assert telling_words((rows, weights))[AT["german"]] == len(speaking)


@pytest.mark.parametrize(
    ("words", "language"),
    [
        (["fig", "tree"], "english"),
        (["und", "nicht", "fig"], "german"),
        (["und", "fig"], "english"),  # one word of a language does not speak for it
        (["fig"] + ["é" + str(n) for n in "abc"], None),
        ([f"word{letter}" for letter in "abcdefghijklmnopqrst"] + ["xƶx", "yƶy"], "english"),
        ([f"word{letter}" for letter in "abcdefghijklmnopqrst"] + ["xƶx", "yƶy", "zƶz"], None),
        (["東京"], None),
    ],
)
def test_few_words_lean_to_a_language_that_two_speak_for(words, language):
    surface = Strings.of(sorted(set(words)))
    assert leaning(evidence_of(surface), surface) == language


def test_silent_items_in_latin_letters_are_read_in_their_likeliest_language():
    surface = Strings.of(["fig", "tree"])
    table = evidence_of(surface)
    quiet, loud = said(*[{}] * 4), said(*[{"russian": UNIT}] * 4)

    def likely(languages, evidence, latin):
        return with_likely(languages, evidence, np.array(latin, np.int32), table, surface)

    assert likely(("english",), quiet, [1] * 4) == ("english",)
    assert likely(("russian",), quiet, [1, 1, 0, 0]) == ("english", "russian")  # half of them: most
    assert likely(("russian",), quiet, [1, 0, 0, 0]) == ("russian", "english")
    assert likely(("russian",), quiet, [0] * 4) == ("russian",)
    assert likely(("russian",), loud, [1] * 4) == ("russian",)  # what they say is enough
    many = said(*[{}] * 100)
    assert likely(("russian",), many, [1] + [0] * 99) == ("russian",)
    assert likely(("russian",), many, [1] * 2 + [0] * 98) == ("russian", "english")
    assert likely((), quiet, [1] * 4) == ("english",)


def test_letters_of_the_latin_script_are_told_from_others():
    words = ["a", "Z", "é", "ÿ", "Ā", "ɏ", "ạ", "ỹ", "_x", "9", "λ", "я", "東", "ʰ"]
    assert latin_forms(Strings.of(words)).tolist() == [word in "aZéÿĀɏạỹ" for word in words]


@pytest.mark.parametrize("language", ["english", "german", "vietnamese", "thai", "chinese"])
def test_stems_by_language(language):
    words = ["running", "nationality", "häuser", "figs"]
    found = light_stems(language, words)
    if language == "vietnamese":
        assert found == words
    elif language == "german":
        assert found == stem_words("german", words) != light_stems("english", words)
    else:
        assert found == light_stems("english", words) != words


def test_a_settled_catalog_drops_its_stop_words_but_those_searched_for():
    both = AnyLanguage(["english", "german"], content=["war"])
    assert "war" not in both.dropped and {"the", "und"} <= both.dropped
    assert AnyLanguage(["english", "german"], drop=False).dropped == frozenset()
    kept = AnyLanguage("english", drop=False)("the figs")
    assert kept == ["the", "fig"] and AnyLanguage("english")("the figs") == ["fig"]
    assert AnyLanguage([])("the figs") == ["the", "figs"]
    for options in ({"drop": False}, {"roots": False}, {}):
        analyzer = AnyLanguage(["german", "english"], content=["war", "die"], **options)
        again = AnyLanguage.from_dict(json.loads(json.dumps(analyzer.to_dict())))
        assert again == analyzer and hash(again) == hash(analyzer) and again.to_dict() == analyzer.to_dict()
    made = [AnyLanguage("english"), AnyLanguage("german"), AnyLanguage("english", drop=False)]
    made += [AnyLanguage("english", roots=False), AnyLanguage("english", content=["the"]), AnyLanguage()]
    assert len({repr(one.to_dict()) for one in made}) == len(set(made)) == 6


def test_every_language_drops_its_own_list_and_keeps_words_of_others():
    for language, words in STOP_WORDS.items():
        analyzer = Analyzer(stop_words=language)
        assert analyzer(" ".join(words)) == [], language
        assert analyzer("xylophon") == ["xylophon"]


def test_sequences_are_cut_to_the_most_tokens_with_both_ends():
    pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", *"abcdefgh"])
    texts = ["a b c d", "", "h", "a b"]
    for most in (2, 3, 4, 5, 6, 9):
        for text, row in zip(texts, sequences(pieces, texts, most), strict=True):
            ids = [3 + "abcdefgh".index(letter) for letter in text.split()]
            assert row.tolist() == [1, *ids[: most - 2], 2] and row.dtype == np.int64
    for missing in ("[CLS]", "[SEP]"):
        short = WordPiece([token for token in ("[UNK]", "[CLS]", "[SEP]", "a") if token != missing])
        with pytest.raises(InputError, match=r"\[CLS\] and \[SEP\]"):
            sequences(short, ["a"], 4)


def tokenizer(**changes):
    """Return a tokenizer.json whose every setting is not the default."""
    model = {"type": "WordPiece", "vocab": {"<u>": 0, "fig": 1, "@@s": 2, "é": 3}, "unk_token": "<u>"}
    model |= {"continuing_subword_prefix": "@@", "max_input_chars_per_word": 7}
    cleaning = {"type": "BertNormalizer", "lowercase": False, "strip_accents": True, "handle_chinese_chars": False}
    added = [{"content": "<m>", "id": 4, "special": True}]
    values = {"model": model, "normalizer": cleaning, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    return {**values, "added_tokens": added, **changes}


def test_every_setting_of_a_tokenizer_file_arrives(tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(tokenizer()))
    found = WordPiece.open(file)
    assert found._rules == {
        "lower": False, "strip_accents": True, "split_ideographs": False, "prefix": "@@", "unknown": "<u>",
        "special": ["<m>"], "max_chars": 7,
    }  # fmt: skip
    assert list(found.vocabulary) == ["<u>", "fig", "@@s", "é", "<m>"] and found("figs") == ["fig", "@@s"]
    plain = {"type": "WordPiece", "vocab": {"[UNK]": 0}}
    file.write_text(json.dumps(tokenizer(model=plain, normalizer={"type": "BertNormalizer"}, added_tokens=[])))
    assert WordPiece.open(file)._rules == {
        "lower": True, "strip_accents": True, "split_ideographs": True, "prefix": "##", "unknown": "[UNK]",
        "special": [], "max_chars": 100,
    }  # fmt: skip
    with pytest.raises(InputError, match="`lower` must be left out"):
        WordPiece.open(file, lower=True)
    for wrong in (
        {"model": {**plain, "type": "BPE"}},
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "BertNormalizer", "clean_text": False}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"added_tokens": [{"content": "<m>", "id": 4}]},
        {"added_tokens": [{"content": "<m>", "id": 4, "special": True, "normalized": True}]},
        {"added_tokens": [{"content": "<m>", "id": 4, "special": True, "single_word": True}]},
        {"added_tokens": [{"content": "<m>", "id": 5, "special": True}]},
    ):
        file.write_text(json.dumps(tokenizer(**wrong)))
        with pytest.raises(InputError, match="BERT-like tokenizer"):
            WordPiece.open(file)


def test_a_vocabulary_file_is_uncased_unless_told_and_stands_behind_a_tokenizer_file(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("[UNK]\r\nfig\r\n\u2028\nFig\n\n".encode())
    assert tokenizer_file(tmp_path).name == "vocab.txt"
    found = WordPiece.open(tmp_path)
    assert list(found.vocabulary) == ["[UNK]", "fig", "\u2028", "Fig", ""] and found("Fig") == ["fig"]
    assert WordPiece.open(tmp_path / "vocab.txt", lower=False)("Fig") == ["Fig"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer()))
    assert tokenizer_file(tmp_path).name == "tokenizer.json"
    for wrong in (tmp_path / "none", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="`path` must"):
            tokenizer_file(wrong)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("strip", [True, False, None])
def test_accents_go_with_capitals_unless_told(lower, strip):
    pieces = WordPiece(["[UNK]", "e", "é", "E", "É"], lower=lower, strip_accents=strip)
    letter = "e" if lower else "E"
    accented = "é" if lower else "É"
    assert pieces("É") == [letter if (lower if strip is None else strip) else accented]


def test_catalogs_of_every_shape_give_their_texts_and_ids():
    pairs = [("b", "fig"), ("a", "pear")]
    shapes = [dict(pairs), pairs, iter(pairs), [list(pair) for pair in pairs], Dataset.of(dict(pairs))]
    for shape in shapes:
        stream = TextStream(shape)
        assert list(stream) == ["fig", "pear"] and list(stream.ids) == ["b", "a"]
    for ids, wanted in ((None, ["0", "1"]), (["x", "y"], ["x", "y"])):
        stream = TextStream(["fig", "pear"], ids)
        with pytest.raises(InputError, match="after all texts were read"):
            _ = stream.ids
        assert list(stream) == ["fig", "pear"] and list(stream.ids) == wanted
    with pytest.raises(InputError, match="as many as the texts"):
        list(TextStream(["fig", "pear"], ["x"]))
    with pytest.raises(InputError, match="bring their own"):
        list(TextStream(pairs, ["x", "y"]))
    with pytest.raises(InputError, match="position 1"):
        list(TextStream([("b", "fig"), ("a", 3)]))
    with pytest.raises(InputError, match="position 1: ids are texts"):
        list(TextStream([("b", "fig"), (1, "pear")]))
    assert list(TextStream([])) == []


@pytest.mark.parametrize(
    "count", [0, 1, TEXTS_PER_BATCH - 1, TEXTS_PER_BATCH, TEXTS_PER_BATCH + 1, 2 * TEXTS_PER_BATCH]
)
def test_batches_hold_every_text_once_in_order(count):
    texts = [str(number) for number in range(count)]
    found = list(batches(iter(texts)))
    assert [text for batch in found for text in batch] == texts
    assert all(len(batch) == TEXTS_PER_BATCH for batch in found[:-1]) and all(found)


def test_items_come_and_go_by_id():
    known = Strings.of(["a", "b", "c"])
    assert kept_items(known, []).tolist() == [0, 1, 2] and kept_items(known, iter(["c", "a"])).tolist() == [1]
    assert list(left_ids(known, kept_items(known, ["a"]))) == ["b", "c"]
    assert list(grown_ids(known, ["x"])) == ["a", "b", "c", "x"]
    with pytest.raises(InputError, match="At least one item must be left"):
        kept_items(known, ["a", "b", "c"])
    assert new_items(known, [("x", "fig"), ("y", "pear")]) == [("x", "fig"), ("y", "pear")]
    with pytest.raises(InputError, match="Got 'c', which is there"):
        new_items(known, [("x", "fig"), ("c", "pear")])
    for wrong in ([("x", 3)], [("x",)], ["xy"], 3):
        with pytest.raises(InputError, match="`items` must be"):
            new_items(known, wrong)


@pytest.mark.parametrize(
    ("options", "lengths"),
    [
        ({}, (1, 2)),
        ({"min_chars": 3}, (3, 3)),
        ({"max_chars": 4}, (1, 4)),
        ({"min_chars": 2, "max_chars": 64}, (2, 64)),
    ],
)
def test_ngrams_have_the_lengths_that_are_asked_for(options, lengths):
    analyzer = Analyzer("chars", **options)
    assert (analyzer.min_chars, analyzer.max_chars) == lengths
    text = "abcdefg"
    wanted = [text[start : start + size] for start in range(7) for size in range(lengths[0], lengths[1] + 1)
              if start + size <= 7]  # fmt: skip
    assert analyzer(text) == wanted and analyzer("a") == ["a"]
    for wrong in ({"min_chars": 3, "max_chars": 2}, {"max_chars": 65}, {"min_chars": 0}):
        with pytest.raises(InputError, match="_chars`"):
            Analyzer("chars", **wrong)
