"""Pages of every Retriever: slices of one list, with counts, facets, orders and groups of the same items (law 20)."""

from __future__ import annotations

from collections import Counter
from itertools import count, pairwise

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS
from vizsla.artifacts.artifact import load
from vizsla.base.retriever import Retriever
from vizsla.core.catalog import Catalog, Item
from vizsla.data.conditions import where
from vizsla.data.metadata_builder import DetailsCollector

ASKED = [QUERIES[0], QUERIES[2], QUERIES[3], QUERIES[4], QUERIES[-1]]
EVERYTHING = len(ITEMS)
MASK = np.arange(EVERYTHING) % 3 != 1


def metadata(number):
    """What is known of an item: every fifth has no price, and every document has four items."""
    known = {"brand": "ABCD"[number % 4], "doc": f"d{number // 4}", "tags": ["x", "yz"[number % 2]]}
    return known | ({"price": number % 7} if number % 5 else {})


class Described(Retriever):
    """Any retriever, with metadata."""

    def __init__(self, inner):
        self.inner, self.scale = inner, inner.scale
        items = [Item(id, text, metadata=metadata(n)) for n, (id, text) in enumerate(ITEMS.items())]
        self._items = Catalog(inner.items, DetailsCollector.of(items, keep_texts=True))

    @property
    def items(self):
        return self._items

    @property
    def nbytes(self):
        return self.inner.nbytes

    def _search(self, queries, k, filter, threads):
        return self.inner._search_checked(queries, k, filter, threads).with_catalog(self._items)

    def _score(self, queries, candidates, filter, threads):
        return self.inner._score(queries, candidates, filter, threads)

    def _matches(self, queries, threads):
        return self.inner._matches(queries, threads)

    def _unscored_best(self, queries, depth, filter, threads):
        return self.inner._unscored_best(queries, depth, filter, threads)

    def _steady_depth(self, filter):
        return self.inner._steady_depth(filter)

    def _highlighter(self, query):
        return self.inner._highlighter(query)

    def _explain(self, queries, item, filter):
        return self.inner._explain(queries, item, filter)

    def _write(self, writer):
        raise NotImplementedError

    @classmethod
    def _read(cls, reader):
        raise NotImplementedError


@pytest.fixture(scope="module", params=RETRIEVERS, ids=list(RETRIEVERS))
def case(request):
    return RETRIEVERS[request.param]


@pytest.fixture(scope="module")
def retriever(case):
    return case.make()


@pytest.fixture(scope="module")
def described(retriever):
    return Described(retriever)


def pages(retriever, query, k, **options):
    """Return all pages, up to the first empty one."""
    found = []
    for offset in count(0, k):
        page = retriever.page(query, k, offset=offset, **options)
        if not page.hits:
            return found
        found.append(page)


def numbers(page_or_ids):
    places = {id: number for number, id in enumerate(ITEMS)}
    return [places[id] for id in getattr(page_or_ids, "ids", page_or_ids)]


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "filtered"])
@pytest.mark.parametrize("depth", [1000, 12])
def test_pages_are_slices_of_one_list_of_as_many_items_as_the_total(case, retriever, mask, depth):
    for query in ASKED:
        found = pages(retriever, query, 7, where=mask, depth=depth)
        listed = [id for page in found for id in page.ids]
        whole = retriever.page(query, EVERYTHING, where=mask, depth=depth)
        assert listed == whole.ids
        assert len(set(listed)) == len(listed)
        assert {page.total for page in found} <= {len(listed)} and whole.total == len(listed)
        assert [hit.rank for page in found for hit in page] == list(range(1, len(listed) + 1))
        if mask is None or case.exact:
            head = retriever(query, 10, where=mask).ids[0]
            assert listed[:10] == head[: len(listed)]
        if mask is not None:
            assert MASK[numbers(listed)].all()


def test_the_total_is_of_all_that_can_be_found(retriever):
    for query in ASKED:
        page = retriever.page(query, 1)
        longest = retriever(query, EVERYTHING)
        assert page.total == len(longest.items) and page.total_is_exact
        short = retriever.page(query, 1, depth=5)
        assert short.total == page.total if short.total_is_exact else short.total == 5


def test_a_saved_retriever_has_the_same_pages(retriever, tmp_path):
    try:
        retriever.save(tmp_path / "saved")
    except Exception:  # code, which no artifact holds; test_artifact.py says which
        return
    loaded = load(tmp_path / "saved")
    for query in ASKED:
        before, after = (each.page(query, 5, offset=3, where=MASK) for each in (retriever, loaded))
        assert (before.ids, before.total, before.total_is_exact) == (after.ids, after.total, after.total_is_exact)
    for options in ({"sort": "price:desc"}, {"distinct": "doc", "highlight": True}):
        for query in (ASKED[0], 'fig -pear "green"'):
            asked = {"facets": ["brand", "price:3"], "where": where("price<5"), "syntax": "web", **options}
            before, after = (Described(each).page(query, 5, **asked).to_dict() for each in (retriever, loaded))
            assert before | {"ms": 0} == after | {"ms": 0}


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "filtered"])
def test_facets_count_the_items_of_the_list(described, mask):
    for query in ASKED:
        page = described.page(query, EVERYTHING, where=mask, facets=["brand", "price", "tags", "doc"])
        known = [metadata(number) for number in numbers(page)]
        for field in ("brand", "price", "doc"):
            expected = Counter(each[field] for each in known if field in each)
            ordered = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
            assert [(each.value, each.count) for each in page.facets[field].values] == ordered
            assert page.facets[field].missing == sum(field not in each for each in known)
        tags = Counter(tag for each in known for tag in each["tags"])
        assert {each.value: each.count for each in page.facets["tags"].values} == tags


