"""The default analyzer: every script in its own way, every item in its own language, every query in all of them."""

from __future__ import annotations

import json
import pickle
import unicodedata
from itertools import groupby, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from tests.text import twin
from vizsla import bm25
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_statistics import Statistics
from vizsla.text import AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.languages import LANGUAGES, STOP_WORDS, clear_language, evidence_of, said_by

NO_LANGUAGE = AnyLanguage([])
MILD = AnyLanguage("english", drop=False)
GERMAN = {
    "haus": "Die Häuser in der Straße sind nicht neu",
    "hund": "Der Hund schläft, und die Katze ist auf dem Dach",
    "rad": "Ein Fahrrad mit zwei Rädern für das Kind",
}
ENGLISH = {
    "dogs": "The dogs were sleeping in front of the house",
    "war": "A short history of the war and of what came after it",
    "bike": "How to repair the wheels of a bicycle",
}
ARABIC = {"kitab": "الكتاب على الطاولة في هذا البيت", "walad": "كان الولد مع المعلمون في المدرسة"}
CHINESE = {"right": "所有权是什么", "water": "水是生命之源", "tower": "东京塔很高"}


def ids(search, query):
    return search(query).ids[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Über Straßen", ["über", "straßen"]),
        ("所有权", ["所", "所有", "有", "有权", "权"]),
        ("水", ["水"]),
        ("iPhone手机", ["iphone", "手", "手机", "机"]),
        ("ラーメン が", ["ラ", "ラー", "ー", "ーメ", "メ", "メン", "ン", "が"]),
        ("ที่นี่", ["ที่", "ที่นี่", "นี่"]),
        ("서울에서", ["서", "서울", "울", "울에", "에", "에서", "서"]),
        ("第3章", ["第", "3", "章"]),
        ("WH-1000XM4", ["wh", "1000xm4", "1000", "xm", "4", "wh1000xm4"]),
        ('3/8" bolt', ["3", "8", "3/8", "bolt"]),
        ("v2.0.1, 1,000", ["v2", "v", "2", "0", "1", "v2.0.1", "1", "000", "1,000"]),
        ("e-mail and/or U.S.", ["e", "mail", "and", "or", "u", "s"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("5--6 - 7", ["5", "6", "7"]),
        ("ab1cd2ef3gh4ij5", ["ab1cd2ef3gh4ij5"]),
        ("b\x01c 1\x032", ["b", "c", "1", "2"]),
    ],
)
def test_each_script_is_cut_in_its_own_way(text, expected):
    assert NO_LANGUAGE(text) == expected


def parts(word):
    """What the default makes of a word of scripts with spaces, in plain Python."""
    kinds = groupby(word, lambda c: "_" if c == "_" else c in "0123456789")
    found = ["".join(run) for kind, run in kinds if kind != "_"]
    return [word] if len(found) > 8 or found == [word] else [word, *found]


def is_unspaced(character):
    """A letter whose name begins with that of a script without spaces; a mark belongs to what it follows."""
    return unicodedata.name(character, "").startswith(("CJK", "HIRAGANA", "THAI", "HANGUL"))


def cut(text):
    """What the default makes of texts whose joiners never touch: words, runs, characters."""
    found = []
    for word in twin.words(text):
        for unspaced, run in groupby(word, is_unspaced):
            letters = list(run)
            if not unspaced:
                found += parts("".join(letters))
                continue
            for place, letter in enumerate(letters):
                found += [letter, letter + letters[place + 1]] if place + 1 < len(letters) else [letter]
    return found


@given(st.text(st.sampled_from("ab_19 水火あกü\u00df¼ \u0301é한!"), max_size=40).map(lambda t: t.replace("\u0301", "")))
def test_it_cuts_as_its_twin(text):
    assert NO_LANGUAGE(text) == cut(text)


@given(st.lists(st.sampled_from(["ab", "7", "12", "x9", "é"]), min_size=2, max_size=6), st.sampled_from("+,-./"))
def test_a_compound_is_one_token_more(words, joiner):
    joined = joiner.join(words)
    plain = [token for word in words for token in parts(word)]
    whole = words[0]
    for word in words[1:]:
        whole += (joiner if whole[-1].isdigit() and word[0].isdigit() else "") + word
    assert NO_LANGUAGE(joined) == [*plain, *([whole] if any(c.isdigit() for c in joined) else [])]


@pytest.mark.parametrize("query", ["WH-1000XM4", "wh1000xm4", "1000XM4", "xm4", "WH 1000"])
def test_part_numbers_are_found_whole_and_in_parts(query):
    search = bm25({"wanted": "Sony WH-1000XM4 headphones", "other": "Sony WF-500 earphones", "bolt": 'hex bolt 3/8"'})
    assert ids(search, query)[0] == "wanted"
    assert ids(search, "3/8") == ids(search, '3/8"') == ["bolt"]


def test_chinese_is_found_by_words_and_by_single_characters():
    search = bm25(CHINESE)
    assert repr(search) == "Bm25(3 items, lucene, chinese)"
    assert ids(search, "所有权") == ["right"] and ids(search, "水") == ["water"]
    assert ids(search, "东京") == ["tower"] and ids(search, "火") == []


def test_german_is_stemmed_and_its_stop_words_are_dropped():
    search = bm25(GERMAN)
    assert repr(search) == "Bm25(3 items, lucene, german)"
    assert ids(search, "haus") == ["haus"] and ids(search, "Hunde") == ["hund"] and ids(search, "rädern") == ["rad"]
    assert ids(search, "die der und") == []


def test_arabic_is_stemmed():
    search = bm25(ARABIC)
    assert search.words.analyzer == AnyLanguage("arabic")
    assert ids(search, "كتاب") == ["kitab"] and ids(search, "معلم") == ["walad"]
    assert ids(search, "في على") == []


def test_a_mixed_catalog_is_read_item_by_item_and_a_query_in_all_languages():
    search = bm25(GERMAN | ENGLISH | ARABIC | CHINESE)
    assert set(search.words.analyzer.languages) == {"german", "english", "arabic"}
    for query, wanted in {"haus": "haus", "houses": "dogs", "dog": "dogs", "كتاب": "kitab", "东京": "tower"}.items():
        assert ids(search, query) == [wanted], query
    assert ids(search, "war") == ["war"], "German drops it, English does not"
    assert ids(search, "the wheel") == ["bike"]
    assert "war" in search.words.analyzer.content and "the" in search.words.analyzer.dropped


def test_answers_add_up_and_survive_a_file(tmp_path):
    search = bm25(GERMAN | ENGLISH | ARABIC | CHINESE)
    asked = ["was war der Grund der Häuser", "the houses 东京", "كتاب"]
    found = search(asked)
    assert search.score(asked, found) == found
    for query, row, scores in zip(asked, found.ids, [search(one).scores for one in asked], strict=True):
        assert [search.explain(query, item).score for item in row] == pytest.approx(scores.tolist())
    again = vizsla.load(search.save(tmp_path / "index"))
    assert again(asked) == found and again.words.analyzer == search.words.analyzer and repr(again) == repr(search)


def test_items_of_a_settled_analyzer_are_what_was_fitted():
    texts = [*GERMAN.values(), *ENGLISH.values(), "nichts Neues und sonst", "水 and water"]
    bag, rows = BagOfWords.fit(texts, AnyLanguage())
    assert bag.items(texts) == rows
    settled, again = BagOfWords.fit(texts, bag.analyzer)
    assert (settled.fingerprint, again) == (bag.fingerprint, rows)
    assert Statistics.of(texts) == Statistics.of(texts, analyzer=bag.analyzer)
    assert bag.analyzer(texts[0]) == ["haus", "strass", "neu"]


@pytest.mark.parametrize("language", sorted(STOP_WORDS))
def test_a_language_is_told_by_its_function_words(language):
    text = " ".join(STOP_WORDS[language][:40])
    assert bm25([text, f"{text} 42"]).words.analyzer.languages[:1] == (language,)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("chinese", "所有权是什么 水是生命之源 东京塔很高 今天天气很好"),
        ("japanese", "東京タワーはとても高いです 今日は天気がいいですね 水を飲みます"),
        ("korean", "서울에서 만난 사람들은 모두 친절했습니다 오늘은 날씨가 좋아요"),
        ("thai", "วันนี้อากาศดีมาก เราจะไปเที่ยวทะเลกับครอบครัว"),
    ],
)
def test_a_language_without_spaces_is_told_by_its_characters(language, text):
    search = bm25([text, f"{text} phones 42"])
    assert search.words.analyzer.languages == (language,)
    assert ids(search, "phone") == ["1"], "a Latin word among them loses its inflections as an English one"


