"""The page in Chromium, against the engine's own answers."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

pytest.importorskip("playwright", reason="the browser tests need playwright")

from playwright.sync_api import expect

from tests.browser.browsing import (
    COLORS,
    MEMBERS,
    Visit,
    chromium,
    shop_artifact,
    shop_dataset,
    shop_engine,
    shop_items,
    shop_shards,
)
from tests.serve.services import READ, WRITE, listening
from vizsla import where

PRICES = {item["id"]: item["price"] for item in shop_items()}
BRAND_OF = {item["id"]: item["brand"] for item in shop_items()}
SLOW = {"timeout_s": 300.0}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with shop_engine(tmp_path_factory.mktemp("shop")) as made:
        yield made


@pytest.fixture(scope="module")
def address(engine):
    with listening(engine, judged=shop_dataset(), **SLOW) as found:
        yield found


@pytest.fixture
def visit(browser, address):
    tab = Visit(browser, address)
    yield tab
    tab.close()


def test_search_answers_while_typing(visit, engine):
    page = visit.open()
    expect(page.locator("#query")).to_be_focused()
    expect(page.locator(".empty")).to_have_text("Type to search 60 items.")
    page.keyboard.type("red lamp")
    found = engine.page("red lamp", 10, highlight=True)
    visit.expect_ids(found.ids)
    first = page.locator(".hit").first
    assert first.locator(".title").inner_text().strip() == found[0].value("title")
    marked = {word.lower() for word in first.locator("mark").all_text_contents()}
    assert marked == {"red", "lamp"}
    assert f"{found[0].score:.3f}" in first.locator(".score").inner_text()
    expect(page.locator(".status")).to_contain_text(f"{found.total} found")


def test_completion_by_keyboard(visit, engine):
    page = visit.open()
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("white l")
    options = page.locator("#completions [role=option]")
    wanted = engine.complete("white l", 6)
    expect(options).to_have_text(wanted)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#query")).to_have_attribute("aria-activedescendant", "completion-1")
    page.keyboard.press("Enter")
    expect(page.locator("#query")).to_have_value(wanted[1])
    expect(page.locator("#completions")).to_be_hidden()
    visit.expect_ids(engine.page(wanted[1], 10).ids)
    page.keyboard.type(" ")
    page.keyboard.press("Backspace")
    expect(page.locator("#completions")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#completions")).to_be_hidden()
    expect(page.locator("#query")).to_have_value(wanted[1])  # a browser's own Escape would empty the box


def test_facets_are_chosen_together_and_free_text_is_not_offered(visit, engine):
    page = visit.ask("garden bench")
    assert page.locator("legend").all_text_contents() == ["brand", "color", "price"]
    counted = engine.page("garden bench", 10, facets=["brand"]).facets["brand"].to_dict()["values"]
    shown = visit.facet("brand").locator(".choice")
    pairs = [(row.locator(".name").inner_text(), row.locator(".count").inner_text()) for row in shown.all()]
    assert pairs == [(each["value"], str(each["count"])) for each in counted]
    page.get_by_label(re.compile("^Acorn")).check()
    visit.expect_ids(engine.page("garden bench", 10, where=where("brand=Acorn")).ids)
    page.get_by_label(re.compile("^Cedar")).check()
    visit.expect_ids(engine.page("garden bench", 10, where=where("brand in (Acorn, Cedar)")).ids)
    assert {BRAND_OF[id] for id in visit.ids()} == {"Acorn", "Cedar"}
    page.get_by_role("button", name="Remove the filter brand: Acorn").click()
    visit.expect_ids(engine.page("garden bench", 10, where=where("brand=Cedar")).ids)
    first = visit.facet("price").locator(".choice").first
    low, high = map(float, first.locator(".name").inner_text().split(" – "))
    first.locator("input").check()
    visit.settled()
    expect(page.get_by_role("button", name=re.compile("Remove the filter price"))).to_be_visible()
    both = where(f"brand=Cedar and price>={low} and price<{high}")
    visit.expect_ids(engine.page("garden bench", 10, where=both).ids)


def test_sort_groups_and_pages(visit, engine):
    page = visit.ask("garden")
    visit.expect_ids(engine.page("garden", 10).ids)
    page.get_by_role("button", name="Next").click()
    visit.expect_ids(engine.page("garden", 10, offset=10).ids)
    expect(page.locator(".pages span")).to_have_text("11 to 20")
    page.get_by_role("button", name="Previous").click()
    visit.expect_ids(engine.page("garden", 10).ids)
    page.select_option("#sort", "price:desc")
    visit.expect_ids(sorted(PRICES, key=lambda id: -PRICES[id])[:10])
    page.select_option("#sort", "")
    page.select_option("#group", "color")
    expect(page.locator(".hit")).to_have_count(len(COLORS))
    visit.expect_ids(engine.page("garden", 10, distinct="color").ids)
    assert page.locator(".hit .badge").all_text_contents() == ["+11 more"] * len(COLORS)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()


def test_a_misspelled_query_offers_the_right_one(visit, engine):
    page = visit.ask("grene gardne")  # the default member is a sum, which passes on what its parts say
    page.locator(".hint button").click()
    expect(page.locator("#query")).to_have_value("green garden")
    visit.expect_ids(engine.page("green garden", 10).ids)
    expect(page.locator(".hint")).to_have_count(0)


def test_nothing_found_offers_to_remove_the_filters(visit):
    page = visit.ask("red lamp")
    page.get_by_label(re.compile("^Acorn")).check()
    visit.settled()
    page.fill("#query", "zzzz")
    expect(page.locator(".empty")).to_contain_text("Nothing found for “zzzz” with these filters.")
    page.get_by_role("button", name="Remove all filters").click()
    expect(page.locator(".empty")).to_have_text("Nothing found for “zzzz”.")


def test_members_side_by_side(visit, engine):
    page = visit.open("compare")
    page.fill("#compare-query", "blue pot")
    page.keyboard.press("Enter")
    for members in (["best", "words"], ["best", "words", "clicks"]):
        if len(members) == 3:
            page.get_by_label("clicks").check()
        columns = page.locator(".side-by-side section")
        expect(columns).to_have_count(len(members))
        found = {name: engine.member(name)("blue pot", 10).ids[0] for name in members}
        for at, name in enumerate(members):
            expect(columns.nth(at).locator("code")).to_have_text(found[name])
            assert re.search(r"\d ms$", columns.nth(at).locator("h2").inner_text())
        both = {*found["best"]} & {*found["words"]}
        share = len(both) / len({*found["best"]} | {*found["words"]})
        said = f"best ∩ words: {len(both)} shared, Jaccard {share:.2f}"
        assert said in page.locator(".overlaps").inner_text()
        everything = [id for ids in found.values() for id in ids]
        alone = [id for id in everything if everything.count(id) == 1]
        assert page.locator(".hit.unique").count() == len(alone)
    columns.nth(2).locator(".title").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("by member clicks")


def test_why_keeps_the_focus_and_gives_it_back(visit, engine):
    page = visit.ask("black tree")
    opener = page.locator(".hit").nth(1).get_by_role("button", name=re.compile("^Why"))
    opener.click()
    drawer = page.get_by_role("dialog")
    why = engine.explain("black tree", visit.ids()[1])
    expect(drawer).to_contain_text(f"Score {why.score:.4f} by member best")
    expect(drawer.locator(".bars").first.locator("li")).to_have_count(len(why.parts))
    assert "the share of words" in drawer.inner_text() and "View(" not in drawer.inner_text()
    for key in ("Tab", "Shift+Tab"):
        for _ in range(12):
            page.keyboard.press(key)
            assert drawer.evaluate("panel => panel.contains(document.activeElement)")
    stages = drawer.locator(".waterfall .reason").all_text_contents()
    assert stages[0] == "queue and answer" and stages[-1] == "network and page"
    assert {"page", "encode: BagOfWords", "highlights", "facets and total"} <= {*stages}, stages
    assert any(stage.startswith("search: ") for stage in stages)
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(opener).to_be_focused()


def test_a_click_moves_a_hit_up(visit, engine):
    page = visit.ask("something for the balcony garden", using="clicks")
    before = visit.ids()
    chosen = before[6]
    page.clock.install()
    page.locator(".hit").nth(6).locator(".title").click()
    visit.said(f"Recorded: {chosen}")
    expect(page.locator(".hit code").first).to_have_text(chosen)
    expect(page.locator(".hit").first).to_contain_text("clicked")
    assert engine.member("clicks")("something for the balcony garden", 1).ids == [[chosen]]
    page.locator(".hit").first.get_by_role("button", name=re.compile("^Why")).click()
    expect(page.get_by_role("dialog")).to_contain_text("clicks for this query: 1")
    page.clock.fast_forward(5000)
    expect(page.locator(".toast")).to_be_empty()


def test_evaluation_shows_every_query_and_runs_again(visit, engine):
    from vizsla import compare

    page = visit.open("evaluate")
    page.get_by_role("button", name="Evaluate all members").click()
    expect(page.locator(".heat tbody tr")).to_have_count(len(COLORS))
    judged = compare({name: engine.member(name) for name in MEMBERS}, shop_dataset(), "test", ["nDCG@10", "R@10"])
    texts = shop_dataset().query_texts("test")[1]
    for row in page.locator(".heat tbody tr").all():
        at = texts.index(row.locator("th").inner_text())
        for name, cell in zip(MEMBERS, row.locator("td").all_text_contents(), strict=True):
            assert cell == f"{judged.evaluations[name].per_query['nDCG@10'][at]:.2f}"
    for row in page.locator("table").first.locator("tbody tr").all():
        cells = row.locator("td").all_text_contents()
        assert len(cells) == 5 and not any("–" in cell or "NaN" in cell for cell in cells)
    for plot in (0, 1):
        expect(page.locator(".chart").nth(plot).locator(".point")).to_have_count(len(MEMBERS))
    page.get_by_role("button", name="R@10").click()
    expect(page.get_by_role("heading", name="R@10 per query")).to_be_visible()
    with page.expect_response(lambda answer: answer.url.endswith("/v1/admin/evaluate")):
        page.get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", name="nDCG@10 per query")).to_be_visible()
    page.reload()
    expect(page.locator(".heat tbody tr")).to_have_count(len(COLORS))  # the last result is remembered


def test_rebuild_snapshot_and_rollback(visit, engine):
    page = visit.open("dashboard")
    tiles = page.locator(".tiles").inner_text()
    assert re.search(r"60\s+items", tiles) and re.search(rf"{engine.stats()['clicks']}\s+clicks", tiles)
    row = page.get_by_role("row", name=re.compile("^clicks "))
    expect(row.locator("td").nth(1)).not_to_have_text("–")
    row.get_by_role("button", name="Rebuild clicks").click()
    visit.said("clicks was rebuilt.")
    assert engine.history()[-1]["action"] == "rebuild" and engine.history()[-1]["detail"] == "clicks"
    page.get_by_role("button", name="Flush and merge").click()
    visit.said("Segments were merged where that was due.")
    expect(page.locator("section", has_text="Segments").locator(".bars li")).to_have_count(
        len(engine.stats()["segments"])
    )
    page.fill("#snapshot", "before")
    page.get_by_role("button", name="Keep a snapshot").click()
    visit.said("Snapshot before was kept.")
    engine.set_default("words")
    page.get_by_role("button", name="Roll back to before").click()
    visit.said("Rolled back to before.")
    assert engine.generation().default == "best"
    page.fill("#snapshot", "before")
    page.get_by_role("button", name="Keep a snapshot").click()
    visit.said("'before'")  # a name that is taken is an error, and is said
    visit.forgive("status of 4")


def test_live_charts_show_new_requests(visit):
    page = visit.open("dashboard")
    chart = page.get_by_role("img", name=re.compile("^Search latency"))
    expect(chart).to_be_visible()
    for _ in range(100):
        page.request.post(f"{visit.address}/v1/search", data={"query": "red"})
        if "none yet" not in (chart.get_attribute("aria-label") or ""):
            break
        page.wait_for_timeout(200)
    assert re.search(r"p50 [\d.]+ ms, p99 [\d.]+ ms", chart.get_attribute("aria-label") or "")


def test_tokens_are_asked_for_and_wrong_ones_refused(browser, engine):
    with listening(engine, read_token=READ, write_token=WRITE, **SLOW) as address:
        visit = Visit(browser, address)
        page = visit.page
        page.goto(address)
        for token, said in (("wrong-token-0123456789", "The service did not accept this token."), (READ, None)):
            page.fill("#token", token)
            page.keyboard.press("Enter")
            if said:
                expect(page.get_by_role("alert")).to_have_text(said)
        visit.ask("red lamp")
        page = visit.open("dashboard")
        expect(page.get_by_role("alert")).to_contain_text("A token is needed")
        page.get_by_role("button", name="Token").click()
        page.fill("#token", WRITE)
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Keep a snapshot")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        assert page.evaluate("() => document.cookie + Object.keys(localStorage)") == ""
        visit.forgive("401")
        visit.close()


def test_a_service_that_stops_is_said_and_can_be_tried_again(browser, engine):
    with listening(engine, **SLOW) as address:
        visit = Visit(browser, address)
        page = visit.ask("red lamp")
    page.fill("#query", "blue pot")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer.")
    with listening(engine, port=urlsplit(address).port or 0, **SLOW):
        page.get_by_role("button", name="Try again").click()
        visit.expect_ids(engine.page("blue pot", 10).ids)
        expect(page.get_by_role("alert")).to_have_count(0)
        visit.forgive("ERR_CONNECTION_REFUSED")
        visit.close()


FOCUSED = (
    "() => { const at = document.activeElement; return at === document.body ? '' : at.ariaLabel || at.innerText; }"
)


def focus_by_tab(page, label):
    """Press Tab until the element with this name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if re.search(label, page.evaluate(FOCUSED)):
            return
    raise AssertionError(f"{label} cannot be reached by the keyboard")


