"""What an engine offers: changes, pages, members, snapshots, backups, repairs, and what it says when it cannot."""

import gc
import weakref
from datetime import UTC, datetime

import pytest

from vizsla import Dataset, Item, Recipe, bm25, where
from vizsla.base.retriever import Retriever
from vizsla.engine.engine import Engine
from vizsla.errors import EngineError, FormatError, InputError, VizslaError

FRUIT = {"f": "a green fig", "p": "a ripe pear", "q": "a ripe quince", "r": "a red fig tree"}
BOTH = "0.5*words.normalized() + 0.5*letters.normalized()"
MEMBERS = {"words": Recipe.of("bm25"), "letters": Recipe.of("tfidf"), "both": BOTH}


@pytest.fixture
def engine(tmp_path):
    with Engine.create(tmp_path / "engine", members=MEMBERS, default="words", maintenance="manual") as made:
        made.add([Item(id, text, "", {"price": at}) for at, (id, text) in enumerate(FRUIT.items())])
        yield made


def test_a_page_is_a_slice_of_the_one_list(engine):
    whole = engine.search(["ripe fig", "fig"], 4)
    for offset in range(5):
        page = engine.search(["ripe fig", "fig"], 2, offset=offset)
        assert page.ids == [ids[offset : offset + 2] for ids in whole.ids]
        assert page.to_dict() == {
            query: dict(list(hits.items())[offset : offset + 2]) for query, hits in whole.to_dict().items()
        }


def test_pages_of_every_member_have_totals_facets_orders_groups_and_highlights(engine):
    engine.add([Item(f"t{n}", f"a fig tree {n}", "", {"price": n, "doc": "ab"[n % 2]}) for n in range(4)])
    engine.delete("t3")
    for name in MEMBERS:
        page = engine.page("figs", 2, using=name, facets=["price", "doc"], sort="price:desc", highlight=True)
        prices = {"f": 0, "r": 3, "t0": 0, "t1": 1, "t2": 2}
        assert (page.ids, page.total, page.total_is_exact) == (["r", "t2"], 5, True)
        assert [(each.value, each.count) for each in page.facets["price"].values] == [(0, 2), (1, 1), (2, 1), (3, 1)]
        assert page.facets["doc"].missing == 2
        assert [hit.text[start:end] for hit in page for start, end in hit.highlights["text"]] == ["fig", "fig"]
        narrow = engine.page("figs", 9, using=name, where=where("price<2 and doc=a"), facets=["price", "doc"])
        assert narrow.ids == ["t0"]
        assert {each.value: each.count for each in narrow.facets["price"].values} == {0: 1, 2: 1}
        groups = engine.member(name).page("fig", 9, distinct="doc")
        assert groups.groups == 4 and {hit.more for hit in groups} == {0, 1}
        assert sorted(engine.page("figs", 9, using=name).ids) == sorted(prices)


def test_an_explanation_adds_up_to_the_score(engine):
    for name in MEMBERS:
        found = engine.search("ripe fig", 3, using=name, explain=True)
        scores = [hit.score for hit in found.candidates[0]]
        assert [each.score for each in found.explanations[0]] == pytest.approx(scores, rel=1e-6)
    shares = [part.reason for part in engine.member("both").explain("ripe fig", "f").parts]
    assert [reason.rpartition("the share of ")[2] for reason in shares] == [
        "words.normalized('minmax')",
        "letters.normalized('minmax')",
    ]


def test_an_engine_and_its_members_are_retrievers(engine):
    assert isinstance(engine, Retriever)
    composed = engine.member("words").normalized() + engine.member("letters").normalized()
    before = composed("ripe fig").ids
    engine.add({"new": "a new ripe fig"})
    assert composed("ripe fig").ids == before  # a composition holds the moment when it was made
    assert "new" in engine("ripe fig").ids[0]
    assert engine.exact("fig", 3).ids == engine("fig", 3).ids
    assert (engine % 1)("fig").ids == [engine("fig").ids[0][:1]]


def test_clicks_go_with_their_item_and_stay_with_a_replaced_one(engine):
    engine.click("sweet", "f")
    engine.click("sweet", "p", 2.0, datetime(2026, 1, 1, tzinfo=UTC))
    engine.clicks([("sour", "q"), ("sour", "q", 3)])
    engine.upsert({"f": "another fig"})
    assert engine.stats()["clicks"] == 4
    engine.delete("p")
    assert engine.stats()["clicks"] == 3
    assert engine.delete_clicks(query="sour") == 2
    assert engine.delete_clicks(before=1.0) == 0
    assert engine.stats()["clicks"] == 1
    with pytest.raises(InputError, match="weight"):
        engine.click("sweet", "f", 0)


