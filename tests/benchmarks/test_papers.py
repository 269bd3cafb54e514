"""The page of the papers is what its command writes, and cites figures that stand in the pages it names."""

from __future__ import annotations

import re

from benchmarks.paper_elements import ELEMENTS, STATES
from benchmarks.papers import CLAIM_VERDICTS, CLAIMS, FINDINGS, PAGE, RESULTS, TITLES, VERDICTS, page

NUMBER = re.compile(r"(?<![\w.])\.\d{3}(?!\d)")


def test_the_page_is_what_the_command_writes():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m benchmarks.papers --write"


def test_every_figure_stands_in_the_page_that_is_named():
    for each in FINDINGS:
        assert each.paper in TITLES and each.verdict in VERDICTS and (each.why or each.page)
        assert bool(each.ours) == bool(each.page) == (each.verdict in VERDICTS[:3]), each.what
        if each.page:
            text = (RESULTS / f"{each.page}.md").read_text(encoding="utf-8")
            missing = [figure for figure in NUMBER.findall(each.ours) if figure not in text]
            assert missing == [], f"{each.paper}, {each.what}"


def test_every_claim_has_a_verdict_and_figures_of_a_page():
    for each in CLAIMS:
        assert each.verdict in CLAIM_VERDICTS and bool(each.page) == (each.verdict != "not measured"), each.what
        if each.page:
            text = (RESULTS / f"{each.page}.md").read_text(encoding="utf-8")
            missing = [figure for figure in NUMBER.findall(each.ours) if figure not in text]
            assert missing == [] or set(missing) <= set(NUMBER.findall((RESULTS / "pefa.md").read_text())), each.what
    assert {each.paper for each in CLAIMS} == set(TITLES)


def test_every_missing_element_has_a_state_and_a_reason():
    assert {each.paper for each in ELEMENTS} == set(TITLES)
    assert all(each.state in STATES and each.why for each in ELEMENTS)
    assert len({(each.paper, each.what) for each in ELEMENTS}) == len(ELEMENTS)
