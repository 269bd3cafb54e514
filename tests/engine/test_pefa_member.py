"""PefaMember: after any sequence of changes and clicks it answers as PEFA that is built anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vizsla
from tests.engine.live_rows import QUERIES, LiveRows, counted_letters, hashed, same_answers
from tests.engine.test_vector_member import TEXTS, changed
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import SECONDS_PER_DAY
from vizsla.engine.lexical_member import Bm25Member
from vizsla.engine.live_clicks import HALF_LIVES_PER_EPOCH
from vizsla.engine.member import SlotClicks
from vizsla.engine.pefa_member import PefaMember
from vizsla.engine.vector_member import VectorMember
from vizsla.errors import InputError
from vizsla.learning.clicks import ClickLog
from vizsla.learning.matrices import unit_rows
from vizsla.methods.pefa.options import XlSettings, XsSettings
from vizsla.methods.pefa.xl import PefaXl, query_index
from vizsla.methods.pefa.xs import PefaXs
from vizsla.text.analyzers import Analyzer

ASKED = [*QUERIES, "fig", "tree", "plum", "gif", "pear tree", "tart", "1 2", "a b"]
CLICK = st.tuples(
    st.integers(0, 99), st.sampled_from(ASKED), st.sampled_from([1.0, 2.0, 0.5, 0.3, 3.0]), st.integers(0, 4000)
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), TEXTS),
        st.tuples(st.just("learn"), st.lists(CLICK, min_size=1, max_size=6)),
        st.tuples(st.just("unlearn"), st.lists(st.integers(0, 99), min_size=1, max_size=4)),
        *(st.tuples(st.just(step), st.none()) for step in ("flush", "merge", "restart")),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 99), min_size=1, max_size=3)),
        st.tuples(st.just("replace"), st.lists(st.integers(0, 99), min_size=1, max_size=3)),
    ),
    min_size=2,
    max_size=14,
)

XS = {
    "paper": XsSettings(0.5),
    "calibrated": XsSettings(0.2, 0.8, -0.05),
    "best query": XsSettings(0.3, 0.9, 0.1, margin=0.2),
    "best query alone": XsSettings(1.0, margin=0.1, item_weight=0.0),
    "base": XsSettings(1.0),
}
XL = {
    "mean": XlSettings(0.5, 3),
    "max": XlSettings(0.3, 4, "max", 0.2, 1.5, 0.1),
    "far": XlSettings(0.5, 2, "max", -0.5),
    "base": XlSettings(1.0, 3),
}


class ClickedRows(LiveRows):
    """Rows and clicks: those of a removed row go, those of a replaced one move."""

    def __init__(self, make, folder):
        self.clicks: dict[int, tuple[str, int, float, float]] = {}
        self.last = 0
        super().__init__(make, folder)

    def given(self, numbers):
        rows = [self.clicks[number] for number in sorted(numbers)]
        columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
        queries, slots, weights, times = columns
        return SlotClicks(
            np.array(sorted(numbers), np.int64),
            list(queries),
            np.array(slots, np.int32),
            np.array(weights, np.float64),
            np.array(times, np.float64),
        )

    def learn(self, picks):
        new = []
        for pick, query, weight, days in picks if len(self.slots) else ():
            self.last += 1
            slot = int(self.slots[pick % len(self.slots)])
            self.clicks[self.last] = query, slot, weight, days * SECONDS_PER_DAY / 100
            new.append(self.last)
        if new:
            self.member.learn(self.given(new))

    def unlearn(self, picks):
        there = sorted(self.clicks)
        gone = sorted({there[pick % len(there)] for pick in picks if there})
        if gone:
            self.member.unlearn(np.array(gone, np.int64))
        for number in gone:
            del self.clicks[number]

    def remove(self, picks):
        slots = super().remove(picks)
        lost = {number: click for number, click in self.clicks.items() if click[1] in slots}
        self.clicks = {number: click for number, click in self.clicks.items() if number not in lost}
        return slots, lost

    def replace(self, picks):
        """Upsert: a row goes, another comes, and the clicks move to it."""
        slots, lost = self.remove(picks)
        at = len(self.texts)
        if len(slots):
            self.append([self.texts[slot] + " 0" for slot in slots])
        places = {slot: at + number for number, slot in enumerate(slots.tolist())}
        moved = {number: (query, places[slot], *rest) for number, (query, slot, *rest) in lost.items()}
        self.clicks |= moved
        if moved:
            self.member.learn(self.given(moved))

    def reopen(self, segments, slots):
        kept = [slot for at, slot in enumerate(slots) if at < sum(size for _, size in segments) or self.live[slot]]
        places = {slot: at for at, slot in enumerate(kept)}
        self.clicks = {number: (q, places[slot], *rest) for number, (q, slot, *rest) in self.clicks.items()}
        super().reopen(segments, slots)
        if self.clicks:
            self.member.learn(self.given(self.clicks))

    def triples(self, half_life=None):
        """The clicks as a log takes them; with a half-life, weighed from a moment that moves every four of them."""
        rows = [(query, f"id {slot}", weight, time) for query, slot, weight, time in self.clicks.values()]
        if half_life is None:
            return [row[:3] for row in rows]
        span = HALF_LIVES_PER_EPOCH * half_life * SECONDS_PER_DAY
        moment = max((row[3] for row in rows), default=0.0) // span * span
        aged = [(q, i, float(w * np.exp2((t - moment) / (half_life * SECONDS_PER_DAY)))) for q, i, w, t in rows]
        return [row for row in aged if row[2] >= 1 / 1024]


def stepped(rows, steps):
    for step, what in steps:
        if step in ("learn", "unlearn", "replace"):
            getattr(rows, step)(what)
        else:
            changed(rows, step, what)


def fresh(rows, base_recipe, encoder, chosen, half_life=None, **options):
    """PEFA with these settings, built at once over the live items."""
    base = base_recipe.build(vizsla.Dataset.of(rows.items()), bindings={"encoder": encoder})
    log = ClickLog.of(rows.triples(half_life), base.items, lambda texts: Queries(texts).encoded(encoder))
    if isinstance(chosen, XsSettings):
        return PefaXs.build(base, log, chosen)
    return PefaXl(base, encoder, log, chosen, query_index("flat", log, **options))


@pytest.mark.parametrize(
    "chosen", [*XS.values(), *XL.values()], ids=[*map("xs {}".format, XS), *map("xl {}".format, XL)]
)
@pytest.mark.parametrize("encoder", [counted_letters(), hashed()], ids=["ties", "reals"])
@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("half_life", [None, 1.0], ids=["", "half-life"])
def test_answers_are_those_of_a_fresh_build(encoder, chosen, storage, half_life, tmp_path_factory):
    base = Recipe.of("dense", encoder=encoder, storage=storage)
    recipe = Recipe.of("pefa", base=base, variant="xs" if isinstance(chosen, XsSettings) else "xl")
    assert PefaMember.accepts(recipe)
    settled = {"settings": vars(chosen), "half_life": half_life}

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(CHANGES, st.integers(0, 99))
    def follows(steps, seed):
        make = lambda: PefaMember(recipe, settled, {"encoder": encoder})  # noqa: E731
        rows = ClickedRows(make, tmp_path_factory.mktemp("rows"))
        stepped(rows, [("append", ["fig", "pear", "fig tree", "plum"]), *steps[: len(steps) // 2]])
        rows.retriever()(QUERIES)  # a view between the changes
        stepped(rows, steps[len(steps) // 2 :])
        if len(rows.slots):
            same_answers(rows.retriever(), fresh(rows, base, encoder, chosen, half_life, storage=storage), seed)

    follows()


class OverAnother:
    """A base and a member over it; every change goes to the base first, as an engine does it."""

    def __init__(self, base, recipe, settled, bindings):
        self.base, self.pefa = base, PefaMember(recipe, settled, bindings | {"base": base})
        self.view, self.learn, self.unlearn = self.pefa.view, self.pefa.learn, self.pefa.unlearn

    def write(self, folder, slots):
        self.base.write(folder, slots)
        self.pefa.write(folder, slots)

    def __getattr__(self, name):
        def both(*given):
            getattr(self.base, name)(*given)
            getattr(self.pefa, name)(*given)

        return both


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [("dense", XS["calibrated"]), ("dense", XL["max"]), ("bm25", XL["mean"]), ("bm25", XL["max"])],
    ids=["xs over vectors", "xl over vectors", "xl over words, mean", "xl over words, max"],
)
def test_a_base_may_be_another_member(kind, chosen, tmp_path_factory):
    encoder = hashed()
    bound, form = {"encoder": encoder}, "xs" if isinstance(chosen, XsSettings) else "xl"
    base, named = Recipe.of("dense", encoder=encoder), {} if kind == "dense" else {"encoder": encoder}
    if kind == "bm25":
        base = Recipe.of("bm25", analyzer=Analyzer())
    recipe, settled = (
        Recipe.of("pefa", base="other", variant=form, **named),
        {"settings": vars(chosen), "half_life": None},
    )

    def make():
        other = (
            VectorMember(base, {}, bound) if kind == "dense" else Bm25Member(base, Bm25Member.settle(base, [], {}), {})
        )
        return OverAnother(other, recipe, settled, named)

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(CHANGES, st.integers(0, 99))
    def follows(steps, seed):
        rows = ClickedRows(make, tmp_path_factory.mktemp("rows"))
        stepped(rows, [("append", ["fig", "pear", "fig tree", "plum"]), *steps])
        if len(rows.slots):
            same_answers(rows.retriever(), fresh(rows, base, encoder, chosen), seed)

    follows()


def test_the_order_of_clicks_makes_no_difference(tmp_path):
    encoder = hashed()
    recipe = Recipe.of("pefa", variant="xs", base=Recipe.of("dense", encoder=encoder))
    clicks = [("tart", 0, 0.3), ("sweet", 1, 1.0), ("tart", 1, 0.7), ("ripe", 0, 2.5)]
    answers = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        member = PefaMember(recipe, {"settings": vars(XS["paper"])}, {"encoder": encoder})
        member.open([], [])
        member.append(["fig", "pear"])
        for at in order:
            query, slot, weight = clicks[at]
            one = SlotClicks(np.array([at]), [query], np.array([slot], np.int32), np.array([weight]), np.zeros(1))
            member.learn(one)
            member.view(None)
        found = member.view(None).search(Queries(ASKED), 2, None, 1)
        answers.append((found.items.tolist(), found.scores.tolist()))
    assert answers[0] == answers[1]


def test_an_old_view_does_not_learn(tmp_path):
    encoder = hashed()
    recipe = Recipe.of("pefa", variant="xl", base=Recipe.of("dense", encoder=encoder))
    for kind, chosen in (("xl", XL["max"]), ("xs", XS["best query"])):
        recipe = Recipe.of("pefa", variant=kind, base=Recipe.of("dense", encoder=encoder))
        make = lambda recipe=recipe, chosen=chosen: PefaMember(recipe, {"settings": vars(chosen)}, {"encoder": encoder})  # noqa: E731
        rows = ClickedRows(make, tmp_path / kind)
        (tmp_path / kind).mkdir()
        rows.append(["fig", "pear", "plum"])
        rows.learn([(1, "fig", 1.0, 0)])
        old = rows.retriever()
        expected, said = old(QUERIES, k=3), str(old.explain("fig", "id 1"))
        rows.learn([(2, "fig", 9.0, 0), (2, "fig tree", 9.0, 0)])
        assert rows.retriever()(QUERIES, k=3) != expected
        assert old(QUERIES, k=3) == expected and str(old.explain("fig", "id 1")) == said


def test_the_base_contributes_as_many_items_as_the_recipe_says(tmp_path):
    encoder, base = hashed(), Recipe.of("dense", encoder=hashed())
    recipe = Recipe.of("pefa", variant="xl", base=base, depth=2)
    chosen = XlSettings(0.3, 4, "max", 0.2, 9.0, 0.9)  # items with clicks step back
    make = lambda: PefaMember(recipe, {"settings": vars(chosen)}, {"encoder": encoder})  # noqa: E731
    rows = ClickedRows(make, tmp_path)
    rows.append([f"text {number}" for number in range(20)])
    rows.learn([(number, "fig", 1.0, 0) for number in range(15)])
    built = fresh(rows, base, encoder, chosen)
    truth = PefaXl(built.base, encoder, built.log, built.settings, built.index, depth=2)
    assert rows.retriever()(ASKED, k=2) == truth(ASKED, k=2) != built(ASKED, k=2)


def test_others_are_built_whole():
    encoder = hashed()
    dense = Recipe.of("dense", encoder=encoder)
    accepts = PefaMember.accepts
    assert not accepts(Recipe.of("pefa", variant="xs", base=Recipe.of("bm25")))
    plain = Recipe.of("pefa", variant="xs", base=dense)
    assert accepts(plain) and not accepts(plain.but(paper=True))
    assert not accepts(Recipe.of("pefa", variant="xs", base=dense.but(index="hnsw")))
    assert not accepts(Recipe.of("pefa", variant="xs", base=dense.but(index="pq")))
    assert not accepts(Recipe.of("pefa", variant="xl", base=dense, index="hnsw"))
    assert not accepts(dense)
    assert accepts(Recipe.of("pefa", variant="xl", base="words", encoder=encoder))


def test_settings_are_chosen_on_the_clicks_that_are_there():
    rng = np.random.default_rng(0)
    encoder = hashed()
    items = {f"i{number}": f"item {number}" for number in range(40)}
    clicks = [(f"query {rng.integers(25)}", f"i{rng.integers(40)}", 1.0) for _ in range(120)]
    dataset = vizsla.Dataset.of(items, clicks=clicks)
    for kind in ("auto", "xs", "max", "xl"):
        recipe = Recipe.of("pefa", variant=kind, base=Recipe.of("dense", encoder=encoder))
        settled = PefaMember.settle_on(recipe, dataset, {"encoder": encoder})
        built = recipe.build(dataset, bindings={"encoder": encoder})
        assert settled == {"settings": vars(built.settings), "half_life": None}


def test_without_clicks_those_to_come_count():
    long = hashed()
    encoder = FunctionEncoder(lambda texts: unit_rows(long.queries(texts)), dim=long.dim, name="unit")
    base = Recipe.of("dense", encoder=encoder)
    for recipe in (
        Recipe.of("pefa", base=base, half_life=30.0),
        Recipe.of("pefa", variant="xl", base=base),
    ):
        for texts in ([], ["fig", "pear", "plum", "quince"]):
            settled = PefaMember.settle(recipe, texts, {"encoder": encoder})
            assert settled["settings"]["weight"] < 1
            assert settled["half_life"] == recipe.settings.get("half_life")
            member = PefaMember(recipe, settled, {"encoder": encoder})
            member.open([], [])
            member.append(["fig", "pear", "plum", "quince"])
            asked = Queries(["tart and blue"])
            last = int(member.view(None).search(asked, 4, None, 1).items[-1])
            click = np.array([1]), ["tart and blue"], np.array([last], np.int32), np.ones(1), np.zeros(1)
            member.learn(SlotClicks(*click))
            assert member.view(None).search(asked, 4, None, 1).items[0] == last


def test_clicks_are_as_long_as_the_vectors_of_items():
    encoder, texts = hashed(), [f"text {number}" for number in range(30)]
    recipe = Recipe.of("pefa", base=Recipe.of("dense", encoder=encoder))
    scale = PefaMember.settle(recipe, texts, {"encoder": encoder})["settings"]["scale"]
    assert scale == pytest.approx(np.linalg.norm(encoder.items(texts), axis=1).mean(), rel=1e-5)


def test_a_vote_is_worth_something_beside_bm25():
    encoder = hashed()
    words = Recipe.of("bm25")
    recipe = Recipe.of("pefa", variant="xl", base=words, encoder=encoder)
    texts = [f"a word and number {number}" for number in range(50)]
    scale = PefaMember.settle(recipe, texts, {"encoder": encoder})["settings"]["scale"]
    assert scale not in (0.0, 1.0)


def test_bindings_are_checked():
    encoder = hashed()
    shared = VectorMember(Recipe.of("dense", encoder=encoder), {}, {"encoder": encoder})
    xs, xl = (
        Recipe.of("pefa", variant="xs", base="words"),
        Recipe.of("pefa", variant="xl", base="words", encoder=encoder),
    )
    with pytest.raises(InputError, match="`base` must be a recipe, or a live member"):
        PefaMember(xs, {"settings": vars(XS["paper"])}, {})
    with pytest.raises(InputError, match="must hold the settings of PEFA"):
        PefaMember(xs, {}, {"base": shared})
    with pytest.raises(InputError, match="`encoder` must be the one that the member was made with"):
        PefaMember(xl, {"settings": vars(XL["max"])}, {"base": shared, "encoder": counted_letters()})
    coded = VectorMember(Recipe.of("dense", encoder=encoder, index="pq"), {}, {"encoder": encoder})
    with pytest.raises(InputError, match="`base` must hold vectors, for PEFA-XS"):
        PefaMember(xs, {"settings": vars(XS["paper"])}, {"base": coded})
