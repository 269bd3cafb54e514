// Talks to the service: JSON in and out, problems as errors, the token from this tab's session.

const TOKEN = "vizsla-token";

export const token = {
  get: () => sessionStorage.getItem(TOKEN) || "",
  set: (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)),
};

/** A problem that the service answered with, or a connection that failed. */
export class Problem extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export async function call(method, path, body, signal) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service does not answer. Is it still running?");
  }
  const text = await answer.text();
  let value = text;
  if ((answer.headers.get("Content-Type") || "").includes("json")) {
    try {
      value = JSON.parse(text);
    } catch {
      throw new Problem(answer.status, "The service sent an answer that is no JSON.");
    }
  }
  if (!answer.ok) {
    if (answer.status === 401) dispatchEvent(new Event("vizsla-refused")); // the page offers to enter a token
    throw new Problem(answer.status, (value && value.detail) || `Status ${answer.status}`, answer.headers.get("Retry-After"));
  }
  return value;
}

export const get = (path, signal) => call("GET", path, undefined, signal);
export const post = (path, body, signal) => call("POST", path, body, signal);

/** Waits for a job of the service, and returns its result. */
export async function finished(job, onChange = () => {}) {
  for (;;) {
    const now = await get(`/v1/admin/jobs/${encodeURIComponent(job.id)}`);
    onChange(now);
    if (now.state === "done") return now.result;
    if (now.state === "failed") throw new Problem(500, now.error);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Reads Prometheus' text format into {name: [{labels, value}]}. */
export function readMetrics(text) {
  const found = {};
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    (found[match[1]] ||= []).push({ labels, value: Number(match[3]) });
  }
  return found;
}

/** A quantile of a histogram's growth between two readings, by linear interpolation within its bucket. */
export function quantile(before, after, share) {
  const counts = new Map();
  for (const row of after) counts.set(row.labels.le, (counts.get(row.labels.le) || 0) + row.value);
  for (const row of before) counts.set(row.labels.le, (counts.get(row.labels.le) || 0) - row.value);
  const rows = [...counts].map(([le, count]) => [le === "+Inf" ? Infinity : Number(le), count]).sort((a, b) => a[0] - b[0]);
  const total = rows.length ? rows[rows.length - 1][1] : 0;
  if (!(total > 0)) return null;
  let low = 0;
  let below = 0;
  for (const [high, count] of rows) {
    if (count >= share * total) {
      if (!Number.isFinite(high)) return low;
      const inside = count - below;
      return low + (inside > 0 ? ((share * total - below) / inside) * (high - low) : 0);
    }
    low = high;
    below = count;
  }
  return low;
}