def test_a_word_says_alone_what_it_says_in_a_catalog():
    """`said_by` reads one word of a query, `evidence_of` all words of a catalog: the same weights."""
    words = {word for language in LANGUAGES for word in STOP_WORDS.get(language, ())}
    words |= {
        "haus",
        "größe",
        "İ",
        "ça",
        "của",
        "ở",
        "đi",
        "水",
        "水果",
        "カナ",
        "한국",
        "ไทย",
        "Ж",
        "ж?",
        "їжа",
        "کتاب",
        "🙂",
    }
    surface = vizsla.core.strings.Strings.of(sorted(words))
    row_of_form, weights = evidence_of(surface)
    for word, row in zip(surface, row_of_form.tolist(), strict=True):
        expected = weights[row].tolist() if row >= 0 else [0] * len(LANGUAGES)
        assert said_by(word).tolist() == expected, word


@pytest.mark.parametrize(
    ("words", "language"),
    [
        (["what", "is", "the", "haus"], "english"),
        (["was", "ist", "das", "house"], "german"),
        (["haus"], None),
        ([], None),
        (["the", "und"], None),  # as much for one as for the other
        (["the", "the", "und"], "english"),
        (["книга"], "russian"),
        (["le", "la", "est"], None),  # a language that the catalog does not have
    ],
)
def test_the_language_of_a_query_is_clear_or_not(words, language):
    known = ("english", "german", "russian")
    place = clear_language(words, known)
    assert (known[place] if place >= 0 else None) == language


