"""BM25 over several languages: one idf per query word, by hand and against a twin in plain Python."""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from vizsla import bm25
from vizsla.compose.shards import shards
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_mixed import MAX_CACHED_WORDS, OWN_LANGUAGE, PRIOR_ITEMS
from vizsla.methods.bm25_statistics import VARIANTS, LanguageCounts, Statistics
from vizsla.text import AnyLanguage
from vizsla.text.languages import STOP_WORDS, clear_language
from vizsla.text.stemming import light_stems, roots

BOTH = AnyLanguage(["english", "german"], content=["war"])
ITEMS = {
    "en run": "the runs of the dog",
    "en dog": "the dogs and the war",
    "en cat": "the cat is on the roof",
    "de run": "der running gag und die katze",
    "de haus": "die häuser und der hund",
}


def idf(holders: float, documents: float, variant: str = "lucene") -> float:
    """Return the idf of each variant as Kamphuis et al. list it, never below 0."""
    if not holders:
        return 0.0
    holders = max(holders, 1)
    inner = {
        "lucene": 1 + (documents - holders + 0.5) / (holders + 0.5),
        "robertson": (documents - holders + 0.5) / (holders + 0.5),
        "atire": documents / holders,
        "bm25l": (documents + 1) / (holders + 0.5),
        "bm25+": (documents + 1) / holders,
    }[variant]
    return log(max(inner, 1))


def own_idf(holders: int, documents: int, union: int, everything: int, variant: str = "lucene") -> float:
    """Return the idf among the items of a query's language, to which ten of the whole catalog are added."""
    return idf(holders + 10 * union / everything, documents + 10, variant)


def part(count: float, length: float, mean: float, variant: str = "lucene") -> float:
    """Return what a word of idf 1 gives, with k1 = 1.5, b = 0.75 and delta = 0.5."""
    relative = 0.25 + 0.75 * length / mean
    if variant == "bm25l":
        return 2.5 * (count / relative + 0.5) / (1.5 + count / relative + 0.5)
    saturated = count / (count + 1.5 * relative)
    return {"lucene": 1, "robertson": 1, "atire": 2.5, "bm25+": 2.5}[variant] * saturated + 0.5 * (variant == "bm25+")


@pytest.fixture(scope="module")
def search():
    return bm25(ITEMS, analyzer=BOTH)


def scores(search, query):
    found = search(query, k=99)
    return dict(zip(found.ids[0], found.scores.tolist(), strict=True))


def test_counts_are_kept_by_language(search):
    """English items hold `run dog`, `dog war` and `cat roof`; German ones `running gag katz` and `haus hund`."""
    counts, terms = search.statistics.languages, search.words.terms
    held = {
        (terms[term], BOTH.languages[place]): count
        for term, place, count in zip(counts.terms, counts.languages, counts.frequencies.tolist(), strict=True)
    }
    assert held == {
        ("run", "english"): 1, ("dog", "english"): 2, ("war", "english"): 1, ("cat", "english"): 1,
        ("roof", "english"): 1, ("running", "german"): 1, ("gag", "german"): 1, ("katz", "german"): 1,
        ("haus", "german"): 1, ("hund", "german"): 1,
    }  # fmt: skip
    assert counts.documents.tolist() == [3, 2] and counts.lengths.tolist() == [6, 5]
    assert counts.totals(len(terms)).tolist() == search.frequencies.tolist()


def test_a_word_of_an_unclear_query_has_the_idf_of_the_union_of_its_stems(search):
    """`running` is `run` in English and `running` in German: two of five items hold one of them."""
    found = scores(search, "running")
    assert found == pytest.approx(
        {"en run": idf(2, 5) * part(1, 2, 2), "de run": idf(2, 5) * part(1, 3, 2.5)}, rel=1e-6
    )


