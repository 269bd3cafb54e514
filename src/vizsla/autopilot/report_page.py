"""report.html: one page without scripts or network, of a learned search or of a comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from vizsla.autopilot.svg_charts import Point, cost_chart, gain_chart
from vizsla.errors import InputError

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root{color-scheme:light dark;--ink:#1c2026;--soft:#5b6470;--line:#dfe3e8;--card:#fff;--page:#f5f6f8;--blue:#2563c9;
--good:#17803d;--bad:#b42318}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b1;--line:#333a44;--card:#1b2027;--page:#12161b;
--blue:#7cb0ff;--good:#5ccf85;--bad:#ff8f80}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:980px;margin:0 auto;padding:24px 16px 64px}h1{font-size:24px;margin:0 0 4px}
h2{font-size:18px;margin:0 0 8px}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 20px;margin-top:16px}
p{margin:6px 0}.soft{color:var(--soft)}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td{white-space:pre-line}tr.chosen td{font-weight:600}
.gain{color:var(--good)}.loss{color:var(--bad)}code,pre{font:13px/1.45 ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--page);border-radius:6px;padding:10px}
.facts{display:flex;flex-wrap:wrap;gap:8px 28px}.facts b{display:block;font-size:22px}
svg{width:100%;min-width:520px;height:auto;display:block}.wide table{min-width:520px}ul{margin:6px 0;padding-left:20px}
.grid{stroke:var(--line)}.tick,.axis,.name{fill:var(--soft);font-size:11px}
.axis{font-size:12px}.front{fill:none;stroke:var(--blue);stroke-width:1.5;stroke-dasharray:4 3}
.dot{fill:var(--soft);opacity:.75}.dot.best{fill:var(--blue);opacity:1}.dot.chosen{fill:var(--good);opacity:1}
.name.more{display:none}.point:hover .name.more{display:inline}.point:hover .name{fill:var(--ink);font-weight:600}
.zero{stroke:var(--soft);stroke-dasharray:2 3}g.gain line,g.even line,g.loss line{stroke-width:3;stroke:currentColor}
g.gain circle,g.even circle,g.loss circle{fill:currentColor}g.even{color:var(--soft)}
.tabs>input{position:absolute;opacity:0}.tabs>label{display:inline-block;padding:4px 12px;border:1px solid var(--line);
border-radius:16px;margin:0 6px 10px 0;cursor:pointer}
.tabs>input:checked+label{background:var(--blue);color:var(--card)}
.tabs>input:focus-visible+label{outline:2px solid var(--ink)}.tabs>div{display:none}
.tabs>#t0:checked~.p0,.tabs>#t1:checked~.p1,.tabs>#t2:checked~.p2{display:block}
@media (max-width:640px){.stacked table{min-width:0}.stacked thead{display:none}.stacked td{display:block;border:0}
.stacked tr{display:block;border-bottom:1px solid var(--line);padding:6px 0}.stacked td{overflow-wrap:anywhere}
.stacked td::before{content:attr(data-of);display:block;color:var(--soft);font-weight:600}}
"""

_DIGIT, _CODE = re.compile(r"\d"), re.compile("`([^`]+)`")

COSTS = (
    ("ms", "ms per query (95th percentile)"),
    ("bytes_per_item", "bytes per item"),
    ("calls", "model calls per query"),
)


def learning_page(report: Mapping[str, Any]) -> str:
    """Return the page of a learned search, from what `LearningReport.to_dict` gave."""
    best, split, data = report["measured"][0], report["split"], report["data"]
    facts = [
        (f"{best['quality']:.3f}", f"nDCG@10 of the winner ({best['low']:.3f} to {best['high']:.3f})"),
        (f"{report['shrinkage']:+.3f}", "lost from choosing to reporting"),
        (f"{split['report_searches']:,}", "searches that nothing was chosen by"),
        (f"{len(report['trials']):,}", f"trials in {report['seconds']:.0f} s"),
    ]
    figures = "".join(f"<p><b>{escape(a)}</b>{escape(b)}</p>" for a, b in facts)
    said = "".join(f"<p>{escape(each)}</p>" for each in (report["summary"], *report["notes"]))
    parts = [
        _section("", f'<div class="facts">{figures}</div>{said}'),
        _section("Quality and cost", _fronts(_finalists(report))),
        _section("On the report split", _systems(report["measured"])),
        _section("Kinds of searches: gain over the baseline", _slices(report["slices"])),
        _section("Where it loses most", _regressions(report["regressions"])),
        *([_section("What would gain more", _more(report))] if report.get("advice") else []),
        _section("What was tried", _trials(report["trials"])),
        _section("The data", "".join(f"<p>{escape(line)}</p>" for line in data.get("lines", []))),
        _section("Build the winner again", _rebuild(report)),
    ]  # fmt: skip
    return _page(
        "A learned search", f"{data['items']:,} items, {data['clicks']:,} clicks, split by {split['by']}", parts
    )