def test_a_facets_own_condition_hides_none_of_its_values(described):
    both, brand, price = where("brand=A,C and price<4"), where("brand=A,C"), where("price<4")
    for query in ASKED:
        page = described.page(query, 3, where=both, facets=["brand", "price", "tags"])
        for field, rest in (("brand", price), ("price", brand), ("tags", both)):
            assert page.facets[field] == described.page(query, 3, where=rest, facets=[field]).facets[field]


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "filtered"])
@pytest.mark.parametrize("order", ["price", "price:desc,brand"])
def test_a_sorted_list_is_the_list_sorted(described, mask, order):
    sign = -1 if "desc" in order else 1

    def key(number):
        known = metadata(number)
        brand = known["brand"] if "brand" in order else ""
        return ("price" not in known, sign * known.get("price", 0), brand)

    for query in ASKED:
        plain = numbers(described.page(query, EVERYTHING, where=mask))
        found = numbers([id for page in pages(described, query, 7, where=mask, sort=order) for id in page.ids])
        assert sorted(found) == sorted(plain)
        assert [key(number) for number in found] == sorted(map(key, plain))
        if described.scale != "none" and len(plain):
            ids = [list(ITEMS)[number] for number in found]
            scores = dict(zip(*described.score(query, [ids], where=mask).row(0), strict=True))
            for first, second in pairwise(found):
                if key(first) == key(second):
                    assert (-scores[first], first) < (-scores[second], second)


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "filtered"])
@pytest.mark.parametrize("depth", [1000, 3])
def test_groups_are_the_first_items_of_the_list_with_counts(described, mask, depth):
    for query in ASKED:
        plain = numbers(described.page(query, EVERYTHING, where=mask))
        sizes = Counter(metadata(number)["doc"] for number in plain)
        firsts = list({metadata(number)["doc"]: number for number in reversed(plain)}.values())
        found = pages(described, query, 4, where=mask, distinct="doc", depth=depth)
        listed = [hit for page in found for hit in page]
        assert len(listed) == len(sizes) and len({hit.metadata["doc"] for hit in listed}) == len(listed)
        if depth == 1000:
            assert sorted(numbers([hit.id for hit in listed])) == sorted(firsts)
            assert all(hit.more == sizes[hit.metadata["doc"]] - 1 for hit in listed)
            assert {page.groups for page in found} <= {len(sizes)}


def test_items_without_a_value_are_groups_of_their_own(described):
    for query in ASKED:
        plain = numbers(described.page(query, EVERYTHING))
        page = described.page(query, EVERYTHING, distinct="price")
        prices = [metadata(number).get("price") for number in plain]
        assert page.groups == len(page) == len(set(prices) - {None}) + prices.count(None)


def test_highlights_are_spans_of_the_querys_words(described):
    page = described.page("fig", 5, highlight=True)
    assert page.hits
    for hit in page:
        assert hit.text == ITEMS[hit.id]
        words = {hit.text[start:end] for start, end in hit.highlights["text"]}
        assert words == ({"fig"} if "fig" in hit.text.split() else set())
        assert hit.snippet.text in hit.text


def test_the_web_syntax_filters_pages_and_their_counts(described):
    page = described.page("+fig -pear", EVERYTHING, facets=["brand"], syntax="web")
    assert all("fig" in hit.text.split() and "pear" not in hit.text.split() for hit in page)
    brands = Counter(metadata(number)["brand"] for number in numbers(page))
    assert {each.value: each.count for each in page.facets["brand"].values} == brands
    narrow = described.page("+fig -pear", 1, where=where("brand=A"), facets=["brand"], syntax="web")
    if page.total_is_exact:
        assert narrow.facets == page.facets and narrow.total == brands["A"]


def test_every_sign_of_the_web_syntax_is_a_filter(case, described):
    texts, number_of = list(ITEMS.values()), {id: number for number, id in enumerate(ITEMS)}
    pairs = (text.split()[:2] for text in texts if len(text.split()) > 2)
    first, second = next(pair for pair in pairs if "".join(pair).isascii() and "".join(pair).isalpha())
    signs = {
        f'"{first} {second}"': lambda n: f" {first} {second} " in f" {texts[n]} ",
        f'-"{first} {second}"': lambda n: f" {first} {second} " not in f" {texts[n]} ",
        "brand:a": lambda n: metadata(n)["brand"] == "A",
        "-tags:y": lambda n: "y" not in metadata(n)["tags"],
        f"{first[:2]}*": lambda n: any(word.startswith(first[:2]) for word in texts[n].split()),
    }
    for sign, holds in signs.items():
        for mask in (None, MASK):
            page = described.page(f"fig {sign}", EVERYTHING, syntax="web", where=mask)
            assert all(holds(number_of[id]) and (mask is None or MASK[number_of[id]]) for id in page.ids)
            plain = described.page(f"fig {sign.lstrip('-')}".replace('"', " "), EVERYTHING, where=mask)
            if case.exact and sign.startswith('"') and page.total_is_exact:
                assert set(page.ids) == {id for id in plain.ids if holds(number_of[id])}