def test_a_word_of_a_clear_query_has_the_idf_of_the_querys_language(search):
    """One of three English items holds `run`. English items count more, and no other is left out."""
    assert (OWN_LANGUAGE, PRIOR_ITEMS) == (1.5, 10)
    rarity = own_idf(1, 3, 2, 5)
    expected = {"en run": 1.5 * rarity * part(1, 2, 2), "de run": rarity * part(1, 3, 2.5)}
    assert scores(search, "what is the running") == pytest.approx(expected, rel=1e-6)
    rarity = own_idf(1, 2, 2, 5)
    expected = {"de run": 1.5 * rarity * part(1, 3, 2.5), "en run": rarity * part(1, 2, 2)}
    assert scores(search, "was ist das running") == pytest.approx(expected, rel=1e-6)


def test_a_word_that_no_item_of_the_querys_language_holds_is_counted_in_all(search):
    assert scores(search, "what is the hund") == pytest.approx({"de haus": idf(1, 5) * part(1, 2, 2.5)}, rel=1e-6)


def test_a_word_that_is_asked_for_twice_counts_twice(search):
    once, twice = scores(search, "running dog"), scores(search, "running running dog")
    assert twice["de run"] == pytest.approx(2 * once["de run"]) and twice["en dog"] == once["en dog"]


def test_stop_words_of_both_sides_count(search):
    """`war` is dropped from German items and from queries that are clearly German, but is no stop word of its own."""
    assert search("war").ids == search("what is the war").ids == [["en dog"]]
    assert search("was war das").ids == search("the und der").ids == [[]]
    german = bm25({"a": "was war das für ein hund", "b": "das war der hund und die katze"}, analyzer=BOTH)
    assert "war" not in german.words.terms or german("war").ids == [[]]


def test_one_language_of_a_mixed_catalog_ranks_as_it_does_alone():
    """For a clear query, nearly 1.5 times what the items of its language would get without the others."""
    english = {
        f"en {n}": f"the {' '.join(text)}" for n, text in enumerate(permutations(["dog", "cat", "roof", "war"], 2))
    }
    english |= {f"en more {n}": "the house of the owl" for n in range(988)}
    alone = bm25(english, analyzer=AnyLanguage("english"))
    mixed = bm25({**english, "de": "der hund und die katze"}, analyzer=BOTH)
    for query in ("what is the dog", "where are the dogs and the roof", "the war of the cats"):
        expected = {id: 1.5 * score for id, score in scores(alone, query).items()}
        assert scores(mixed, query) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("variant", VARIANTS)
def test_few_items_in_a_language_are_found_by_every_variant(variant):
    """The idf within the language is 0 for words that half of its items hold, or all, in robertson and atire."""
    english = {f"en {n}": f"the tree of the {word}" for n, word in enumerate("abcdefghijklmno")}
    one = bm25({**english, "de": "das Haus ist im Garten bei der Wiese"}, analyzer=BOTH, variant=variant)
    for query in ("Haus Garten Wiese", "Haus", "das Haus ist im Garten"):
        assert one(query).ids == [["de"]], query
    german = ["das Haus ist alt", "das Haus ist neu und der Baum", "der Baum ist alt", "die Wiese ist neu"]
    few = bm25({**english, **{f"de {n}": text for n, text in enumerate(german)}}, analyzer=BOTH, variant=variant)
    for query in ("Haus", "das Haus ist"):
        assert sorted(few(query).ids[0]) == ["de 0", "de 1"], query
    assert sorted(few("Baum").ids[0]) == ["de 1", "de 2"]


def test_words_of_a_language_with_few_items_weigh_as_much_as_others():
    """A word of the one German item does not yield to one that only an English item holds."""
    english = {f"en {n}": f"the {word} and the tree" for n, word in enumerate(["running", *"bcdefghijklmno"])}
    search = bm25({**english, "de": "das Haus ist im Garten bei der Wiese"}, analyzer=BOTH)
    assert search("wo ist das running Haus").ids[0][0] == "de"


def test_words_that_are_kept_are_bounded_and_change_no_answer(search):
    encoder = bm25(ITEMS, analyzer=BOTH).encoder
    queries = [f"running dog w{n}" for n in range(MAX_CACHED_WORDS)]
    together = encoder.queries(queries)
    assert len(encoder._words) <= MAX_CACHED_WORDS
    for number in (0, 17, MAX_CACHED_WORDS - 1):
        alone = encoder.queries([queries[number]])
        low, high = together.offsets[number : number + 2]
        assert alone.columns.tolist() == together.columns[low:high].tolist()
        assert alone.values.tolist() == together.values[low:high].tolist()
        assert len(encoder._words) <= MAX_CACHED_WORDS


