"""Completers of datasets: what is suggested, in which order, and after saving; test_spelling has the native twins."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Completer, load
from vizsla.core.catalog import Item
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.errors import FormatError, InputError

DAY = 86400.0
ITEMS = [
    Item("f", "a browser", title="Firefox"),
    Item("a", "it is loud", title="Fire Alarm"),
    Item("t", "fig tree"),
    Item("long", "word " * 60),
]


def test_titles_and_clicked_queries_are_suggested_by_their_clicks():
    clicks = [("fire safety", "a"), ("fire safety", "a"), ("free browser", "f", 5.0)]
    complete = Completer.of(Dataset.of(ITEMS, clicks=clicks))
    assert complete("fi") == ["Firefox", "Fire Alarm", "fire safety", "fig tree"]
    assert complete("") == ["Firefox", "free browser", "Fire Alarm", "fire safety", "fig tree"]
    assert complete("FIRE ") == ["Fire Alarm", "fire safety", "Firefox"], "the space may be a typo"
    assert complete("FIRE ", typos=False) == ["Fire Alarm", "fire safety"]
    assert complete("fi", k=1) == ["Firefox"]
    assert complete("word") == []


def test_recent_clicks_count_more():
    old = [("fire old", "a", 1.0, 0.0)] * 3
    new = [("fire new", "a", 1.0, 90 * DAY)] * 2
    dataset = Dataset.of(ITEMS, clicks=[*old, *new])
    assert Completer.of(dataset)("fire ", typos=False)[1:] == ["fire new", "fire old"]
    assert Completer.of(dataset, half_life_days=None)("fire ", typos=False)[1:] == ["fire old", "fire new"]


def test_spaces_in_front_are_no_letters_of_the_four_after_which_a_typo_is_forgiven():
    complete = Completer.from_weights({"fix it": 1})
    assert complete("   fex") == complete("fex") == [] and complete("  fex i") == complete("fex i") == ["fix it"]


def test_one_typo_is_forgiven_after_four_letters_and_exact_ones_come_first():
    complete = Completer.from_weights({"firefox": 1, "firewall": 9, "forefoot": 5})
    assert complete("firef") == ["firefox", "firewall", "forefoot"]
    assert complete("fierf") == ["firefox"]
    assert complete("frefo", typos=False) == []
    assert complete("fxr") == []


def test_texts_that_differ_in_case_and_spaces_are_one():
    complete = Completer.from_weights([("Fire Fox", 1), ("fire  fox", 2), ("FIRE FOX", 1)])
    assert len(complete) == 1
    assert complete("fire f") == ["fire  fox"]
    assert complete.find("fire")[0].entry.weight == 4


def test_it_is_saved_and_loaded(tmp_path):
    complete = Completer.from_weights({"東京 tower": 2, "東京 station": 3, "Straße": 1})
    complete.save(tmp_path / "completer")
    loaded = load(tmp_path / "completer")
    assert loaded("東京") == complete("東京") == ["東京 station", "東京 tower"]
    assert loaded("strass") == ["Straße"]
    (tmp_path / "completer" / "weights.npy").write_bytes(b"")
    with pytest.raises(FormatError):
        load(tmp_path / "completer")


def test_bad_input_is_named():
    complete = Completer.from_weights({"fig": 1})
    with pytest.raises(InputError, match="`k` must be"):
        complete("f", k=0)
    with pytest.raises(InputError, match="`prefix` must be a text"):
        complete(3)
    with pytest.raises(InputError, match="finite"):
        Completer.from_weights({"fig": float("nan")})
    with pytest.raises(InputError, match="as many as `keys`"):
        Completer(Strings.of(["fig"]), Strings.of([]), np.ones(1, np.float32))
    with pytest.raises(InputError, match="`dataset` must be a Dataset"):
        Completer.of({"f": "fig"})


def test_an_empty_completer_suggests_nothing():
    assert Completer.from_weights({})("fi") == []


TITLES = st.sampled_from(
    ["Fig", "fig", " FIG ", "Fig  tree", "fig tree", "", "Straße", "strasse", "x" * 120, "y" * 121]
)
LOG = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3)), max_size=9)


@given(
    st.lists(st.tuples(TITLES, TITLES), min_size=5, max_size=5),
    st.lists(TITLES.filter(str.strip), min_size=5, max_size=5),
    LOG,
)
@example(
    [("", "x" * 120), ("", "y" * 121), ("Fig", "no"), ("fig", "no"), ("", "")], ["FIG "] * 5, [(0, 2, 3), (1, 3, 1)]
)
def test_entries_weigh_the_clicks_of_queries_and_items_and_show_the_heavier_text(items, queries, log):
    rows = [{"id": f"i{n}", "title": title, "text": text or "."} for n, (title, text) in enumerate(items)]
    clicks = {}
    for query, item, weight in log:
        row = clicks.setdefault(str(query), {})
        row[f"i{item}"] = row.get(f"i{item}", 0) + weight
    asked = {str(n): text for n, text in enumerate(queries)}
    data = Dataset.of(rows, queries=asked, **({"clicks": clicks} if clicks else {}))
    given = [(text, sum(clicks[n].values())) for n, text in asked.items() if n in clicks]
    for n, (title, text) in enumerate(items):
        shown = " ".join((title or text or ".").split())
        given.append((shown if len(shown) <= 120 else "", sum(row.get(f"i{n}", 0) for row in clicks.values())))
    wanted = {}
    for text, weight in given:
        key = " ".join(text.casefold().split())
        if key and len(key) <= 120:
            known, total = wanted.get(key, (text, 0.0))
            heavier = key not in wanted or weight > total or (weight == total and known > text)
            wanted[key] = (text if heavier else known, total + weight)
    found = Completer.of(data).find("", 50)
    assert {one.entry.key: (one.entry.text, one.entry.weight) for one in found} == wanted
    order = sorted(wanted, key=lambda key: (-wanted[key][1], key.encode()))
    assert [one.entry.key for one in found] == order and all(one.edits == 0 for one in found)


def test_a_click_of_thirty_days_ago_weighs_half():
    clicks = [("fig late", "a", 1.0, 60 * DAY), ("fig mid", "a", 1.0, 30 * DAY), ("fig early", "a", 1.0, 0.0)]
    found = Completer.of(Dataset.of(ITEMS, clicks=clicks)).find("fig ", typos=False)
    weights = {one.entry.key: one.entry.weight for one in found if one.entry.weight}
    assert weights == pytest.approx({"fig late": 1.0, "fig mid": 0.5, "fig early": 0.25}, rel=1e-3)


def test_titles_of_items_that_were_clicked_long_ago_count_less_too():
    clicks = [("loud", "a", 1.0, 0.0)] * 3 + [("web", "f", 1.0, 90 * DAY)] * 2
    dataset = Dataset.of(ITEMS, clicks=clicks)
    assert Completer.of(dataset)("fi")[:2] == ["Firefox", "Fire Alarm"]
    assert Completer.of(dataset, half_life_days=None)("fi")[:2] == ["Fire Alarm", "Firefox"]