@pytest.mark.parametrize("words", [["the", "und"], ["the", "the", "und"], ["the", "und", "der"], ["le", "the", "und"]])
def test_the_language_of_a_query_does_not_depend_on_the_order_of_the_catalogs(words):
    """The most common language comes first in a catalog, which says nothing about a query."""
    found = set()
    for known in permutations(("english", "german", "french")):
        place = clear_language(words, known)
        found.add(known[place] if place >= 0 else None)
    assert len(found) == 1


def test_a_few_names_are_stemmed_mildly():
    """Nothing tells their language: English plurals are found, and no word is dropped."""
    fruit = bm25({"apples": "Apple trees", "fig": "Fig tree", "plum": "Plum"})
    assert fruit.words.analyzer == MILD and repr(MILD) == "AnyLanguage(english, no stop words)"
    assert ids(fruit, "tree") == ids(fruit, "trees") == ["apples", "fig"] and ids(fruit, "plums") == ["plum"]
    films = bm25({"thrones": "Game of Thrones", "rings": "Lord of the Rings"})
    assert films.words.analyzer == MILD
    assert ids(films, "the") == ["rings"] and ids(films, "throne") == ["thrones"] and ids(films, "ring") == ["rings"]


def test_a_few_words_lean_to_the_language_that_two_of_them_speak_for():
    cards = {"hund": "Der Hund", "katze": "Katzen und Mäuse", "kind": "Kinder"}
    search = bm25(cards)
    assert search.words.analyzer == AnyLanguage("german", drop=False)
    assert ids(search, "Hunde") == ["hund"] and ids(search, "katze") == ["katze"] and ids(search, "der") == ["hund"]


GOODS = ["steel chairs", "running shoes", "usb cables", "leather wallets", "desk lamps", "national flags"]
CHINESE_GOODS = ["苹果手机壳大号", "无线蓝牙耳机黑色", "不锈钢水杯", "儿童运动鞋", "厨房刀具套装"]


@pytest.mark.parametrize("count", [1, 5, 50])
def test_a_few_items_in_another_script_do_not_decide_for_silent_items(count):
    """Titles without function words stay English, as they are without the Chinese ones."""
    titles = [f"{one} {other}" for one in GOODS for other in GOODS] * 14
    chinese = [CHINESE_GOODS[number % 5] for number in range(count)]
    search = bm25([*titles, *chinese])
    analyzer = search.words.analyzer
    assert analyzer.languages[0] == "english" and not analyzer.drop
    assert set(analyzer.languages[1:]) <= {"chinese"}
    alone = bm25(titles)
    for query in ("shoe", "nationality", "the cable"):
        assert set(search(query, k=600).ids[0]) == set(alone(query, k=600).ids[0]) != set()
    assert search("手机壳", k=1).ids == [[str(len(titles))]]


def test_a_catalog_of_another_script_reads_its_latin_items_in_their_own_language():
    search = bm25([*CHINESE_GOODS * 20, *GOODS])
    assert search.words.analyzer.languages == ("chinese", "english")
    assert search("nationality").ids == [["105"]]


def test_the_script_alone_decides_for_an_item_in_it():
    """Two characters say too little elsewhere; beside Latin words they decide nothing."""
    languages = AnyLanguage(["german", "chinese", "english"])
    texts = ["苹果", "小米 cables", "cables", "3 5", "der hund und die katze", "the cable of the phone"]
    _, _, places = BagOfWords.fit_items(texts, languages)
    assert places.tolist() == [1, 0, 0, 0, 0, 2]
    _, _, places = BagOfWords.fit_items(texts, AnyLanguage(["chinese", "english"]))
    assert places.tolist() == [0, 1, 1, 1, 1, 1]


