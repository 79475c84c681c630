// The library page: find, open, import, export and delete games.
import { html, useEffect, useRef, useState } from "./ui.js";
import { get, getInfo, post, remove } from "./api.js";
import { exportGame, formatName } from "./export.js";
import { Confirm, Dot, Message, useLoaded } from "./parts.js";
import { announce } from "./announce.js";
import { useKept } from "./preferences.js";
import { nameOf } from "./names.js";
import { Statistics } from "./statistics.js";
import { COLOUR, resultText, when } from "./words.js";

/**
 * @typedef {{id: string, game: string, title?: string, players: Record<string, string>, names: Record<string, string>, result: number|null,
 *   ended: string|null, created: string, length?: number, reviewed: boolean}} Summary
 */

/** @type {[string, string][]} */
const RESULTS = [["", "Any result"], ["1", `${COLOUR.MAX} won`], ["-1", `${COLOUR.MIN} won`], ["0", "Draw"], ["open", "Not finished"]];
const PAUSE = 250; // milliseconds between the last keystroke and the search

export function Library() {
  const { value: info } = useLoaded(getInfo, []);
  const [filters, setFilters] = useState({ text: "", game: "", result: "", page: 1 });
  const [asked, setAsked] = useState(filters);
  const [list, setList] = useState(/** @type {{games: Summary[], page: number, pages: number}|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [note, setNote] = useState(/** @type {string|null} */ (null));
  const [doomed, setDoomed] = useState(/** @type {Summary|null} */ (null));
  const [counted, setCounted] = useKept("statistics", false);
  const [importing, setImporting] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(filters), filters.text === asked.text ? 0 : PAUSE);
    return () => clearTimeout(timer);
  }, [filters]);

  const load = () => get("/api/games", asked).then((found) => (setList(found), setProblem(null)), (e) => setProblem(e.message));
  useEffect(() => void load(), [asked]);
  const filter = (/** @type {object} */ change) => setFilters({ ...filters, page: 1, ...change });

  /** @param {Summary} game */
  async function drop(game) {
    setDoomed(null);
    try {
      await remove(`/api/games/${encodeURIComponent(game.id)}`);
      announce("Game deleted.");
      await load();
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
    }
  }
  const filtered = Boolean(asked.text || asked.game || asked.result);
  return html`<div class="page narrow library">
    <div class="title-line between"><h1>Library</h1>
      <button type="button" class="quiet" onClick=${() => setImporting(true)}>Import games</button></div>
    <div class="filters" role="search">
      <label for="search" class="hidden">Search</label>
      <input id="search" type="search" placeholder="Search players and games" value=${filters.text} onInput=${(/** @type {any} */ e) => filter({ text: e.currentTarget.value })} />
      <select aria-label="Game" value=${filters.game} onChange=${(/** @type {any} */ e) => filter({ game: e.currentTarget.value })}>
        <option value="">All games</option>
        ${(info?.games ?? []).map((game) => html`<option value=${game.name}>${game.name}</option>`)}
      </select>
      <select aria-label="Result" value=${filters.result} onChange=${(/** @type {any} */ e) => filter({ result: e.currentTarget.value })}>
        ${RESULTS.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
      </select>
    </div>
    <details class="card" open=${counted} onToggle=${(/** @type {any} */ e) => setCounted(e.currentTarget.open)}>
      <summary>Statistics</summary>${counted && html`<${Statistics} game=${asked.game} changes=${list} />`}</details>
    <${Message} text=${problem} /><${Message} text=${note} kind="note" onClose=${() => setNote(null)} />
    ${list && list.games.length === 0 && html`<div class="card empty"><p>${filtered ? "No games found." : "You have no games yet."}</p>
      ${!filtered && html`<div class="buttons centre"><a class="button primary" href="#/play">Play a game</a></div>`}</div>`}
    ${list && list.games.length > 0 && html`<ul class="games">${list.games.map((game) => html`<${Row} key=${game.id} game=${game} formats=${formatNames(info)} onDelete=${() => setDoomed(game)}
      onExport=${(/** @type {string} */ format) => exportGame(game.id, format).then(() => setProblem(null), (e) => setProblem(e.message))} />`)}</ul>`}
    ${list && list.pages > 1 && html`<nav class="pages" aria-label="Pages">
      <button type="button" class="quiet" disabled=${list.page <= 1} onClick=${() => setFilters({ ...filters, page: list.page - 1 })}>Newer</button>
      <span>Page ${list.page} of ${list.pages}</span>
      <button type="button" class="quiet" disabled=${list.page >= list.pages} onClick=${() => setFilters({ ...filters, page: list.page + 1 })}>Older</button>
    </nav>`}
    ${doomed && html`<${Confirm} question="Delete this game? This cannot be undone." yes="Delete" onNo=${() => setDoomed(null)} onYes=${() => drop(doomed)} />`}
    ${importing && html`<${Import} onClose=${() => setImporting(false)} onDone=${(/** @type {number} */ n) => {
      setImporting(false);
      setNote(n === 1 ? "Imported 1 game." : `Imported ${n} games.`);
      load();
    }} />`}
  </div>`;
}