def test_everything_can_be_reached_by_keyboard(visit, engine):
    page = visit.open()
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("green bench")
    page.keyboard.press("Enter")
    visit.expect_ids(engine.page("green bench", 10).ids)
    focus_by_tab(page, "^Why")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Score")
    page.keyboard.press("Escape")
    focus_by_tab(page, "^Next")
    page.keyboard.press("Enter")
    visit.expect_ids(engine.page("green bench", 10, offset=10).ids)
    visit.open("compare")
    focus_by_tab(page, "^Dashboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Keep a snapshot")).to_be_visible()
    page.reload()
    expect(page.locator("nav")).to_be_visible()
    focus_by_tab(page, "^Skip to content")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page.get_by_role("button", name="Keep a snapshot")).to_be_visible()  # still the same view


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_no_view_has_serious_barriers(browser, address, color_scheme):
    visit = Visit(browser, address, color_scheme=color_scheme)
    page = visit.open()
    assert visit.barriers() == []
    visit.ask("grene gardne", using="words")
    assert visit.barriers() == []
    page.get_by_label(re.compile("^Acorn")).check()
    page.fill("#query", "white l")
    expect(page.locator("#completions")).to_be_visible()
    visit.settled()
    assert visit.barriers() == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^Why")).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Score")
    assert visit.barriers() == []
    page.keyboard.press("Escape")
    visit.open("compare")
    page.fill("#compare-query", "white lamp")
    page.keyboard.press("Enter")
    expect(page.locator(".side-by-side .hit").first).to_be_visible()
    assert visit.barriers() == []
    visit.open("evaluate")
    page.get_by_role("button", name=re.compile("Evaluate all members|Run again")).click()
    expect(page.locator(".heat")).to_be_visible()
    assert visit.barriers() == []
    visit.open("dashboard")
    page.locator("details summary").click()
    assert visit.barriers() == []
    visit.close()


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_views_fit_a_phone(browser, address, color_scheme):
    visit = Visit(browser, address, width=380, color_scheme=color_scheme)
    visit.ask("garden lamp")
    page = visit.page
    back = [
        int(part) for part in re.findall(r"\d+", page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    ]
    assert (sum(back) < 150) == (color_scheme == "dark")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
    visit.open("compare")
    page.fill("#compare-query", "garden lamp")
    page.keyboard.press("Enter")
    expect(page.locator(".side-by-side .hit").first).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
    visit.open("evaluate")
    page.get_by_role("button", name=re.compile("Evaluate all members|Run again")).click()
    expect(page.locator(".heat")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
    visit.open("dashboard")
    expect(page.get_by_role("button", name="Keep a snapshot")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
    visit.close()


def test_an_artifact_offers_nothing_that_needs_an_engine(browser, tmp_path):
    with listening(shop_artifact(tmp_path), **SLOW) as address:
        visit = Visit(browser, address)
        page = visit.ask("red lamp")
        assert page.locator("nav a").all_text_contents() == ["Search", "Dashboard"]
        assert "read-only" in page.locator(".served").inner_text()
        page.locator(".hit .title").first.click()  # no click is recorded: it explains instead
        expect(page.get_by_role("dialog")).to_contain_text("Score")
        page.keyboard.press("Escape")
        visit.open("dashboard")
        expect(page.locator("table")).to_be_visible()
        assert page.get_by_role("button", name=re.compile("Rebuild|snapshot|Roll back")).count() == 0
        assert "clicks" not in page.locator(".tiles").inner_text()
        visit.close()


def test_a_collection_of_shards_offers_what_it_can_answer(browser, tmp_path):
    with listening(shop_shards(tmp_path), **SLOW) as address:
        visit = Visit(browser, address)
        page = visit.ask("red lamp", using="mild")
        assert page.locator("nav a").all_text_contents() == ["Search", "Dashboard"]
        assert "red" in page.locator(".hit").first.inner_text()
        visit.close()


def test_the_policy_refuses_inline_code_and_other_origins(visit):
    page = visit.open()
    page.evaluate(
        "() => { const added = document.createElement('script'); added.textContent = 'window.ran = true';"
        " document.body.append(added); }"
    )
    assert page.evaluate("() => window.ran") is None
    assert page.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    visit.forgive("Content Security Policy")  # and so the watch of all other tests would have seen it
    visit.foreign.clear()
