// A client of the HTTP interface. When the server does not answer, it notifies the page and retries.
import { t } from "./language.js";

/** The server answered with an error; `field` names the invalid field, if any. */
export class ApiError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    const text = body?.error ?? (typeof body?.detail === "string" ? body.detail : null);
    super(text ?? t("The server returned error {status}.", { status }));
    this.status = status;
    this.body = body ?? {};
    /** @type {string|null} */
    this.field = body?.field ?? null;
  }
}

/** The server did not answer. */
export class AwayError extends Error {
  constructor() {
    super(t("No connection to the server. Is it still running?"));
  }
}

/** @type {Set<(away: boolean) => void>} */
const listeners = new Set();
let away = false;

/** Call `listener` now and at every change, with true while the server does not answer. @param {(away: boolean) => void} listener */
export function watchServer(listener) {
  listeners.add(listener);
  listener(away);
  return () => void listeners.delete(listener);
}

/** @param {boolean} now */
export function setAway(now) {
  if (now === away) return;
  away = now;
  for (const listener of listeners) listener(away);
}

/** @param {number} ms */
export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

const PATIENCE = 1200;

/**
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {{patient?: boolean, signal?: AbortSignal, text?: boolean}} [how] `patient`: retry until the server answers
 * @returns {Promise<any>}
 */
async function request(method, path, body, { patient = true, signal, text = false } = {}) {
  for (;;) {
    const response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    }).catch((error) => {
      if (signal?.aborted) throw error;
      return null;
    });
    if (response === null) {
      setAway(true);
      if (!patient) throw new AwayError();
      await wait(PATIENCE);
      if (signal?.aborted) throw new DOMException("the request was cancelled", "AbortError");
      continue;
    }
    setAway(false);
    if (text && response.ok) return response.text();
    const answer = await response.json().catch(() => null);
    if (!response.ok) throw new ApiError(response.status, answer);
    return answer;
  }
}

/** @param {string} path @param {Record<string, string|number|null|undefined>} [query] @param {any} [how] */
export function get(path, query = {}, how = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return request("GET", text ? `${path}?${text}` : path, undefined, how);
}

/** @param {string} path @param {any} [body] @param {any} [how] */
export const post = (path, body = {}, how = {}) => request("POST", path, body, how);

/** @param {string} path */
export const remove = (path) => request("DELETE", path, undefined, { patient: false });

/** @type {Promise<import("./types.js").Info>|null} */
let info = null;
/** Fetch the answer of `getInfo` again at its next call. */
export const forgetInfo = () => void (info = null);

/** Return the server's games, strengths and formats; fetched once. */
export function getInfo() {
  info ??= get("/api/info").catch((error) => {
    info = null;
    throw error;
  });
  return /** @type {Promise<import("./types.js").Info>} */ (info);
}