def test_letters_of_other_scripts_and_languages_lean_to_nothing():
    for texts in (["Žlutý kůň"], ["Čaj", "Čokoláda"], list(CHINESE.values()), ["123", "4/5"]):
        analyzer = bm25(texts).words.analyzer
        assert "english" not in analyzer.languages, texts
    assert bm25(["手机 phones", "手机 cases"])("phone").ids == [["0"]]


def test_too_little_says_nothing():
    assert bm25([]).words.analyzer == NO_LANGUAGE
    ukrainian = ["Книга лежить на столі біля вікна", "Дівчина читає її щодня"]
    assert bm25(ukrainian).words.analyzer.languages == ()


def test_one_word_that_is_repeated_is_no_language():
    """`word` is a function word of Dutch, and single letters are words of Czech and Polish."""
    assert bm25([f"word{n} word{n % 7}" for n in range(60)]).words.analyzer == MILD
    assert bm25([f"Z-{n} K{n} V {n} S{n} W{n}" for n in range(60)]).words.analyzer == MILD


def test_a_sample_of_a_large_catalog_says_its_languages(monkeypatch):
    texts = list((GERMAN | ENGLISH).values()) * 20
    whole = bm25(texts)
    monkeypatch.setattr("vizsla.text.analyzers.MAX_ITEMS_SAMPLED", 40)
    sampled = bm25(texts)
    assert sampled.words.fingerprint == whole.words.fingerprint and sampled("haus").ids == whole("haus").ids


def test_a_word_with_digits_is_found_by_its_parts_not_by_a_stem():
    assert AnyLanguage("english")("the 1980s rocks, mp3s") == ["1980s", "1980", "rock", "mp3s", "mp", "3"]
    bag, _ = BagOfWords.fit(["the 1980s rocks, mp3s"], AnyLanguage("english"))
    assert list(bag.terms) == ["1980s", "1980", "rock", "mp3s", "mp", "3"]


def test_a_stray_sentence_changes_nothing_for_the_others():
    items = [f"The story of the number {n} and of what it was" for n in range(200)]
    items.append("La maison est dans la rue et nous")
    assert bm25(items).words.analyzer == AnyLanguage("english")


def test_it_is_a_value():
    one = AnyLanguage(["english", "german"], content=["war"])
    assert AnyLanguage.from_dict(json.loads(json.dumps(one.to_dict()))) == one == pickle.loads(pickle.dumps(one))
    assert len({one, AnyLanguage(), AnyLanguage("english"), MILD, NO_LANGUAGE, AnyLanguage(["german", "english"])}) == 6
    assert [repr(a) for a in (one, AnyLanguage(), NO_LANGUAGE)] == [
        "AnyLanguage(english, german)", "AnyLanguage(auto)", "AnyLanguage(no language)",
    ]  # fmt: skip


@pytest.mark.parametrize("wrong", ["klingon", ["english", "english"], [3], 3, ["english", "basque"], None])
def test_wrong_languages_are_refused(wrong):
    with pytest.raises(InputError, match="`language` must"):
        AnyLanguage(wrong)
    with pytest.raises(FormatError):
        AnyLanguage.from_dict({"kind": "any language", "language": wrong, "content": [], "drop": True})


@pytest.mark.parametrize("wrong", [1, None, "no"])
def test_wrong_drop_is_refused(wrong):
    with pytest.raises(InputError, match="`drop` must be True or False"):
        AnyLanguage("english", drop=wrong)
    with pytest.raises(FormatError):
        AnyLanguage.from_dict({"kind": "any language", "language": "english", "content": [], "drop": wrong})


@pytest.mark.parametrize("wrong", ["war", 3, [3], None])
def test_wrong_content_is_refused(wrong):
    with pytest.raises(InputError, match="`content` must"):
        AnyLanguage("english", content=wrong)


def test_an_unsettled_bag_is_refused():
    with pytest.raises(InputError, match="settled"):
        BagOfWords(AnyLanguage(), vizsla.core.strings.Strings.of(["a"]))


def test_the_native_builder_refuses_tables_that_do_not_fit():
    from vizsla import _native

    builder = _native.BagBuilder(True, 0, 0, True, [])
    builder.add(["a b"])
    none = np.zeros(0, np.int32)
    two = np.zeros(2, np.int32)
    for call in (
        lambda: builder.evidence(none, none, 1, 9),
        lambda: builder.evidence(two, none, 1, 9),
        lambda: builder.holders(two, 0, 1, np.zeros(1, np.int32)),
        lambda: builder.holders(two, 1, 1, np.ones(1, np.int32)),
        lambda: builder.holders(two, 1, 1, none),
        lambda: builder.take_rows(np.zeros(3, np.int32), 1, none),
        lambda: builder.take_rows(two, 1, np.full(1, -1, np.int32)),
    ):
        with pytest.raises(ValueError):
            call()
