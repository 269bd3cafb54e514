// Evaluate: members on the judged queries, as a heat map, against latency and bytes, and run again on request.

import { html, useEffect, useState } from "./vendor-htm-preact.js";
import { finished, get, post } from "./api.js";
import { HeatMap, Scatter } from "./charts.js";
import { Empty, Failure, Loading, bytes, ms, number } from "./shared.js";

export function EvaluateView({ info }) {
  const [result, setResult] = useState(null);
  const [state, setState] = useState("");
  const [problem, setProblem] = useState(null);
  const [measure, setMeasure] = useState("");
  const show = (found) => { setResult(found); setMeasure(Object.keys(Object.values(found.members)[0].measures)[0]); };
  useEffect(() => {
    get("/v1/admin/jobs").then(async (jobs) => {
      const last = jobs.find((job) => job.action === "evaluate" && job.state === "done");
      if (last) show((await get(`/v1/admin/jobs/${last.id}`)).result);
    }, setProblem);
  }, []);
  const run = async () => {
    setProblem(null);
    setState("waiting");
    try {
      show(await finished(await post("/v1/admin/evaluate", {}), (job) => setState(job.state)));
    } catch (error) {
      setProblem(error);
    }
    setState("");
  };
  const perItem = (each) => (each.cost.bytes === null ? null : each.cost.bytes / Math.max(1, info.items));
  const members = result ? Object.keys(result.members) : [];
  const points = members.map((name) => ({ name, ...result.members[name] }));
  const index = result ? new Map(result.queries.map((query, at) => [query.id, at])) : null;
  const value = (name, query) => result.values[name][measure][index.get(query.id)];
  const spread = (query) => {
    const all = members.map((name) => value(name, query) ?? 0);
    return Math.max(...all) - Math.min(...all);
  };
  return html`<h1 class="hidden">Evaluate</h1>
    <p class="tools"><button type="button" onClick=${run} disabled=${Boolean(state)}>${state ? "Running…" : result ? "Run again" : "Evaluate all members"}</button>
      <span role="status">${state && `The evaluation is ${state}.`}</span></p>
    ${problem && html`<${Failure} problem=${problem} retry=${run} />`}
    ${!result && !state && !problem && html`<${Empty}>No evaluation yet. It runs all judged queries through ${Object.keys(info.members).length} members.<//>`}
    ${!result && state && html`<${Loading} what="Evaluating" />`}
    ${result && html`
      <div class="scroll"><table><caption>Quality and cost</caption><thead><tr><th scope="col">member</th>
        ${Object.keys(points[0].measures).map((name) => html`<th scope="col"><button type="button" class="link" aria-pressed=${String(name === measure)} onClick=${() => setMeasure(name)}>${name}</button></th>`)}
        <th scope="col">p50</th><th scope="col">p99</th><th scope="col">bytes per item</th></tr></thead>
        <tbody>${points.map((each) => html`<tr><th scope="row">${each.name}</th>
          ${Object.values(each.measures).map((one) => html`<td>${number(one)}</td>`)}
          <td>${ms(each.cost.ms_p50)}</td><td>${ms(each.cost.ms_p99)}</td><td>${bytes(perItem(each))}</td></tr>`)}</tbody></table></div>
      <div class="charts">
        <${Scatter} points=${points} x=${(each) => each.cost.ms_p50} y=${(each) => each.measures[measure]} xLabel="milliseconds per query" yLabel=${measure} />
        <${Scatter} points=${points} x=${perItem} y=${(each) => each.measures[measure]} xLabel="bytes per item" yLabel=${measure} />
      </div>
      <h2>${measure} per query, largest differences first</h2>
      <${HeatMap} queries=${[...result.queries].sort((a, b) => spread(b) - spread(a))} members=${members} value=${value} />`}`;
}
