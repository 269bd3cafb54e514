// Compare: the answers of two to four members side by side, what they share, and what each alone found.

import { html, useEffect, useState } from "./vendor-htm-preact.js";
import { post } from "./api.js";
import { Empty, Failure, Loading, Marked, ms, number } from "./shared.js";
import { WhyDrawer } from "./why.js";

export function CompareView({ info }) {
  const names = Object.keys(info.members);
  const [chosen, setChosen] = useState(() => [info.default, ...names.filter((name) => name !== info.default)].slice(0, 2));
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [why, setWhy] = useState(null);
  useEffect(() => {
    if (!query.trim() || chosen.length < 2) return undefined;
    const abort = new AbortController();
    setBusy(true);
    post("/v1/compare", { query, members: chosen, k: 10, highlights: true, stages: true }, abort.signal).then(
      (found) => { setAnswer(found); setProblem(null); setBusy(false); },
      (error) => { if (error.name !== "AbortError") { setProblem(error); setBusy(false); } },
    );
    return () => abort.abort();
  }, [query, chosen]);
  const toggle = (name) => setChosen((now) => (now.includes(name) ? now.filter((each) => each !== name) : [...now, name].slice(-4)));
  const found = new Map();
  for (const each of answer ? answer.answers : []) for (const hit of each.results) found.set(hit.id, (found.get(hit.id) || 0) + 1);
  const size = answer ? answer.answers.length : 0;
  return html`<h1 class="hidden">Compare</h1>
    <form class="box" role="search" onSubmit=${(event) => { event.preventDefault(); setQuery(text); }}>
      <input type="search" id="compare-query" aria-label="Query to compare" placeholder="A query for all members…" value=${text} onInput=${(event) => setText(event.target.value)} />
      <button>Compare</button></form>
    <fieldset class="tools"><legend>Members (two to four)</legend>
      ${names.map((name) => html`<label class="choice"><input type="checkbox" checked=${chosen.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}
    </fieldset>
    ${chosen.length < 2 && html`<${Empty}>Choose at least two members.<//>`}
    ${problem && html`<${Failure} problem=${problem} />`}
    ${busy && !answer && html`<${Loading} what="Searching" />`}
    ${answer && !problem && html`<p class="overlaps">${answer.overlaps.map((pair) => html`<span class="badge">
        ${pair.members.join(" ∩ ")}: ${pair.shared} shared, Jaccard ${number(pair.jaccard, 2)}</span>`)}</p>
      <div class="side-by-side">${answer.answers.map((each) => html`<section aria-label=${each.member}>
        <h2>${each.member} <small>${ms(each.took_ms)}</small></h2>
        ${each.results.length === 0 && html`<${Empty}>Nothing found.<//>`}
        <ol class="hits small">${each.results.map((hit) => html`<li class=${`hit ${found.get(hit.id) === 1 ? "unique" : found.get(hit.id) === size ? "shared" : ""}`}>
          <h3><button type="button" class="title" onClick=${() => setWhy({ hit, answer: { ...each, asked: { query: answer.query, using: each.member } } })}>
            ${hit.metadata && hit.metadata.title ? html`<${Marked} text=${hit.metadata.title} spans=${hit.highlights && hit.highlights.title} />` : hit.id}</button></h3>
          <p class="meta"><code>${hit.id}</code><span>${number(hit.score)}</span>
            <span class="badge">${found.get(hit.id) === 1 ? "only here" : `in ${found.get(hit.id)}`}</span></p></li>`)}</ol>
      </section>`)}</div>`}
    ${!answer && !busy && chosen.length >= 2 && html`<${Empty}>Ask something to see how the members differ.<//>`}
    ${why && html`<${WhyDrawer} hit=${why.hit} answer=${why.answer} onClose=${() => setWhy(null)} />`}`;
}
