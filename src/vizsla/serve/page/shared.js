// Small components that every view uses, and how numbers and texts are shown.

import { html, useEffect, useRef } from "./vendor-htm-preact.js";

export const number = (value, digits = 3) =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : Number(value).toFixed(digits);
export const count = (value) => (value === null || value === undefined ? "–" : Number(value).toLocaleString("en-US"));
export const plural = (value, name) => `${count(value)} ${name}${value === 1 ? "" : "s"}`;
export const ms = (value) => (value === null || value === undefined ? "–" : `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`);

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${at && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}

export function ago(seconds) {
  if (!seconds) return "never";
  const past = Math.max(0, Date.now() / 1000 - seconds);
  for (const [size, name] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    const many = Math.floor(past / size);
    if (many >= 1) return `${many} ${name}${many > 1 ? "s" : ""} ago`;
  }
  return "just now";
}

/** A text in which spans of characters (code points, as Python counts them) are marked. */
export function Marked({ text, spans }) {
  const letters = Array.from(text || "");
  const pieces = [];
  let at = 0;
  for (const [start, end] of spans || []) {
    if (start < at || end > letters.length) continue;
    pieces.push(letters.slice(at, start).join(""), html`<mark>${letters.slice(start, end).join("")}</mark>`);
    at = end;
  }
  pieces.push(letters.slice(at).join(""));
  return pieces;
}

export const Loading = ({ what = "Loading" }) => html`<p class="loading" role="status">${what}…</p>`;
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export function Failure({ problem, retry }) {
  return html`<div class="error" role="alert">
    <p>${problem.message}</p>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`;
}

export function MemberSelect({ members, value, onChange, label = "Member", id = "member" }) {
  return html`<label for=${id}>${label}${" "}
    <select id=${id} value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${Object.keys(members).map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label>`;
}

/** A panel over the page, which takes the focus, keeps it, and gives it back. */
export function Drawer({ title, onClose, children }) {
  const panel = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    panel.current.querySelector("button").focus();
    return () => before && before.isConnected && before.focus();
  }, []);
  const keys = (event) => {
    if (event.key === "Escape") onClose();
    if (event.key !== "Tab") return;
    const inside = [...panel.current.querySelectorAll("button, a[href], input, select, summary")];
    const edge = event.shiftKey ? inside[0] : inside[inside.length - 1];
    if (document.activeElement === edge) {
      event.preventDefault();
      (event.shiftKey ? inside[inside.length - 1] : inside[0]).focus();
    }
  };
  return html`<div class="shade" onClick=${(event) => event.target.classList.contains("shade") && onClose()}>
    <aside class="drawer" role="dialog" aria-modal="true" aria-label=${title} ref=${panel} onKeyDown=${keys}>
      <header><h2>${title}</h2><button type="button" class="quiet" onClick=${onClose} aria-label="Close">✕</button></header>
      ${children}
    </aside>
  </div>`;
}

/** Calls a function at intervals while the view is shown and the tab is visible. */
export function useInterval(act, everyMs) {
  const newest = useRef(act);
  newest.current = act;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && newest.current(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
