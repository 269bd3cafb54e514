// Search: a box with completion, facets, filters, sort, groups, pages, and what each hit is made of.

import { html, useEffect, useRef, useState } from "./vendor-htm-preact.js";
import { get, post } from "./api.js";
import { Empty, Failure, Loading, Marked, MemberSelect, count, ms, number } from "./shared.js";
import { WhyDrawer } from "./why.js";

const PAGE = 10;
const COUNT_TO = 10000;
const COUNTED = new Set(["text", "list", "boolean"]);
const RANGES = new Set(["number", "date"]);

/** The fields that are counted; which of them are offered is known only after counting. */
const facetsOf = (fields) => [
  ...Object.keys(fields).filter((name) => COUNTED.has(fields[name]) && name !== "title").slice(0, 8),
  ...Object.keys(fields).filter((name) => RANGES.has(fields[name])).slice(0, 4).map((name) => `${name}:8`),
];

const LONG_CHARS = 40;
const MANY_VALUES = 50;

/** Whether a field's values are free text or nearly unique, so that choosing one says no more than the hit itself. */
export function isFreeText(facet) {
  const values = facet.values || [];
  if (!values.length || values[0].end !== undefined) return false;
  const letters = values.reduce((sum, each) => sum + String(each.value).length, 0);
  const single = values.filter((each) => each.count === 1).length;
  const total = values.reduce((sum, each) => sum + each.count, facet.others || 0);
  const top = values.slice(0, 10).reduce((sum, each) => sum + each.count, 0);
  return letters > LONG_CHARS * values.length || (values.length > 10 && single > values.length / 2 && top < total / 2)
    || (values.length > MANY_VALUES && top < total / 5);
}