def comparison_page(result: Mapping[str, Any]) -> str:
    """Return the page of what `vizsla compare --json` wrote: `{name: {"measures": …, "cost": …}}`."""
    try:
        rows = [_compared(name, one) for name, one in result.items()]
        measures = list(next(iter(result.values()))["measures"])
    except (AttributeError, KeyError, TypeError, StopIteration) as error:
        raise InputError("A comparison must be what `vizsla compare --json` writes. Got something else.") from error
    header = ["system", *measures, "ms p50", "bytes", "calls"]
    body = [
        [name, *(f"{one['measures'][measure]:.3f}" for measure in measures),
         *(_number(one["cost"].get(cost)) for cost in ("ms_p50", "bytes", "model_calls"))]
        for name, one in result.items()
    ]  # fmt: skip
    costs = (("ms", "ms per query (median)"), ("bytes", "bytes"), ("calls", "model calls per query"))
    parts = [_section("Quality and cost", _fronts(rows, costs)), _section("Systems", _table(header, body))]
    return _page("A comparison", f"{len(rows)} systems, charts by {measures[0]}", parts)


def gains_page(
    title: str,
    subtitle: str,
    said: str,
    table: tuple[Sequence[str], Sequence[Sequence[str]]],
    gains: Sequence[tuple[str, float, float, float]],
) -> str:
    """Return a page of gains: a sentence, a chart with intervals, and a table."""
    chart = gain_chart(gains) if gains else ""
    return _page(title, subtitle, [_section("", f"<p>{escape(said)}</p>{chart}"), _section("Table", _table(*table))])


def page_of_file(path: str | Path) -> str:
    """Return the page of a JSON file: a report of `learn`, or a result of `compare`."""
    try:
        known = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"A report must be JSON. Got {path}: {error}.") from error
    if isinstance(known, dict) and {"measured", "trials", "slices"} <= known.keys():
        return learning_page(known)
    return comparison_page(known)


def _page(title: str, subtitle: str, parts: Sequence[str]) -> str:
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
    )
    body = f'<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>{"".join(parts)}'
    return f"{head}<body><main>{body}</main></body></html>\n"


def _section(title: str, body: str) -> str:
    return f"<section>{f'<h2>{escape(title)}</h2>' if title else ''}{body}</section>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, chosen: int = -1, stacked: bool = False) -> str:
    """Return a table whose columns after the first are numbers, unless they are texts.

    On a narrow screen, the cells of a stacked one lie below each other, and others are moved sideways.
    """
    columns = [[row[at] for row in rows] for at in range(len(header))]
    texts = {
        at
        for at, column in enumerate(columns)
        if at == 0 or any(len(one) > 24 for one in column) or not any(map(_DIGIT.search, column))
    }

    def cells(kind: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{kind}{'' if at in texts else ' class=n'}{_label(header[at]) if stacked else ''}>{escape(each)}</{kind}>"
            for at, each in enumerate(row)
        )

    body = "".join(
        f"<tr{' class=chosen' if at == chosen else ''}>{cells('td', row)}</tr>" for at, row in enumerate(rows)
    )
    kind = "wide stacked" if stacked else "wide"
    head = f"<thead><tr>{cells('th', header)}</tr></thead>"
    return f'<div class="{kind}"><table>{head}<tbody>{body}</tbody></table></div>'


def _label(column: str) -> str:
    return f' data-of="{escape(column)}"'


def _finalists(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {**one, "name": _named(one["expression"], report["winner"]), "chosen": one["expression"] == report["winner"]}
        for one in report["finalists"]
    ]


def _named(expression: str, winner: str) -> str:
    """Return what a finalist is called in a chart: a sum that won is "learned", as in the table."""
    return "learned" if expression == winner and " " in expression else expression