def test_metadata_is_typed_counted_and_sorted_out(engine):
    assert engine.count(where("price>=2")) == 2
    engine.update_metadata({"f": {"price": None, "tags": ["a", "b"]}, "p": {"price": 9, "day": datetime(2026, 1, 2)}})
    assert engine.missing("price") == 1
    assert engine.get("f").metadata == {"tags": ["a", "b"]}
    assert engine.search("ripe fig", where=where("tags contains b")).ids == [["f"]]
    assert engine.count(where("day>2026-01-01")) == 1
    (hit,) = engine.search("quince").metadata(0, ["price", "text"])
    assert (hit["price"], hit["text"]) == (2, "a ripe quince")
    with pytest.raises(InputError, match="field"):
        engine.search("fig", where=where("color=red"))
    with pytest.raises(InputError, match="ListOfThings|must be texts"):
        engine.update_metadata({"f": {"odd": object()}})


def test_hits_of_an_engine_and_of_an_artifact_know_the_same_titles(engine):
    rows = [
        {"id": "t", "title": "Quite ripe", "text": "a plum", "price": 3},
        {"id": "u", "text": "an untitled plum"},
        {"id": "v", "title": "Plum jam", "text": "a third plum"},
    ]
    engine.add(rows)
    artifact = bm25(Dataset.of(rows, keep_texts=True))
    titles = {"t": "Quite ripe", "u": None, "v": "Plum jam"}
    for found in (engine.page("plum ripe", 10, highlight=True), artifact.page("plum ripe", 10, highlight=True)):
        hits = {hit.id: hit for hit in found.hits if hit.id in titles}
        assert {id: hit.value("title") or None for id, hit in hits.items()} == titles
        assert {id: hit.metadata.get("title") or None for id, hit in hits.items()} == titles
        assert hits["t"].highlights["title"] == [(6, 10)]
    assert engine.search("untitled").metadata(0, ["title"]) == [{"title": None}]
    reopened = Engine.open(engine.path)
    assert reopened.search("ripe plum").metadata(0, ["title"])[0] == {"title": "Quite ripe"}
    reopened.close()
    engine.upsert([{"id": "v", "title": "hidden", "text": "a third plum", "metadata": {"title": "in the metadata"}}])
    assert engine.search("third").metadata(0, ["title"]) == [{"title": "in the metadata"}]  # as in an artifact
    engine.delete("v")
    engine.maintain()
    assert engine.search("ripe plum").metadata(0, ["title"])[0] == {"title": "Quite ripe"}


@pytest.mark.parametrize(
    "act", [lambda engine: engine.count(where("title=Fig")), lambda e: e.page("fig", sort="title")]
)
def test_a_title_that_is_no_metadata_cannot_be_a_condition(engine, act):
    with pytest.raises(InputError, match="metadata. Got 'title'|have .price.. Got 'title'"):
        act(engine)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda engine: engine.add({"f": "again"}), "'f', which is an item"),
        (lambda engine: engine.add([("x", "a"), ("x", "b")]), "'x' again"),
        (lambda engine: engine.add([{"id": "x"}]), "without 'text'"),
        (lambda engine: engine.add("fig"), "several items"),
        (lambda engine: engine.add({"": "fig"}), "not be empty"),
        (lambda engine: engine.add({"x": "half a \ud800"}), "Unicode"),
        (lambda engine: engine.delete("nothing"), "'nothing', which is none"),
        (lambda engine: engine.delete(), "either ids or"),
        (lambda engine: engine.search("fig", using="unknown"), "one of words, letters, both"),
        (lambda engine: engine.search("fig", offset=-1), "offset"),
        (lambda engine: engine.add_member("words", Recipe.of("bm25")), "must be new"),
        (lambda engine: engine.add_member("new", "words + nothing"), "'nothing' in 'new'"),
        (lambda engine: engine.add_member("a b", Recipe.of("bm25")), "letters, digits"),
        (lambda engine: engine.add_member("new", "words +"), "ends too soon"),
        (lambda engine: engine.add_member("new", " "), "recipe or an expression"),
        (lambda engine: engine.update_metadata({"f": {"text": "a new one"}}), "use `upsert`"),
        (lambda engine: engine.add([{"id": "x", "text": "y", "metadata": 3}]), "mapping of fields"),
        (lambda engine: engine.clicks(None), "several clicks"),
        (lambda engine: engine.clicks([("fig",)]), "weight and time"),
        (lambda engine: engine.click("fig", "f", 10**5000), "above 0 and finite"),
        (lambda engine: engine.click("fig", "f", 1, 10**400), "seconds since 1970"),
        (lambda engine: engine.delete_clicks(query=3), "must be a text"),
        (lambda engine: engine.backup(engine.path / "segments" / "copy"), "outside of the engine"),
        (lambda engine: engine.delete(where=where("unknown=3")), "Got 'unknown'"),
        (lambda engine: engine.drop_member("letters"), "which 'both' uses"),
        (lambda engine: engine.drop_member("words"), "which 'both' uses"),
        (lambda engine: engine.rollback("never"), "must be a snapshot"),
        (lambda engine: engine.save("x"), "backup|must"),
    ],
)
def test_what_cannot_be_done_says_why_and_stores_nothing(engine, act, said):
    before = engine.generation().state
    with pytest.raises(VizslaError, match=said):
        act(engine)
    assert engine.generation().state == before
    assert list(engine.items) == list(FRUIT)


