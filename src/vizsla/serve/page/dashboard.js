// Dashboard: members and how stale they are, sizes, live latency and requests, and actions behind the write token.

import { html, useEffect, useRef, useState } from "./vendor-htm-preact.js";
import { call, finished, get, post, quantile, readMetrics } from "./api.js";
import { Bars, Lines } from "./charts.js";
import { Empty, Failure, ago, bytes, count, plural, useInterval } from "./shared.js";

const EVERY_MS = 2000;
const KEPT = 90;

function useTraffic() {
  const [rows, setRows] = useState([]);
  const last = useRef(null);
  const read = async () => {
    let metrics;
    try {
      metrics = readMetrics(await call("GET", "/metrics"));
    } catch {
      return;
    }
    const buckets = metrics.vizsla_search_seconds_bucket || [];
    const total = (metrics.vizsla_requests_total || []).filter((row) => row.labels.route.startsWith("/v1/")).reduce((sum, row) => sum + row.value, 0);
    const now = { at: performance.now(), buckets, total };
    if (last.current) {
      const seconds = (now.at - last.current.at) / 1000;
      const before = last.current.buckets;
      const p50 = quantile(before, buckets, 0.5);
      const p99 = quantile(before, buckets, 0.99);
      const row = { rate: Math.max(0, (total - last.current.total) / seconds), p50: p50 && p50 * 1000, p99: p99 && p99 * 1000 };
      setRows((all) => [...all, row].slice(-KEPT));
    }
    last.current = now;
  };
  useEffect(() => { read(); }, []);
  useInterval(read, EVERY_MS);
  return rows;
}

export function DashboardView({ info, live, reload, say }) {
  const traffic = useTraffic();
  const [history, setHistory] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState("");
  const load = () => {
    reload();
    if (live) get("/v1/admin/history").then((rows) => { setHistory(rows); setProblem(null); }, setProblem);
  };
  useEffect(load, []);
  useInterval(reload, 10000);
  const act = async (name, done, action) => {
    setBusy(name);
    try {
      await action();
      say(done);
      load();
    } catch (error) {
      say(error.message);
    }
    setBusy("");
  };
  const stats = info.engine || {};
  const members = stats.members || {};
  const snapshots = [...new Set((history || []).filter((row) => row.action === "snapshot").map((row) => row.detail))];
  return html`<h1 class="hidden">Dashboard</h1>
    <div class="tiles">
      <div class="tile"><b>${count(info.items)}</b> items</div>
      ${live && html`<div class="tile"><b>${count(stats.clicks)}</b> clicks</div>
        <div class="tile"><b>${count(info.generation)}</b> transactions</div>
        <div class="tile"><b>${(stats.segments || []).length}</b> ${(stats.segments || []).length === 1 ? "segment" : "segments"}, ${plural(stats.memory_rows, "item")} in memory</div>
        <div class="tile"><b>${bytes(Object.values(stats.bytes_on_disk || {}).reduce((sum, size) => sum + size, 0))}</b> on disk</div>`}
      <div class="tile"><b>${count(info.in_flight)}</b> in flight</div>
    </div>
    ${stats.maintenance_error && html`<p class="error" role="alert">Maintenance failed: ${stats.maintenance_error}</p>`}
    <div class="charts">
      <${Lines} label="Requests per second" series=${[{ name: "now", values: traffic.map((row) => row.rate) }]} />
      <${Lines} label="Search latency" unit=" ms" series=${[{ name: "p50", values: traffic.map((row) => row.p50) }, { name: "p99", values: traffic.map((row) => row.p99) }]} />
    </div>
    <div class="scroll"><table><caption>Members</caption><thead><tr><th scope="col">member</th><th scope="col">what it is</th>
      ${live && html`<th scope="col">bytes per item</th><th scope="col">trained</th><th scope="col">items since</th><th scope="col">clicks since</th><th scope="col">action</th>`}</tr></thead>
      <tbody>${Object.entries(info.members).map(([name, kind]) => html`<tr><th scope="row">${name}${name === info.default && html` <span class="badge">default</span>`}</th>
        <td><code>${kind}</code></td>
        ${live && html`<td>${bytes((stats.bytes_per_item || {})[name])}</td>
          <td>${members[name] && members[name].trained_at !== undefined ? ago(members[name].trained_at) : (members[name] || {}).type}</td>
          <td>${count((members[name] || {}).items_since)}</td><td>${count((members[name] || {}).clicks_since)}</td>
          <td>${(members[name] || {}).type !== "composite" && html`<button type="button" disabled=${Boolean(busy)} aria-label=${`Rebuild ${name}`} onClick=${() => act(`rebuild ${name}`, `${name} was rebuilt.`, async () => finished(await post("/v1/admin/rebuild", { member: name })))}>
            ${busy === `rebuild ${name}` ? "Rebuilding…" : "Rebuild"}</button>`}</td>`}</tr>`)}</tbody></table></div>
    ${live && html`<section class="card"><h2>Segments</h2>
      <p>${plural((stats.segments || []).length, "segment")}, ${plural(stats.memory_rows, "item")} in memory, ${plural(stats.deleted, "deleted item")} that the next merge removes.
        This worker stored ${plural(stats.writes, "change")} in ${plural(stats.commits, "commit")}.</p>
      ${(stats.segments || []).length > 0 && html`<${Bars} parts=${stats.segments.map((rows, at) => ({ reason: `segment ${at + 1}`, score: rows }))} total=${0} digits=${0} />`}
      <button type="button" disabled=${Boolean(busy)} onClick=${() => act("maintain", "Segments were merged where that was due.", async () => finished(await post("/v1/admin/maintain", {})))}>
        ${busy === "maintain" ? "Merging…" : "Flush and merge"}</button></section>
    <section class="card"><h2>Snapshots</h2>
      <p>A snapshot keeps recipes, weights and models. Rolling back changes the members; items and clicks stay.</p>
      <form class="tools" onSubmit=${(event) => {
        event.preventDefault();
        const form = event.target;
        const name = new FormData(form).get("name").trim();
        act("snapshot", `Snapshot ${name} was kept.`, () => post("/v1/admin/snapshot", { name })).then(() => form.reset());
      }}><label for="snapshot">Name <input id="snapshot" name="name" required maxlength="100" /></label><button disabled=${Boolean(busy)}>Keep a snapshot</button></form>
      ${problem && html`<${Failure} problem=${problem} retry=${load} />`}
      ${snapshots.length === 0 && !problem && html`<${Empty}>No snapshots yet.<//>`}
      <ul class="plain">${snapshots.map((name) => html`<li><b>${name}</b> <button type="button" disabled=${Boolean(busy)} aria-label=${`Roll back to ${name}`}
        onClick=${() => act(`rollback ${name}`, `Rolled back to ${name}.`, () => post("/v1/admin/rollback", { name }))}>Roll back</button></li>`)}</ul>
      ${history && history.length > 0 && html`<details><summary>History</summary><ul class="plain">${[...history].reverse().slice(0, 50).map((row) => html`<li>
        <b>${row.action}</b> ${row.detail} <small>${ago(row.time)}, transaction ${count(row.generation)}</small></li>`)}</ul></details>`}
    </section>`}`;
}
