// Why a hit has its score: shares as bars, the whole tree, and how long each stage took.

import { html, useEffect, useState } from "./vendor-htm-preact.js";
import { post } from "./api.js";
import { Bars, Waterfall } from "./charts.js";
import { Drawer, Failure, Loading, number } from "./shared.js";

function Tree({ part }) {
  if (!part.parts.length) return html`<li><b>${number(part.score, 4)}</b> ${part.reason}</li>`;
  return html`<li><details open=${part.parts.length < 6}><summary><b>${number(part.score, 4)}</b> ${part.reason}</summary>
    <ul>${part.parts.map((each) => html`<${Tree} part=${each} />`)}</ul></details></li>`;
}

/** The level of the tree that has several shares: a single share only names what is below. */
function shares(why) {
  let part = why;
  while (part.parts.length === 1) [part] = part.parts;
  return part.parts.length ? part.parts : [part];
}

/** What the service noted, after the time in its queue and before that on the way; times are from the beginning. */
export function stagesOf(answer) {
  const noted = (answer.stages || []).map((each) => ({ name: each.name, start: each.start_ms, ms: each.ms, depth: each.depth }));
  const search = noted.length ? Math.max(...noted.map((each) => each.start + each.ms)) : Math.min(answer.cost ? answer.cost.ms : 0, answer.took_ms);
  if (!noted.length) noted.push({ name: "search", start: 0, ms: search, depth: 0 });
  const stages = noted.map((each) => ({ ...each, start: each.start + Math.max(0, answer.took_ms - search) }));
  stages.unshift({ name: "queue and answer", start: 0, ms: Math.max(0, answer.took_ms - search), depth: 0 });
  if (answer.total_ms !== undefined) {
    stages.push({ name: "network and page", start: answer.took_ms, ms: Math.max(0, answer.total_ms - answer.took_ms), depth: 0 });
  }
  return stages;
}

export function WhyDrawer({ hit, answer, onClose }) {
  const [why, setWhy] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const abort = new AbortController();
    const body = { query: answer.asked.query, using: answer.asked.using || answer.member, item: hit.id };
    post("/v1/explain", body, abort.signal).then(setWhy, (error) => error.name !== "AbortError" && setProblem(error));
    return () => abort.abort();
  }, [hit.id]);
  return html`<${Drawer} title=${`Why ${hit.id}?`} onClose=${onClose}>
    ${problem && html`<${Failure} problem=${problem} />`}
    ${!why && !problem && html`<${Loading} what="Explaining" />`}
    ${why && html`<p>Score <b>${number(why.score, 4)}</b> by member <b>${answer.member}</b>: ${why.reason}</p>
      <${Bars} parts=${shares(why)} total=${why.score} />
      <h3>Everything</h3><ul class="tree"><${Tree} part=${why} /></ul>`}
    ${answer.took_ms !== undefined && html`<h3>Time of this answer</h3><${Waterfall} stages=${stagesOf(answer)} />`}
    ${answer.cost && html`<p class="meta">${Object.entries(answer.cost).filter(([name, value]) => name !== "ms" && value)
      .map(([name, value]) => html`<span>${name}: ${String(value)}</span>`)}</p>`}
  <//>`;
}
