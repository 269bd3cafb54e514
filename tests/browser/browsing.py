"""A small shop to browse, and Chromium with a watch on what the page does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

import vizsla
from vizsla import Dataset, Engine, Recipe
from vizsla.scale import ShardedEngine

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
OPTIONS += ("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage")
PATIENCE_MS = 60_000
"""How long a condition is waited for: only a page that never fulfills it pays for this."""
BRANDS, KINDS = ("Acorn", "Birch", "Cedar"), ("tree", "pot", "lamp", "bench")
COLORS = ("green", "red", "blue", "white", "black")
MEMBERS: dict[str, Any] = {
    "words": Recipe.of("typo_tolerant", base=Recipe.of("bm25")),
    "clicks": Recipe.of("pefa", base=Recipe.of("bm25")),
    "best": "0.5*words.normalized() + 0.5*clicks.normalized()",
}


def shop_items() -> list[dict[str, Any]]:
    """Return 60 things for a garden: two facets, a number, and a note that is different for each."""
    items = []
    for at in range(60):
        kind, color, brand = KINDS[at % 4], COLORS[at % 5], BRANDS[at % 3]
        note = f"stored in row {at} of the second hall, near the window"
        text = f"a {color} garden {kind} by {brand}" + " for the garden" * (at % 7)
        known = {"brand": brand, "color": color, "price": 5 + at, "note": note}
        items.append({"id": f"{kind}-{at}", "title": f"{color} {kind} {at}", "text": text, **known})
    return items


def shop_dataset() -> Dataset:
    """Return the shop with judged queries."""
    queries = {f"q{at}": f"{color} {KINDS[at % 4]}" for at, color in enumerate(COLORS)}
    judged = {
        id: {item["id"]: 1 for item in shop_items() if set(text.split()) <= set(item["title"].split())}
        for id, text in queries.items()
    }
    return Dataset.of(shop_items(), queries=queries, qrels=judged, keep_texts=True)


def shop_engine(folder: Path) -> Engine:
    """Return an engine over the shop whose member `clicks` has learned from some clicks."""
    engine = Engine.create(folder / "shop.engine", members=MEMBERS, default="best")
    engine.add(shop_items())
    engine.clicks([(item["title"], item["id"], 1.0) for item in shop_items()])
    engine.maintain()
    engine.rebuild()
    return engine


def shop_artifact(folder: Path) -> Path:
    """Return an artifact over the shop."""
    vizsla.bm25(shop_dataset()).save(folder / "shop.viz")
    return folder / "shop.viz"


def shop_shards(folder: Path) -> Path:
    """Return a collection of two shards over the shop, with two members."""
    members = {"words": Recipe.of("bm25"), "mild": Recipe.of("bm25", k1=0.5)}
    with ShardedEngine.create(folder / "shards", 2, members=members, default="words") as made:
        made.add(shop_items())
    return folder / "shards"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium; where there is none, the test is skipped, which fails in CI."""
    if not CHROMIUM:
        pytest.skip("Chromium is not installed")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS), timeout=PATIENCE_MS)
        yield browser
        browser.close()


class Visit:
    """One tab with a clean session, which notes errors and requests that leave the origin.

    Parameters
    ----------
    browser : Browser
        Chromium.
    address : str
        Where the service listens.
    options : width, color_scheme
        Of the window.
    """

    def __init__(self, browser: Browser, address: str, *, width: int = 1200, color_scheme: Any = "light"):
        self.address = address
        window: Any = {"width": width, "height": 850}
        self.context: BrowserContext = browser.new_context(
            viewport=window, color_scheme=color_scheme, reduced_motion="reduce"
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type != "log" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if not request.url.startswith(self.address):
            self.foreign.append(request.url)

    def close(self) -> None:
        """Close the tab; raise if the page did what it must not do."""
        self.context.close()
        assert self.errors == [] and self.foreign == []

    def forgive(self, said: str) -> None:
        """Leave out the errors that a test has caused, and raise if there were none."""
        kept = [error for error in self.errors if said not in error]
        assert len(kept) < len(self.errors), (said, self.errors)
        self.errors = kept

    def open(self, view: str = "search") -> Page:
        """Show a view."""
        self.page.goto(f"{self.address}/#/{view}")
        expect(self.page.locator("nav a[aria-current=page]")).to_have_text(view.capitalize())
        return self.page

    def ask(self, query: str, *, using: str = "") -> Page:
        """Show the answer to a query, asked by typing."""
        self.open()
        if using:
            self.page.select_option("#member", using)
        self.page.fill("#query", query)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".hit").first).to_be_visible()
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until the newest answer is shown."""
        expect(self.page.locator(".status")).to_contain_text("found")
        expect(self.page.locator("section.stale")).to_have_count(0)

    def ids(self) -> list[str]:
        """Return the ids of the hits as shown."""
        return self.page.locator(".hits .hit code").all_text_contents()

    def expect_ids(self, ids: list[str]) -> None:
        """Wait until these hits are shown, in this order."""
        expect(self.page.locator(".hits .hit code")).to_have_text(ids)

    def facet(self, field: str) -> Locator:
        """Return the box of a facet."""
        legend = self.page.locator("legend", has_text=field)
        return self.page.locator("fieldset.facet").filter(has=legend)

    def said(self, text: str) -> None:
        """Wait until the page says something at its foot."""
        expect(self.page.locator(".toast")).to_contain_text(text)

    def barriers(self) -> list[str]:
        """Return the serious and critical findings of axe-core, with the elements."""
        if not self.page.evaluate("() => Boolean(window.axe)"):
            self.page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
        found = self.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        return [
            f"{each['id']}: {node['target']} {node['failureSummary']}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]