/** @param {import("./types.js").Info|null} info @returns {string[]} */
const formatNames = (info) => (info?.formats ?? ["record"]).map((one) => (typeof one === "string" ? one : one.name));

/** @param {{game: Summary, formats: string[], onExport: (format: string) => void, onDelete: () => void}} props */
function Row({ game, formats, onExport, onDelete }) {
  const id = encodeURIComponent(game.id);
  const open = game.result === null && game.ended === null;
  const winner = game.result === null || game.result === 0 ? null : game.result > 0 ? "MAX" : "MIN";
  const plays = Object.values(game.players).includes("human");
  return html`<li class="game-row">
    <a class="game-main" href=${open && plays ? `#/play/${id}` : `#/review/${id}`}>
      <span class="game-players">
        ${["MAX", "MIN"].map((side) => html`<span key=${side} class=${winner === side ? "winner" : ""}><${Dot} side=${side} />${nameOf(game, side)}</span>`)}
      </span>
      <span class="game-result">${resultText(game.result, game.ended)}</span>
      <span class="game-facts soft">${game.game}${game.length !== undefined ? ` · ${game.length === 1 ? "1 step" : `${game.length} steps`}` : ""} · ${when(game.created)}${game.reviewed ? " · reviewed" : ""}</span>
    </a>
    <details class="menu" onFocusOut=${(/** @type {any} */ e) => closeMenu(e.currentTarget, e.relatedTarget)}
      onKeyDown=${(/** @type {any} */ e) => e.key === "Escape" && closeMenu(e.currentTarget, null)}>
      <summary aria-label="More actions">⋯</summary>
      <div class="menu-items" onClick=${(/** @type {any} */ e) => closeMenu(e.currentTarget.closest("details"), null)}>
        ${open && plays && html`<a href=${`#/play/${id}`}>Continue</a>`}
        <a href=${`#/review/${id}`}>View</a>
        <a href=${`#/review/${id}?go`}>Review</a>
        ${formats.map((format) => html`<button type="button" key=${format} onClick=${() => onExport(format)}>Export as ${formatName(format)}</button>`)}
        <button type="button" class="delete" onClick=${onDelete}>Delete…</button>
      </div>
    </details>
  </li>`;
}

/** Close a menu when the focus leaves it. @param {HTMLDetailsElement} menu @param {Node|null} next */
function closeMenu(menu, next) {
  if (!next || !menu.contains(next)) menu.open = false;
}

/** Decode a file as UTF-8, or else as GB 18030, the encoding of many Chinese programs. @param {ArrayBuffer} bytes */
function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("gb18030").decode(bytes);
  }
}

/** @param {{onClose: () => void, onDone: (count: number) => void}} props */
function Import({ onClose, onDone }) {
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  const [text, setText] = useState("");
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  async function bring(/** @type {Event} */ event) {
    event.preventDefault();
    setBusy(true);
    try {
      onDone((await post("/api/import", { text }, { patient: false })).ids.length);
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
      setBusy(false);
    }
  }
  return html`<dialog ref=${dialog} class="import" aria-label="Import games" onCancel=${onClose}>
    <form onSubmit=${bring}>
      <h2>Import games</h2>
      <p class="help">Paste Dicent records or games in a notation of their game, or choose a file.</p>
      <label class="hidden" for="import-text">Games</label>
      <textarea id="import-text" class="mono" rows="9" value=${text} spellcheck=${false} onInput=${(/** @type {any} */ e) => setText(e.currentTarget.value)}></textarea>
      <label class="field-label" for="import-file">File<input id="import-file" type="file" onChange=${async (/** @type {any} */ e) => {
        const file = e.currentTarget.files[0];
        if (file) setText(decode(await file.arrayBuffer()));
      }} /></label>
      <${Message} text=${problem} />
      <div class="buttons end"><button type="button" class="quiet" onClick=${onClose}>Cancel</button>
        <button class="primary" disabled=${busy || !text.trim()}>Import</button></div>
    </form>
  </dialog>`;
}