def _compared(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    cost = one["cost"]
    return {
        "name": name, "quality": next(iter(one["measures"].values())), "chosen": False, "ms": cost.get("ms_p50"),
        "bytes": cost.get("bytes"), "calls": cost.get("model_calls"),
    }  # fmt: skip


def _fronts(rows: Sequence[Mapping[str, Any]], costs: Sequence[tuple[str, str]] = COSTS) -> str:
    """Return a chart for each cost that differs, behind tabs that need no script."""
    heads: list[str] = []
    panels: list[str] = []
    for key, name in costs:
        points = [Point(one["name"], one[key], one["quality"], one["chosen"]) for one in rows if one.get(key)]
        if len(points) < 2:
            continue
        at = len(panels)
        checked = "" if at else " checked"
        heads.append(f'<input type="radio" name="front" id="t{at}"{checked}><label for="t{at}">{escape(name)}</label>')
        panels.append(f'<div class="p{at} wide">{cost_chart(points, cost=name, quality="quality")}</div>')
    if not panels:
        return '<p class="soft">No cost is known of two systems.</p>'
    note = '<p class="soft">The line joins what no other system beats in both. Point at a mark for its name.</p>'
    return f'<div class="tabs">{"".join(heads)}{"".join(panels)}</div>{note}'


def _systems(measured: Sequence[Mapping[str, Any]]) -> str:
    header = [
        "system",
        "nDCG@10",
        "95 % interval",
        "when choosing",
        "against the winner",
        "ms p95",
        "bytes/item",
        "calls",
    ]
    rows: list[list[str]] = []
    for one in measured:
        verdict = "better" if one["behind_high"] < 0 else "worse" if one["behind_low"] > 0 else "equal"
        chosen = "–" if one["chosen"] is None else f"{one['chosen']:.3f}"
        rows.append([
            one["name"], f"{one['quality']:.3f}", f"{one['low']:.3f} to {one['high']:.3f}", chosen,
            f"{-one['behind']:+.3f} {verdict}" if rows else "–", *(_number(one[key]) for key, _ in COSTS),
        ])  # fmt: skip
    said = '<p class="soft">Equal: the 95 % interval of the difference holds 0. Searches of one text count once.</p>'
    return _table(header, rows, chosen=0) + said


def _slices(slices: Sequence[Mapping[str, Any]]) -> str:
    rows = [(f"{one['slice']} ({one['searches']:,})", one["gain"], one["low"], one["high"]) for one in slices]
    return f'<div class="wide">{gain_chart(rows)}</div>' if rows else ""


def _regressions(regressions: Sequence[Mapping[str, Any]]) -> str:
    if not regressions:
        return "<p>On no search.</p>"
    header = ["query", "clicked", "the winner finds", "the baseline finds"]
    columns = ("wanted", "winner", "baseline")
    rows = [[f"{one['query']} ({one['kind']})", *("\n".join(one[key]) or "nothing" for key in columns)]
            for one in regressions]  # fmt: skip
    return _table(header, rows, stacked=True)


def _more(report: Mapping[str, Any]) -> str:
    marked = (_CODE.sub(r"<code>\1</code>", escape(each)) for each in report["advice"])
    said = "".join(f"<li>{each}</li>" for each in marked)
    points = [Point(f"{one['quality']:.3f}", one["clicks"], one["quality"]) for one in report.get("curve") or []]
    name = "clicks that the best part has learned from"
    chart = f'<div class="wide">{cost_chart(points, cost=name, quality="quality")}</div>' if points else ""
    return f"<ul>{said}</ul>{chart}"


def _trials(trials: Sequence[Mapping[str, Any]]) -> str:
    header = ["candidate", "family", "clicks", "searches", "nDCG@10", "ms p95", "bytes/item", "s", "over the limit"]
    rows = [
        [one["name"], one["family"], f"{one['clicks']:,}", f"{one['searches']:,}", f"{one['quality']:.3f}",
         _number(one["ms"]), _number(one["bytes_per_item"]), f"{one['seconds']:.1f}", one["refused"]]
        for one in trials
    ]  # fmt: skip
    return _table(header, rows)


def _rebuild(report: Mapping[str, Any]) -> str:
    recipes = f"recipes = {json.dumps(report['members'], indent=1)}"
    python = [f"expression = {report['winner']!r}", recipes]
    shell = "vizsla learn ITEMS --clicks CLICKS -o OUT --replay lock.json"
    lock = report.get("lock") or {}
    said = f"Data {lock.get('data', '–')}, seed {lock.get('seed', '–')}, digest {lock.get('digest', '–')}."
    return f"<pre>{escape(shell)}</pre><p class='soft'>{escape(said)}</p><pre>{escape(chr(10).join(python))}</pre>"


def _number(value: float | None) -> str:
    if value is None or value != value:
        return "–"
    return "0" if not value else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
