// The page: tabs, what is served, the token, and one view at a time.

import { html, render, useCallback, useEffect, useState } from "./vendor-htm-preact.js";
import { get, token } from "./api.js";
import { Failure, Loading, count } from "./shared.js";
import { SearchView } from "./search.js";
import { CompareView } from "./compare.js";
import { EvaluateView } from "./evaluate.js";
import { DashboardView } from "./dashboard.js";

const VIEWS = { search: SearchView, compare: CompareView, evaluate: EvaluateView, dashboard: DashboardView };
const NAMES = { search: "Search", compare: "Compare", evaluate: "Evaluate", dashboard: "Dashboard" };
const current = () => location.hash.replace(/^#\/?/, "").split("?")[0] || "search";

function TokenForm({ onDone, said }) {
  const save = (event) => {
    event.preventDefault();
    token.set(new FormData(event.target).get("token").trim());
    onDone();
  };
  return html`<form class="card narrow" onSubmit=${save}>
    <h1>Token</h1>
    <p role=${said ? "alert" : undefined}>${said || "The service asks for a token. It is kept in this tab only."}</p>
    <label for="token">Token <input id="token" name="token" type="password" autocomplete="off" required /></label>
    <button>Continue</button>
  </form>`;
}

function App() {
  const [view, setView] = useState(current());
  const [info, setInfo] = useState(null);
  const [problem, setProblem] = useState(null);
  const [message, setMessage] = useState("");
  const [guarded, setGuarded] = useState(Boolean(token.get()));
  const [asking, setAsking] = useState(false);
  const load = useCallback(() => {
    get("/info").then((found) => { setInfo(found); setProblem(null); setAsking(false); }, setProblem);
  }, []);
  useEffect(() => {
    load();
    const moved = () => setView(current());
    const refused = () => setGuarded(true);
    addEventListener("hashchange", moved);
    addEventListener("vizsla-refused", refused);
    return () => { removeEventListener("hashchange", moved); removeEventListener("vizsla-refused", refused); };
  }, []);
  useEffect(() => {
    if (!message) return undefined;
    const timer = setTimeout(() => setMessage(""), 4000);
    return () => clearTimeout(timer);
  }, [message]);
  const refused = problem && problem.status === 401;
  if (asking || refused) {
    const said = refused && token.get() ? "The service did not accept this token." : "";
    return html`<main id="main"><${TokenForm} said=${said} onDone=${load} /></main>`;
  }
  if (!info) return html`<main id="main">${problem ? html`<${Failure} problem=${problem} retry=${load} />` : html`<${Loading} />`}</main>`;
  const live = info.kind === "engine";
  const shown = Object.keys(NAMES).filter((name) => (name !== "compare" || (info.kind !== "shards" && Object.keys(info.members).length > 1))
    && (name !== "evaluate" || info.judged));
  const chosen = shown.includes(view) ? view : "search";
  const skip = (event) => { event.preventDefault(); document.getElementById("main").focus(); };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <header class="top">
      <a class="brand" href="#/search"><img src="/page/icon.svg" alt="" width="22" height="22" /> Vizsla</a>
      <nav aria-label="Views">${shown.map((name) => html`<a href=${`#/${name}`} aria-current=${chosen === name ? "page" : undefined}>${NAMES[name]}</a>`)}</nav>
      <p class="served">${count(info.items)} items${live ? "" : ", read-only"}
        ${guarded && html` <button type="button" class="link" onClick=${() => setAsking(true)}>Token</button>`}</p>
    </header>
    <main id="main" tabindex="-1">${problem && html`<${Failure} problem=${problem} retry=${load} />`}<${VIEWS[chosen]} info=${info} live=${live} reload=${load} say=${setMessage} /></main>
    <div class="toast" role="status" aria-live="polite">${message}</div>`;
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
