"""The fuzzy dictionary and its corrections against plain twins."""

import random

import numpy as np
import pytest

from tests.text.spelling_twin import complete, near
from vizsla import _native
from vizsla.core.strings import Strings
from vizsla.text.spelling import FuzzyDictionary, corrections, suggestion


def some_words(alphabet: str, count: int, longest: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    drawn = {"".join(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(count)}
    return sorted(drawn)


def dictionary(**counts: int) -> FuzzyDictionary:
    return FuzzyDictionary(Strings.of(counts), np.array(list(counts.values())))


@pytest.mark.parametrize("alphabet", ["ab", "abcdefgh", "aéß字𝔸z", "abcdefghijklmnopqrstuvwxyzäöüß0123456789字"])
def test_neighbors_are_those_of_comparing_every_word(alphabet):
    words = [*some_words(alphabet, 300, 8, seed=1), "x" * 40, "x" * 41]
    strings = Strings.of(words)
    fuzzy = _native.FuzzyWords(strings.data, strings.offsets, *_native.fuzzy_build(strings.data, strings.offsets))
    asked = [*some_words(alphabet + "q", 10, 9, seed=2), *words[:2], "x" * 39, "x" * 40, "x" * 41, ""]
    for word in asked:
        for most in (0, 1, 2):
            expected = near(word, words, most) if 0 < len(word) <= 40 else []
            assert fuzzy.near(word, most) == expected, (word, most)


def test_an_empty_vocabulary_has_no_neighbors():
    empty = FuzzyDictionary(Strings.of([]), np.zeros(0, np.int64))
    assert empty.near("fig", 2) == []
    assert corrections(["figs", "tree"], empty) == []


@pytest.mark.parametrize(
    ("array", "change"), [(1, "longer"), (1, "descend"), (2, "beyond"), (3, "longer"), (0, "many")]
)
def test_damaged_arrays_raise_and_are_never_read_past_their_end(array, change):
    words = Strings.of(some_words("abcdef", 300, 6, seed=3))
    arrays = [values.copy() for values in FuzzyDictionary.build(words)]
    if change == "longer":
        arrays[array] = np.append(arrays[array], arrays[array][-1])
    elif change == "descend":
        arrays[array][1:] = arrays[array][1:][::-1]
    elif change == "many":
        arrays[array] = np.arange(33, dtype=np.uint32)
    else:
        arrays[array][:] = 2**32 - 1
    with pytest.raises(ValueError):
        _native.FuzzyWords(words.data, words.offsets, *arrays).near("abc", 2)


def test_neighbors_are_weighted_by_distance_and_frequency():
    found = corrections(["browsr"], dictionary(browser=30, browse=10, brow=500))
    assert [(one.word, one.edits) for one in found] == [("browser", 1), ("browse", 1)]
    assert [one.weight for one in found] == pytest.approx([0.9 * 30 / 40, 0.9 * 10 / 40])
    assert [one.meant for one in found] == [True, False]


def test_two_edits_need_eight_letters_and_no_nearer_word():
    words = dictionary(firefoxes=3, abcdefg=3)
    assert [(one.word, one.edits) for one in corrections(["fierfoxs"], words)] == [("firefoxes", 2)]
    assert corrections(["abdcegf"], words) == []
    nearer = corrections(["fierfoxs"], dictionary(firefoxes=300, fierfox=1))
    assert [one.word for one in nearer] == ["fierfox"]


def test_known_words_stand_for_themselves_unless_they_are_rare_beside_a_frequent_neighbor():
    assert corrections(["form"], dictionary(form=3, from_=1, farm=900)) == []
    found = corrections(["teh", "recieve"], dictionary(recieve=1, receive=80, teh=1, the=900))
    assert [(one.typed, one.word, one.meant) for one in found] == [("recieve", "receive", False)]
    assert corrections(["recieve"], dictionary(recieve=2, receive=80)) == []


def test_weights_of_one_word_add_up_to_less_than_one_that_was_typed():
    words = dictionary(**{word: count + 1 for count, word in enumerate(some_words("abcde", 400, 5, seed=4))})
    for typed in some_words("abcdef", 200, 6, seed=5):
        assert sum(one.weight for one in corrections([typed], words) if one.edits) <= 0.9 + 1e-9 or len(typed) < 4


def test_joined_and_split_words_are_found():
    words = dictionary(firefox=5, browser=4, libre=3, office=2, fire=1)
    joined = corrections(["fire", "fox", "browser"], words)
    assert [(one.typed, one.word, one.meant) for one in joined] == [("fire fox", "firefox", True)]
    for typed in ("libreoffice", "libreofice", "librreoffice"):
        assert [one.word for one in corrections([typed], words)] == ["libre", "office"], typed
    assert suggestion("My  Fire-Fox", joined) == "My  firefox"
    assert suggestion("LibreOfice!", corrections(["libreofice"], words)) == "libre office!"
    assert suggestion("browser", corrections(["browser"], words)) is None


def test_two_words_are_corrected_one_by_one_unless_they_are_one_that_is_known():
    rng = random.Random(11)
    typed = some_words("ab", 60, 6, seed=12)
    counts = {word: rng.choice([1, 500]) for word in typed[::2]}
    pairs = [(one, other) for one in typed for other in typed]
    counts |= {one + other: 3 for one, other in rng.sample(pairs, 300) if one + other not in typed}
    words, known, one_word = dictionary(**counts), 0, 0
    for one, other in pairs:
        alone = [*corrections([one], words), *corrections([other], words)]
        joined, *rest = [*corrections([one, other], words), None]
        if one + other not in counts or len(one + other) < 5:
            assert [joined, *rest][:-1] == alone
            continue
        unknown = not (one in counts and other in counts)
        assert joined == (f"{one} {other}", one + other, 1.4 if unknown else 0.7, 0, unknown)
        assert rest[:-1] == ([] if unknown else alone)
        one_word, known = one_word + unknown, known + (not unknown and bool(alone))
    assert one_word > 20 and known > 10


def test_a_word_is_never_split_into_two_stop_words():
    words = dictionary(so=90, no=90, the=90, fig=4, been=9, have=9)
    stop_words = {"so", "no", "the", "been", "have"}
    assert [one.word for one in corrections(["sono"], words)] == ["so", "no"]
    assert corrections(["sono"], words, stop_words) == []
    assert [one.word for one in corrections(["thefig"], words, stop_words)] == ["the", "fig"]
    assert [one.word for one in corrections(["havebeeen"], words)] == ["have", "been"]
    assert corrections(["havebeeen"], words, stop_words) == []


@pytest.mark.parametrize("alphabet", ["ab", "abcé字", "abcdefghijklmnop qrs"])
def test_completions_are_those_of_comparing_every_entry(alphabet):
    rng = random.Random(6)
    keys = sorted({*some_words(alphabet, 150, 8, seed=7)}, key=str.encode)
    weights = [float(rng.randrange(50)) for _ in keys]
    strings = Strings.of(keys)
    native = _native.Completions(strings.data, strings.offsets, np.array(weights, np.float32))
    for prefix in ["", *some_words(alphabet + "z", 10, 6, seed=8)]:
        for k in (1, 7, 2000):
            expected = complete(prefix, keys, weights, k)
            assert native.find(prefix, k, True) == expected, (prefix, k)
            assert native.find(prefix, k, False) == [pair for pair in expected if not pair[1]]


def test_completions_of_unsorted_or_unsound_arrays_never_read_past_their_end():
    data = np.random.default_rng(9).integers(0, 256, 3000).astype(np.uint8)
    offsets = np.sort(np.random.default_rng(10).integers(0, 3001, 501)).astype(np.int64)
    offsets[0], offsets[-1] = 0, 3000
    native = _native.Completions(data, offsets, np.ones(500, np.float32))
    for prefix in ("", "a", "ab", "é", "字字"):
        assert len(native.find(prefix, 600, True)) <= 500
    with pytest.raises(ValueError, match="weight"):
        _native.Completions(data, offsets, np.ones(499, np.float32))
    with pytest.raises(ValueError, match="finite"):
        _native.Completions(data, offsets, np.full(500, np.nan, np.float32))