def test_explanations_name_the_language_and_add_up(search):
    for query in ("running dogs", "what is the running dog doing on the roof", "was ist das running unseen"):
        for item, score in scores(search, query).items():
            found = search.explain(query, item)
            assert found.score == score == pytest.approx(sum(share.score for share in found.parts), rel=1e-6)
    assert str(search.explain("running", "en run")).splitlines()[1].endswith("'running': in 2 of 5 items, idf 0.8755")
    lines = str(search.explain("what is the running", "en run")).splitlines()
    assert lines[0].endswith("; the query is in english, whose items count 1.5 times")
    assert lines[1].endswith(f"'running': in 1 of 3 english items, idf {own_idf(1, 3, 2, 5):.4f}")
    assert "'unseen': in no item" in str(search.explain("unseen dog", "en dog"))


WORDS = [
    "the",
    "and",
    "der",
    "und",
    "war",
    "run",
    "running",
    "runs",
    "dog",
    "hund",
    "hunde",
    "national",
    "nation",
    "水果",
]
texts = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
catalogs = st.lists(texts, min_size=1, max_size=14)


def stems(word: str, place: int) -> str | None:
    language = BOTH.languages[place]
    dropped = (set(STOP_WORDS["english"]) | set(STOP_WORDS["german"])) - {"war"} | set(STOP_WORDS[language])
    return None if word in dropped else light_stems(language, [word])[0]


def item_terms(text: str) -> tuple[int, dict[str, float]]:
    """Return an item's language and terms: the one its function words say most for, English at a tie or without.

    A function word of n languages says an n-th of 240 for each; 60 are enough.
    """
    said = [0, 0]
    for word in text.split():
        speakers = [language for language, words in STOP_WORDS.items() if word in words]
        for place, language in enumerate(BOTH.languages):
            said[place] += 240 // len(speakers) if language in speakers else 0
    place = int(said[1] > said[0] and said[1] >= 60)
    found: dict[str, float] = {}
    for word in NO_LANGUAGE(text):
        if (stem := stems(word, place)) is None:
            continue
        found[stem] = found.get(stem, 0) + 1
        if place == 0 and (root := roots([word])[0]) != stem:
            found[root] = found.get(root, 0) + 0.5
    return place, found


NO_LANGUAGE = AnyLanguage([])


def twin_scores(catalog: list[str], query: str, variant: str) -> tuple[list[float], list[bool]]:
    """Score every item by the rules, in plain Python, and say which of them hold a word that counts."""
    items = [item_terms(text) for text in catalog]
    sizes = [sum(place == own for own, _ in items) for place in (0, 1)]
    means = [sum(sum(terms.values()) for own, terms in items if own == place) / (sizes[place] or 1) for place in (0, 1)]

    def held(term: str, place: int | None = None) -> int:
        return sum(term in terms for own, terms in items if place is None or own == place)

    def rarity(terms: list[str], own: str | None, language: int) -> float:
        union = min(sum(map(held, terms)), len(items))
        if own is not None and language >= 0 and held(own, language):
            return own_idf(held(own, language), sizes[language], union, len(items), variant)
        return idf(union, len(items), variant)

    language = clear_language([word for word in NO_LANGUAGE(query) if word != "war"], BOTH.languages)
    scores, found = [0.0] * len(items), [False] * len(items)
    nothing = part(0, 1, 1, variant)
    for word in NO_LANGUAGE(query):
        if language >= 0 and word in STOP_WORDS[BOTH.languages[language]]:
            continue
        ways = [stems(word, place) for place in (0, 1)]
        distinct = list(dict.fromkeys(stem for stem in ways if stem is not None))
        weighed = [(stem, rarity(distinct, ways[language] if language >= 0 else None, language)) for stem in distinct]
        floor = weighed[0][1] if weighed else 0.0
        root = roots([word])[0]
        if ways[0] is not None and root not in distinct:
            weighed.append((root, 0.5 * rarity([root], root, language)))
            floor += weighed[-1][1]
        for number, (place, terms) in enumerate(items):
            scores[number] += floor * nothing
            for term, weight in weighed:
                if term in terms and weight:
                    found[number] = True
                    bonus = 1.5 if place == language else 1.0
                    given = part(terms[term], sum(terms.values()), means[place] or 1, variant) - nothing
                    scores[number] += bonus * weight * given
    return scores, found