def test_a_transaction_that_raises_stores_nothing(engine):
    with pytest.raises(ZeroDivisionError), engine.transaction() as changes:
        changes.add({"x": "a fig"})
        raise ZeroDivisionError
    with pytest.raises(InputError, match="'f', which is an item"), engine.transaction() as changes:
        changes.delete("p")
        changes.add({"f": "again"})
    assert list(engine.items) == list(FRUIT)


def test_a_condition_may_ask_for_a_field_that_its_transaction_brings(engine):
    with engine.transaction() as changes:
        changes.add([{"id": "x", "text": "a plum", "stock": 0}, {"id": "y", "text": "a plum", "stock": 5}])
        changes.delete(where=where("stock=0"))
    assert engine.search("plum").ids == [["y"]]


@pytest.mark.parametrize(
    "options", [{"members": 3}, {"metadata": 3}, {"metadata": {3: "number"}}, {"bindings": 3}, {"default": "words"}]
)
def test_a_wrong_setting_is_named_before_there_is_a_folder(tmp_path, options):
    with pytest.raises(InputError, match=next(iter(options))):
        Engine.create(tmp_path / "new", **options)
    assert not list(tmp_path.iterdir())


def test_a_member_that_is_built_whole_says_how_old_it_is_and_never_finds_what_was_deleted(tmp_path):
    clicks = [(text, id) for id, text in FRUIT.items() for _ in range(2)]
    with Engine.create(tmp_path / "engine", members={"tree": Recipe.of("xrlinear")}, maintenance="manual") as engine:
        with pytest.raises(InputError, match="must be built first"):
            engine.search("fig")
        engine.add(FRUIT)
        engine.clicks(clicks)
        engine.rebuild("tree")
        assert engine.search("green fig").ids[0][0] == "f"
        engine.delete("f")
        engine.add({"new": "a purple plum"})
        assert "f" not in engine.search("green fig", 10).ids[0]
        told = engine.stats()["members"]["tree"]
        assert (told["type"], told["items_since"], told["clicks_since"]) == ("static", 1, 0)
        assert told["trained_at"] > 0
        engine.search("purple plum", 10)
        engine.rebuild()
        assert engine.stats()["members"]["tree"]["items_since"] == 0
        assert set(engine.member("tree").exact("fig", 10).ids[0]) == {"p", "q", "r", "new"}


def test_snapshots_roll_members_back_and_leave_items_alone(engine):
    engine.flush()
    engine.snapshot("before")
    engine.set_default("letters")
    engine.drop_member("both")
    engine.drop_member("words")
    engine.add_member("words", Recipe.of("bm25", k1=0.1))
    engine.add({"new": "a new fig"})
    engine.flush()
    changed = engine.search("fig", using="words").scores.tolist()
    engine.rollback("before")
    assert list(engine.members) == list(MEMBERS)
    assert engine.generation().default == "words"
    fresh = Recipe.of("bm25").build({id: engine.get(id).text for id in engine.items})
    assert engine.search("fig").scores.tolist() == fresh("fig").scores.tolist() != changed
    assert engine.check() == []
    actions = [each["action"] for each in engine.history()]
    assert actions[-1] == "rollback"
    assert actions.count("drop member") == 2