/** What a hint proposes to ask instead: "Did you mean 'fig tree'?" */
export const proposed = (hint) => (/^Did you mean (['"])(.*)\1\?$/.exec(hint) || [])[2];

/** The condition, as JSON, that the chosen values and ranges make. */
export function conditionOf(chosen) {
  const filters = [];
  for (const [field, values] of Object.entries(chosen)) {
    if (Array.isArray(values) && values.length) filters.push({ type: "in", key: field, value: values });
    if (values && !Array.isArray(values)) {
      filters.push({ type: "gte", key: field, value: values.low });
      filters.push({ type: values.last ? "lte" : "lt", key: field, value: values.high });
    }
  }
  if (!filters.length) return null;
  return filters.length === 1 ? filters[0] : { type: "and", filters };
}

function SearchBox({ value, onInput, onSubmit }) {
  const [options, setOptions] = useState([]);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const asked = useRef(0);
  const complete = async (text) => {
    const mine = ++asked.current;
    if (text.trim().length < 2) return setOptions([]);
    try {
      const found = await get(`/v1/complete?q=${encodeURIComponent(text.slice(0, 200))}&k=6`);
      if (mine === asked.current) setOptions(found.completions.map((each) => each.text ?? each));
    } catch {
      setOptions([]);
    }
  };
  const choose = (text) => {
    setOpen(false);
    setAt(-1);
    asked.current += 1;
    onSubmit(text);
  };
  const shown = open && options.length > 0;
  const keys = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((now) => (options.length ? ((now + step + options.length + 1) % (options.length + 1)) : -1));
    } else if (event.key === "Escape" && shown) {
      event.preventDefault(); // a browser would empty the box
      setOpen(false);
      setAt(-1);
    } else if (event.key === "Enter" && open && at >= 0 && at < options.length) {
      event.preventDefault();
      choose(options[at]);
    }
  };
  return html`<form class="box" role="search" onSubmit=${(event) => { event.preventDefault(); setOpen(false); asked.current += 1; onSubmit(value); }}>
    <input type="search" id="query" aria-label="Search" placeholder="Search…" autocomplete="off" autofocus spellcheck="false"
      role="combobox" aria-expanded=${String(shown)} aria-controls="completions" aria-autocomplete="list"
      aria-activedescendant=${shown && at >= 0 && at < options.length ? `completion-${at}` : undefined}
      value=${value} onKeyDown=${keys} onBlur=${() => setOpen(false)}
      onInput=${(event) => { setOpen(true); setAt(-1); onInput(event.target.value); complete(event.target.value); }} />
    <button>Search</button>
    <ul id="completions" role="listbox" aria-label="Completions" hidden=${!shown}>
      ${options.map((text, number) => html`<li id=${`completion-${number}`} role="option" aria-selected=${String(number === at)}
        onMouseDown=${(event) => { event.preventDefault(); choose(text); }}>${text}</li>`)}
    </ul></form>`;
}

function Facet({ name, facet, chosen, onChange }) {
  const [all, setAll] = useState(false);
  const values = facet.values || [];
  if (!values.length) return null;
  const most = Math.max(...values.map((each) => each.count), 1);
  const ranged = values.some((each) => each.end !== undefined && each.end !== null);
  const shown = all || ranged ? values : values.slice(0, 6);
  const toggle = (each) => {
    if (ranged) {
      const same = chosen && chosen.low === each.value;
      return onChange(same ? null : { low: each.value, high: each.end, last: each === values[values.length - 1] });
    }
    const now = chosen || [];
    return onChange(now.includes(each.value) ? now.filter((one) => one !== each.value) : [...now, each.value]);
  };
  const on = (each) => (ranged ? Boolean(chosen && chosen.low === each.value) : Boolean(chosen && chosen.includes(each.value)));
  const label = (each) => (ranged ? `${short(each.value)} – ${short(each.end)}` : String(each.value));
  return html`<fieldset class="facet"><legend>${name}</legend>
    ${shown.map((each) => html`<label class="choice"><input type="checkbox" checked=${on(each)} onChange=${() => toggle(each)} />
      <span class="name">${label(each)}</span><span class="count">${count(each.count)}</span>
      <svg viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true"><rect width=${(100 * each.count) / most} height="3" /></svg></label>`)}
    ${!ranged && values.length > 6 && html`<button type="button" class="quiet" onClick=${() => setAll(!all)}>${all ? "fewer" : `${values.length - 6} more`}</button>`}
  </fieldset>`;
}

const short = (value) => (typeof value === "number" ? Number(value.toPrecision(4)) : String(value).slice(0, 10));

function HitRow({ hit, query, live, onWhy, onClick, clicked }) {
  const title = (hit.metadata && hit.metadata.title) || hit.title || "";
  const spans = (hit.highlights && hit.highlights.title) || [];
  const rest = Object.entries(hit.metadata || {}).filter(([name]) => name !== "title");
  return html`<li class="hit">
    <h3><button type="button" class="title" onClick=${onClick} title=${live ? "Choose this result: it is recorded as a click" : undefined}>
      ${title ? html`<${Marked} text=${title} spans=${spans} />` : hit.id}</button>
      ${clicked && html`<span class="badge">clicked</span>`}</h3>
    ${hit.snippet ? html`<p class="snippet"><${Marked} text=${hit.snippet.text} spans=${hit.snippet.spans} /></p>`
      : hit.text && html`<p class="snippet">${hit.text.slice(0, 200)}</p>`}
    <p class="meta"><code title=${hit.id}>${hit.id}</code>
      ${rest.slice(0, 6).map(([name, value]) => html`<span>${name}: ${String(Array.isArray(value) ? value.join(", ") : value).slice(0, 60)}</span>`)}
      ${hit.more ? html`<span class="badge">+${hit.more} more</span>` : null}</p>
    <p class="score"><span title="score">${number(hit.score)}</span>
      ${hit.confidence !== undefined && html`<span title="probability of a click">${Math.round(100 * hit.confidence)} %</span>`}
      <button type="button" class="quiet" onClick=${onWhy} aria-label=${`Why ${title || hit.id}`}>Why?</button></p>
  </li>`;
}

export function SearchView({ info, live, say }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState({ query: "", using: info.default, chosen: {}, sort: "", group: "", offset: 0 });
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [why, setWhy] = useState(null);
  const [clicked, setClicked] = useState({});
  const [again, setAgain] = useState(0);
  const timer = useRef(0);
  const ask = (change) => setAsked((now) => ({ ...now, offset: 0, ...change }));
  const type = (value) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => ask({ query: value }), 120);
  };
  useEffect(() => {
    if (!asked.query.trim()) {
      setAnswer(null);
      setProblem(null);
      return undefined;
    }
    const abort = new AbortController();
    setBusy(true);
    const started = performance.now();
    const body = {
      query: asked.query, using: asked.using, k: PAGE, offset: asked.offset, highlights: info.kind !== "shards", stages: true, facets: facetsOf(info.fields),
      where: conditionOf(asked.chosen), sort: asked.sort ? [asked.sort] : [], group: asked.group || null,
    };
    post("/v1/search", body, abort.signal).then(
      (found) => { setAnswer({ ...found, asked, total_ms: performance.now() - started }); setProblem(null); setBusy(false); },
      (error) => { if (error.name !== "AbortError") { setProblem(error); setBusy(false); } },
    );
    return () => abort.abort();
  }, [asked, again]);
  const click = async (hit) => {
    if (!live) return setWhy({ hit, answer });
    try {
      await post("/v1/clicks", { query: asked.query, item: hit.id });
      setClicked((now) => ({ ...now, [`${asked.query}\n${hit.id}`]: true }));
      say(`Recorded: ${hit.id} for “${asked.query}”. Members that learn from clicks know it now.`);
      setAgain((now) => now + 1);
    } catch (error) {
      say(error.message);
    }
    return undefined;
  };
  const chips = Object.entries(asked.chosen).flatMap(([field, values]) => (Array.isArray(values)
    ? values.map((value) => [field, String(value), values.filter((one) => one !== value)])
    : values ? [[field, `${short(values.low)} – ${short(values.high)}`, null]] : []));
  const groupable = Object.keys(info.fields).filter((name) => info.fields[name] !== "list" && name !== "title");
  const sortable = Object.keys(info.fields).filter((name) => info.fields[name] !== "list");
  const hits = answer ? answer.results : [];
  const offered = Object.entries((answer && answer.facets) || {}).filter(([name, facet]) => asked.chosen[name] || !isFreeText(facet));
  const now = (query) => { clearTimeout(timer.current); setText(query); ask({ query }); };
  return html`<h1 class="hidden">Search</h1>
    <${SearchBox} value=${text} onInput=${type} onSubmit=${now} />
    <div class="tools">
      ${Object.keys(info.members).length > 1 && html`<${MemberSelect} members=${info.members} value=${asked.using} onChange=${(using) => ask({ using })} />`}
      <label for="sort">Sort <select id="sort" value=${asked.sort} onChange=${(event) => ask({ sort: event.target.value })}>
        <option value="">by relevance</option>
        ${sortable.flatMap((name) => [html`<option value=${name}>${name} ↑</option>`, html`<option value=${`${name}:desc`}>${name} ↓</option>`])}
      </select></label>
      ${groupable.length > 0 && html`<label for="group">Group <select id="group" value=${asked.group} onChange=${(event) => ask({ group: event.target.value })}>
        <option value="">none</option>${groupable.map((name) => html`<option value=${name}>${name}</option>`)}
      </select></label>`}
      <p class="status" role="status">${busy ? "Searching…" : answer
        ? `${answer.total_is_exact ? "" : answer.total > COUNT_TO ? "at least " : "best "}${count(answer.total)} found, ${ms(answer.took_ms)}` : ""}</p>
    </div>
    ${chips.length > 0 && html`<p class="chips">${chips.map(([field, label, left]) => html`<button type="button" class="chip"
      aria-label=${`Remove the filter ${field}: ${label}`}
      onClick=${() => ask({ chosen: { ...asked.chosen, [field]: left } })}>${field}: ${label} ✕</button>`)}</p>`}
    ${problem && html`<${Failure} problem=${problem} retry=${() => setAgain(again + 1)} />`}
    ${!answer && !problem && (busy ? html`<${Loading} what="Searching" />` : html`<${Empty}>Type to search ${count(info.items)} items.<//>`)}
    ${answer && !problem && html`<div class="columns">
      <section class="facets" aria-label="Filters">${offered.map(([name, facet]) => html`<${Facet}
        key=${name} name=${name} facet=${facet} chosen=${asked.chosen[name]}
        onChange=${(value) => ask({ chosen: { ...asked.chosen, [name]: value } })} />`)}</section>
      <section aria-label="Results" class=${busy ? "stale" : ""}>
        ${(answer.hints || []).map((hint) => html`<p class="hint">${proposed(hint)
          ? html`Did you mean <button type="button" class="link" onClick=${() => now(proposed(hint))}>${proposed(hint)}</button>?` : hint}</p>`)}
        ${hits.length === 0 && html`<${Empty}>Nothing found for “${answer.asked.query}”${chips.length
          ? html` with these filters. <button type="button" class="link" onClick=${() => ask({ chosen: {} })}>Remove all filters</button>` : "."}<//>`}
        <ol class="hits" start=${answer.offset + 1}>${hits.map((hit) => html`<${HitRow} key=${hit.id} hit=${hit} query=${asked.query} live=${live}
          clicked=${clicked[`${asked.query}\n${hit.id}`]} onWhy=${() => setWhy({ hit, answer })} onClick=${() => click(hit)} />`)}</ol>
        ${(hits.length > 0 || asked.offset > 0) && html`<p class="pages">
          <button type="button" disabled=${asked.offset === 0} onClick=${() => ask({ offset: Math.max(0, asked.offset - PAGE) })}>Previous</button>
          <span>${hits.length ? `${answer.offset + 1} to ${answer.offset + hits.length}` : ""}</span>
          <button type="button" disabled=${answer.offset + hits.length >= (answer.groups ?? answer.total)}
            onClick=${() => ask({ offset: asked.offset + PAGE })}>Next</button></p>`}
      </section></div>`}
    ${why && html`<${WhyDrawer} hit=${why.hit} answer=${why.answer} onClose=${() => setWhy(null)} />`}`;
}