@pytest.mark.parametrize("variant", VARIANTS)
@given(catalog=catalogs, query=texts)
def test_scores_are_those_of_the_twin(variant, catalog, query):
    search = bm25(catalog, analyzer=BOTH, variant=variant)
    expected, held = twin_scores(catalog, query, variant)
    found = scores(search, query)
    assert found == pytest.approx({str(n): score for n, score in enumerate(expected) if held[n]}, rel=1e-5)


@given(catalogs, st.lists(texts, min_size=1, max_size=4), st.sampled_from(VARIANTS), st.integers(0, 14))
def test_shards_batches_and_exhaustive_scores_are_the_same_bits(catalog, queries, variant, cut):
    items = {str(number): text for number, text in enumerate(catalog)}
    pairs = list(items.items())
    parts = [dict(pairs[:cut]), dict(pairs[cut:])]
    whole = bm25(items, analyzer=BOTH, variant=variant)
    counted = reduce(Statistics.merged, [Statistics.of(one, analyzer=BOTH) for one in parts])
    assert counted == whole.statistics and counted.fingerprint == whole.statistics.fingerprint
    found = whole(queries, k=9)
    assert shards([bm25(one, statistics=counted, variant=variant) for one in parts])(queries, k=9) == found
    assert whole.score(queries, found) == found
    everything = whole.exact(queries, k=len(items)).to_dict()
    for query, hits in found.to_dict().items():
        assert hits == {id: everything[query][id] for id in hits}
        others = [score for id, score in everything[query].items() if id not in hits]
        assert max(others, default=0) <= min(hits.values(), default=np.inf)
    assert [whole(query, k=9).scores.tolist() for query in queries] == [
        found.scores[low:high].tolist() for low, high in zip(found.offsets[:-1], found.offsets[1:], strict=True)
    ]


@given(catalogs, catalogs)
def test_counts_of_items_that_go_are_the_difference(kept, gone):
    """Whole numbers that add up: what is left after a deletion is the sum less what the deleted items had."""
    both = Statistics.of([*kept, *gone], analyzer=BOTH)
    left, less = Statistics.of(kept, analyzer=BOTH).languages, Statistics.of(gone, analyzer=BOTH)
    numbers = both.words.terms.find_all(less.words.terms)
    difference = dict(zip(both.languages.keys.tolist(), both.languages.frequencies.tolist(), strict=True))
    theirs = less.languages
    moved = (numbers[theirs.terms] * theirs.count + theirs.languages).tolist()
    for key, count in zip(moved, theirs.frequencies.tolist(), strict=True):
        difference[key] -= count
    assert {key: n for key, n in difference.items() if n} == dict(
        zip(left.keys.tolist(), left.frequencies.tolist(), strict=True)
    )
    assert (both.languages.documents - theirs.documents).tolist() == left.documents.tolist()
    assert (both.languages.lengths - theirs.lengths).tolist() == left.lengths.tolist()


def test_files_keep_the_counts_and_damage_is_told(search, tmp_path: Path):
    path = search.save(tmp_path / "index")
    again = vizsla.load(path)
    assert again.statistics == search.statistics and again(["running", "what is the war"]) == search(
        ["running", "what is the war"]
    )
    counts = search.statistics.languages
    wrong = LanguageCounts(counts.keys[1:], counts.frequencies[1:], counts.documents, counts.lengths)
    same = search.words, search.frequencies, search.statistics.documents, search.statistics.length
    with pytest.raises(InputError, match="add up"):
        Statistics(*same, wrong)
    with pytest.raises(InputError, match="exactly for several languages"):
        Statistics(*same)
    with pytest.raises(InputError, match="ascend"):
        LanguageCounts(counts.keys[::-1].copy(), counts.frequencies, counts.documents, counts.lengths)
    with pytest.raises(InputError, match="between 1 and"):
        LanguageCounts(counts.keys, counts.frequencies + 9, counts.documents, counts.lengths)
    with pytest.raises(InputError, match="whole numbers or halves"):
        LanguageCounts(counts.keys, counts.frequencies, counts.documents, counts.lengths + 0.3)
    file = next(path.rglob("language_documents*"))
    file.unlink()
    with pytest.raises(FormatError):
        vizsla.load(path)