def test_a_moment_that_nothing_asks_for_any_more_leaves_memory_at_once(engine):
    def asked():
        engine.upsert([{"id": "new", "text": "a fig tree"}])
        generation, known = engine.generation(metadata=True), []
        for moment in (generation, generation.forgiving()):
            for name in moment.definitions:
                page = moment.retriever(name).page("fig tree", 3, where=moment.filter(where("price>=0")))
                assert page.to_dict()
            known += [moment, moment.items, *moment._views.values()]
        assert generation.forgiving() is generation.forgiving().forgiving()
        return [weakref.ref(each) for each in known]

    gc.disable()  # a moment in a cycle would wait for the collector, with its lists and tables
    try:
        before = asked()
        now = asked()
    finally:
        gc.enable()
    assert [each() for each in before] == [None] * len(before) and all(each() is not None for each in now)


def test_a_member_can_be_added_and_rebuilt_over_segments(engine):
    engine.flush()
    engine.delete("p")
    engine.add({"new": "a new fig"})
    engine.flush()
    engine.add_member("other", Recipe.of("bm25", k1=0.5))
    engine.rebuild("words")
    fresh = Recipe.of("bm25", k1=0.5).build({id: engine.get(id).text for id in engine.items})
    assert engine.search("ripe fig", using="other").to_dict() == fresh("ripe fig").to_dict()
    again = Engine.open(engine.path)
    assert again.search("ripe fig", using="other").to_dict() == fresh("ripe fig").to_dict()
    again.close()


def test_a_backup_is_the_engine_at_one_moment(engine, tmp_path):
    engine.flush()
    engine.add({"new": "a new fig"})
    engine.backup(tmp_path / "backup")
    wanted = engine.search("fig").to_dict()
    engine.delete(["f", "new"])
    with Engine.restore(tmp_path / "backup", tmp_path / "again") as again:
        assert again.search("fig").to_dict() == wanted
        assert again.check() == []
    with pytest.raises(InputError, match="must be new"):
        engine.backup(tmp_path / "backup")


def test_erased_texts_are_gone_from_the_disk(engine):
    engine.add([{"id": "secret-id", "text": "xyzzysecret text", "note": "xyzzynote"}])
    engine.click("xyzzyquery", "secret-id")
    engine.flush()
    engine.upsert({"f": "a fig without xyzzy"})
    engine.delete("secret-id")
    engine.compact(erase=True)
    everything = b"".join(path.read_bytes() for path in engine.path.rglob("*") if path.is_file())
    for word in (b"xyzzysecret", b"xyzzynote", b"xyzzyquery", b"secret-id"):
        assert word not in everything
    assert engine.count() == 4
    assert engine.check() == []


def test_a_damaged_segment_is_named_and_made_anew(engine):
    engine.flush()
    wanted = {name: engine.search("ripe fig", using=name).to_dict() for name in MEMBERS}
    engine.close()
    for path in sorted((engine.path / "segments").rglob("*")):
        if not path.is_file() or not path.stat().st_size:
            continue
        for change in (lambda data: data[:-1], lambda data: bytes([data[0] ^ 1]) + data[1:], None):
            segments = [each for each in (engine.path / "segments").rglob("*") if each.is_file()]
            target = next(each for each in segments if each.name == path.name)
            if change is None:
                target.unlink()
            else:
                target.write_bytes(change(target.read_bytes()))
            with pytest.warns(UserWarning, match="made anew"), Engine.open(engine.path) as again:
                assert {name: again.search("ripe fig", using=name).to_dict() for name in MEMBERS} == wanted
                assert again.check() == []
                assert again.history()[-1]["action"] == "repair"


def test_a_damaged_catalog_is_a_typed_error(engine):
    engine.flush()
    engine.close()
    catalog = engine.path / "catalog.sqlite"
    whole = catalog.read_bytes()
    for broken in (whole[:100], whole[:5000], b"\0" * len(whole), b"not a database" * 100):
        catalog.write_bytes(broken)
        for left in engine.path.glob("catalog.sqlite-*"):
            left.unlink()
        with pytest.raises((FormatError, EngineError)):
            Engine.open(engine.path).search("fig")


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="new or an empty folder"):
        Engine.create(tmp_path)
    with pytest.raises(InputError, match="has no catalog"):
        Engine.open(tmp_path)
    with pytest.raises(InputError, match="must be one of"):
        Engine.create(tmp_path / "new", members=MEMBERS, default="unknown")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_imports_commit_in_batches(engine):
    before = engine.stats()["commits"]
    assert engine.add(((f"n{number}", "a new fig") for number in range(25)), batch_size=10) == 25
    assert engine.stats()["commits"] - before == 3
    assert engine.count() == 29


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineError, match="can be made"):
        Engine.create(tmp_path / "file" / "engine", members=MEMBERS)


