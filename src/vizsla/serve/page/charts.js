// Charts as SVG: every mark can be focused or read by a screen reader, and colors come from the style sheet.

import { html, useState } from "./vendor-htm-preact.js";
import { count, number } from "./shared.js";

const span = (values) => {
  const known = values.filter((value) => Number.isFinite(value));
  const low = Math.min(...known);
  const high = Math.max(...known);
  return high > low ? [low, high] : [low - 0.5, high + 0.5];
};

/** Shares of a score as bars: the largest first, those below a share of the total folded into one row. */
export function Bars({ parts, total, fold = 0.05, digits = 3 }) {
  const sorted = [...parts].sort((a, b) => Math.abs(b.score) - Math.abs(a.score));
  const floor = fold * Math.max(Math.abs(total), 1e-12);
  const shown = sorted.filter((part, at) => at < 3 || Math.abs(part.score) >= floor);
  const rest = sorted.slice(shown.length);
  if (rest.length > 1) {
    shown.push({ reason: `${rest.length} others`, score: rest.reduce((sum, part) => sum + part.score, 0) });
  } else {
    shown.push(...rest);
  }
  const most = Math.max(...shown.map((part) => Math.abs(part.score)), 1e-12);
  return html`<ul class="bars">${shown.map((part) => html`<li>
    <span class="reason">${part.reason}</span>
    <span class="value">${digits ? number(part.score, digits) : count(part.score)}</span>
    <svg class=${part.score < 0 ? "bar negative" : "bar"} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect width=${(100 * Math.abs(part.score)) / most} height="6" rx="1" /></svg>
  </li>`)}</ul>`;
}

/** Stages of an answer on one line of time, in milliseconds; those within another stage are indented. */
export function Waterfall({ stages }) {
  const total = Math.max(...stages.map((stage) => stage.start + stage.ms), 1e-6);
  return html`<ul class="bars waterfall">${stages.map((stage) => html`<li>
    <span class=${`reason within-${Math.min(stage.depth, 4)}`}>${stage.name}</span><span class="value">${stage.ms.toFixed(2)} ms</span>
    <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect x=${(100 * stage.start) / total} width=${Math.max(0.5, (100 * stage.ms) / total)} height="6" rx="1" /></svg></li>`)}</ul>`;
}

/** Points with names: quality against cost. The axis of costs is logarithmic. */
export function Scatter({ points, x, y, xLabel, yLabel }) {
  const known = points.filter((point) => Number.isFinite(x(point)) && x(point) > 0 && Number.isFinite(y(point)));
  if (!known.length) return html`<p class="empty">No figures.</p>`;
  const [low, high] = span(known.map((point) => Math.log10(x(point))));
  const [bottom, top] = span(known.map(y));
  const left = (point) => 50 + (300 * (Math.log10(x(point)) - low)) / (high - low);
  const down = (point) => 170 - (140 * (y(point) - bottom)) / (top - bottom);
  return html`<figure class="chart"><svg viewBox="0 0 420 215" role="img" aria-label=${`${yLabel} against ${xLabel}`}>
    <path class="axis" d="M40 15V185H410" />
    <text x="225" y="208" class="label">${xLabel}</text>
    <text x="14" y="100" class="label" transform="rotate(-90 14 100)">${yLabel}</text>
    ${[bottom, top].map((value) => html`<text x="36" y=${174 - (140 * (value - bottom)) / (top - bottom)} class="tick end">${number(value, 2)}</text>`)}
    ${[low, high].map((value) => html`<text x=${50 + (300 * (value - low)) / (high - low)} y="197" class="tick">${Number((10 ** value).toPrecision(2))}</text>`)}
    ${known.map((point) => html`<g tabindex="0" class="point" role="img" aria-label=${`${point.name}: ${yLabel} ${number(y(point))}, ${xLabel} ${Number(x(point).toPrecision(3))}`}>
      <title>${point.name}: ${number(y(point))} at ${Number(x(point).toPrecision(3))}</title>
      <circle cx=${left(point)} cy=${down(point)} r="5" />
      <text x=${left(point) + 8} y=${down(point) + 4} class="tick start">${point.name}</text></g>`)}
  </svg></figure>`;
}

/** One or two lines over time, the newest at the right; the table beside it is for screen readers. */
export function Lines({ series, label, unit = "" }) {
  const values = series.flatMap((each) => each.values).filter((value) => value !== null);
  const most = Math.max(...values, 1e-9);
  const length = Math.max(...series.map((each) => each.values.length), 2);
  const path = (points) => {
    let drawn = "";
    points.forEach((value, at) => {
      if (value === null) return;
      const left = (300 * (at + length - points.length)) / (length - 1);
      drawn += `${drawn && points[at - 1] !== null ? "L" : "M"}${left.toFixed(1)} ${(62 - (56 * value) / most).toFixed(1)}`;
    });
    return drawn;
  };
  const newest = (points) => points.filter((value) => value !== null).slice(-1)[0];
  const known = series.filter((each) => newest(each.values) !== undefined);
  const said = known.length ? known.map((each) => `${each.name} ${number(newest(each.values), 1)}${unit}`) : ["none yet"];
  return html`<figure class="chart">
    <figcaption>${label}: <strong>${said.join(", ")}</strong>${values.length > 1 && html` <span>(peak ${number(Math.max(...values), 1)}${unit})</span>`}</figcaption>
    <svg viewBox="0 0 300 66" preserveAspectRatio="none" role="img" aria-label=${`${label}, newest: ${said.join(", ")}`}>
      <path class="axis" d="M0 64H300" />
      ${series.map((each, at) => html`<path class=${`line line-${at}`} d=${path(each.values)} />`)}
    </svg></figure>`;
}

/** Queries × members; a cell's color is its value, its text says it, too. */
export function HeatMap({ queries, members, value, step = 50 }) {
  const [max, setMax] = useState(step);
  const level = (each) => (each === null || each === undefined ? "none" : Math.min(9, Math.floor(each * 10)));
  return html`<div class="scroll"><table class="heat"><thead><tr><th scope="col">query</th>
    ${members.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${queries.slice(0, max).map((query) => html`<tr><th scope="row" title=${query.text}>${query.text}</th>
      ${members.map((name) => html`<td class=${`level-${level(value(name, query))}`}>${number(value(name, query), 2)}</td>`)}</tr>`)}
    </tbody></table></div>${queries.length > max && html`<p><button type="button" class="quiet" onClick=${() => setMax(max + 4 * step)}>${count(queries.length - max)} more queries</button></p>`}`;
}