def test_a_shard_with_a_word_in_another_language_is_refused():
    """The statistics know `gag` from German items alone."""
    counted = Statistics.of(ITEMS, analyzer=BOTH)
    with pytest.raises(InputError, match="must count the items"):
        bm25({"x": "the gag of the cat"}, statistics=counted)


@pytest.mark.parametrize("variant", VARIANTS)
def test_clicks_move_items_of_a_mixed_catalog(variant):
    """PEFA moves rows of lists: a word that no item holds finds what was clicked for it, in both languages."""
    search = bm25(ITEMS, analyzer=BOTH, variant=variant)
    clicks = [("unseenword running", "de haus"), ("unseenword", "de haus"), ("canine", "en dog")]
    moved = vizsla.pefa(search, clicks, variant="xs", weight=0.5, calibrated=False)
    assert moved("unseenword").ids == [["de haus"]] and moved("canine").ids == [["en dog"]]
    for query in ("unseenword running", "what is the canine dog"):
        found = moved(query, k=9)
        assert moved.score(query, found) == found
        for item, score in zip(found.ids[0], found.scores.tolist(), strict=True):
            assert moved.explain(query, item).score == pytest.approx(score, rel=1e-6)


def test_a_row_of_the_index_has_the_encoders_width(search):
    assert search.index.dim == search.encoder.dim == len(search.statistics.languages.keys) + 1
    assert search.encode(["running", "nothing"]).shape == (2, search.encoder.dim)
    assert np.array_equal(search.column_weights[-1:], [0])


def test_readers_of_queries_that_give_other_rows_have_other_fingerprints():
    """A vocabulary grown by words that no item holds, other items, and another formula."""
    search = bm25(ITEMS, analyzer=BOTH)
    found = {"itself": search.encoder.fingerprint}
    for words in (["zebra"], ["zebra", "gnu"], ["gnu"]):
        found[str(words)] = type(search.encoder)(
            search.statistics, search.weighting, search.encoder.words.grown(words)
        ).fingerprint
    found["fewer items"] = bm25(dict(list(ITEMS.items())[1:]), analyzer=BOTH).encoder.fingerprint
    found["another k1"] = bm25(ITEMS, analyzer=BOTH, k1=1.2).encoder.fingerprint
    assert len(set(found.values())) == len(found)
    assert bm25(dict(ITEMS), analyzer=BOTH).encoder.fingerprint == found["itself"]


def test_a_root_that_is_the_stem_of_another_language_counts_once():
    """English reads `relation` as itself, with the root `relat`, which is its stem in French."""
    analyzer = AnyLanguage(("english", "french"))
    assert [way[0] for way in analyzer.folded(["relation"])] == ["relation", "relat", "relat"]
    texts = {"en": "the relation of this and that", "fr": "la relation dans les deux", "no": "un autre et une pomme"}
    search = bm25(texts, analyzer=analyzer)
    word = search.encoder.word("relation", -1)
    assert len(set(word.columns)) == len(word.columns) == 3, "two lists of English, and one of French"
    assert set(word.weights) == {word.idf}


def test_a_word_is_held_by_no_more_items_than_there_are():
    """Each English item holds the word's English stem and, as its root, the French one."""
    texts = {"a": "the relation of this and that", "b": "this is the relation", "c": "la relation dans les deux"}
    search = bm25(texts, analyzer=AnyLanguage(("english", "french")))
    word = search.encoder.word("relation", -1)
    assert (word.holders, word.documents, word.idf) == (3, 3, pytest.approx(idf(3, 3)))
    assert all(score > 0 for score in search("relation").scores) and len(search("relation").ids[0]) == 3