@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
def test_fields_of_a_member_are_weighed_apart_after_every_change(tmp_path, kind):
    rows = {
        "text": Item("text", "fig and a pear", "plum", {"kind": "leaf"}),
        "title": Item("title", "plum and a pear", "fig", {"kind": "fig"}),
        "none": Item("none", "date"),
    }
    recipe = Recipe.of(kind, fields={"title": 5, "text": 1, "kind": 2})
    with Engine.create(tmp_path / "engine", members={"words": recipe}, maintenance="manual") as engine:
        assert engine.search("fig").ids == [[]]

        def check():
            fresh = recipe.build(Dataset.of(list(rows.values())))
            for one in (engine, Engine.open(engine.path, maintenance="manual")):
                assert one.search(["fig", "plum pear"]).to_dict() == fresh(["fig", "plum pear"]).to_dict()
                assert str(one.explain("fig", "title")) == str(fresh.explain("fig", "title"))
            engine.click("fig", "title")
            before = engine.generation().retriever("words").part
            assert before is engine._follower._wholes["words"][1]  # a click changes no item

        engine.add(list(rows.values()))
        check()
        rows["new"] = Item("new", "", "fig")
        engine.add([rows["new"]])
        check()
        engine.update_metadata({"text": {"kind": "fig"}})
        rows["text"] = rows["text"]._replace(metadata={"kind": "fig"})
        check()
        engine.delete("none")
        del rows["none"]
        engine.flush()
        check()
        assert engine.stats()["members"]["words"]["type"] == "composite"


@pytest.mark.parametrize("recipe", [
    Recipe.of("bm25", fields={"kind": 2}),
    Recipe.of("bm25", fields={"text": 1, "kind": 2}, b={"kind": 0.5}),
    Recipe.of("bm25", fields={"text": 1, "kind": 2}, b={"text": 0.2, "kind": 0.5}),
    Recipe.of("tfidf", fields={"kind": 2}),
])  # fmt: skip
def test_a_field_that_no_item_has_yet_finds_nothing(tmp_path, recipe):
    rows = [Item("a", "fig and a pear"), Item("b", "plum")]
    words = len(recipe.settings["fields"]) > 1
    with Engine.create(tmp_path / "engine", members={"words": recipe}, maintenance="manual") as engine:
        engine.add(rows)
        assert engine.search("fig").ids == [["a"] if words else []]
        assert (engine.explain("fig", "a").score > 0) == words
        engine.add([Item("c", "date", "", {"kind": "fig"})])
        fresh = recipe.build(Dataset.of([*rows, Item("c", "date", "", {"kind": "fig"})]))
        assert engine.search("fig").to_dict() == fresh("fig").to_dict() and "c" in fresh("fig").ids[0]


def test_a_page_of_a_member_that_is_built_anew_knows_all_matches_and_their_words(tmp_path):
    items = [Item(str(number), "a fig tree" if number % 3 else "a pear") for number in range(9)]
    with Engine.create(tmp_path / "engine", members={"words": Recipe.of("tfidf")}) as engine:
        engine.add(items)
        built = Recipe.of("tfidf").build(Dataset.of(items, keep_texts=True))
        page, fresh = (each.page("fig", 2, highlight=True) for each in (engine, built))
        assert (page.total, page.total_is_exact, page.ids) == (fresh.total, fresh.total_is_exact, fresh.ids)
        assert page[0].highlights["text"] == [(2, 5)]


def test_a_field_that_an_item_and_its_metadata_give_has_the_value_that_a_dataset_gives_it(tmp_path):
    item = {"id": "a", "text": "fig", "metadata": {"price": 1, "brand": "b"}, "price": 2}
    with Engine.create(tmp_path / "engine", members={"words": Recipe.of("bm25")}) as engine:
        engine.add([item])
        assert engine.get("a").metadata == dict(Dataset.of([item]).items[0].metadata) == {"price": 2, "brand": "b"}
