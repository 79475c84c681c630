// The library page: find, open, import, export and delete games.
import { html, useEffect, useRef, useState } from "./ui.js";
import { get, getInfo, post, remove } from "./api.js";
import { titleFor, titleOf } from "./titles.js";
import { exportGame, formatName } from "./export.js";
import { Confirm, Dot, Message, useLoaded } from "./components.js";
import { announce } from "./announce.js";
import { t } from "./language.js";
import { usePreference } from "./preferences.js";
import { nameOf } from "./names.js";
import { Statistics } from "./statistics.js";
import { COLOUR, resultText, when } from "./format.js";

/**
 * @typedef {{id: string, game: string, title: string, players: Record<string, string>, names: Record<string, string>, result: number|null,
 *   ended: string|null, created: string, length?: number, reviewed: boolean}} Summary
 */

/** @type {[string, string][]} */
const RESULTS = [["", t("Any result")], ["1", t("{who} won", { who: COLOUR.MAX })], ["-1", t("{who} won", { who: COLOUR.MIN })], ["0", t("Draw")], ["open", t("Not finished")]];
const PAUSE = 250; // milliseconds between the last keystroke and the search

export function Library() {
  const { value: info } = useLoaded(getInfo, []);
  const [filters, setFilters] = useState({ text: "", game: "", result: "", page: 1 });
  const [asked, setAsked] = useState(filters);
  const [list, setList] = useState(/** @type {{games: Summary[], page: number, pages: number}|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [note, setNote] = useState(/** @type {string|null} */ (null));
  const [doomed, setDoomed] = useState(/** @type {Summary|null} */ (null));
  const [counted, setCounted] = usePreference("statistics", false);
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
      announce(t("Game deleted."));
      await load();
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
    }
  }
  const filtered = Boolean(asked.text || asked.game || asked.result);
  return html`<div class="page narrow library">
    <div class="title-line between"><h1>${t("Library")}</h1>
      <button type="button" class="quiet" onClick=${() => setImporting(true)}>${t("Import games")}</button></div>
    <div class="filters" role="search">
      <label for="search" class="hidden">${t("Search")}</label>
      <input id="search" type="search" placeholder=${t("Search players and games")} value=${filters.text} onInput=${(/** @type {any} */ e) => filter({ text: e.currentTarget.value })} />
      <select aria-label=${t("Game")} value=${filters.game} onChange=${(/** @type {any} */ e) => filter({ game: e.currentTarget.value })}>
        <option value="">${t("All games")}</option>
        ${(info?.games ?? []).map((game) => html`<option value=${game.name}>${titleOf(game, info?.games ?? [])}</option>`)}
      </select>
      <select aria-label=${t("Result")} value=${filters.result} onChange=${(/** @type {any} */ e) => filter({ result: e.currentTarget.value })}>
        ${RESULTS.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
      </select>
    </div>
    <details class="card" open=${counted} onToggle=${(/** @type {any} */ e) => setCounted(e.currentTarget.open)}>
      <summary>${t("Statistics")}</summary>${counted && html`<${Statistics} game=${asked.game} changes=${list} />`}</details>
    <${Message} text=${problem} /><${Message} text=${note} kind="note" onClose=${() => setNote(null)} />
    ${list && list.games.length === 0 && html`<div class="card empty"><p>${filtered ? t("No games found.") : t("You have no games yet.")}</p>
      ${!filtered && html`<div class="buttons centre"><a class="button primary" href="#/play">${t("Play a game")}</a></div>`}</div>`}
    ${list && list.games.length > 0 && html`<ul class="games">${list.games.map((game) => html`<${Row} key=${game.id} game=${game} formats=${info?.formats ?? []} onDelete=${() => setDoomed(game)}
      onExport=${(/** @type {import("./types.js").Format} */ format) => exportGame(game.id, format).then(() => setProblem(null), (e) => setProblem(e.message))} />`)}</ul>`}
    ${list && list.pages > 1 && html`<nav class="pages" aria-label=${t("Pages")}>
      <button type="button" class="quiet" disabled=${list.page <= 1} onClick=${() => setFilters({ ...filters, page: list.page - 1 })}>${t("Newer")}</button>
      <span>${t("Page {n} of {all}", { n: list.page, all: list.pages })}</span>
      <button type="button" class="quiet" disabled=${list.page >= list.pages} onClick=${() => setFilters({ ...filters, page: list.page + 1 })}>${t("Older")}</button>
    </nav>`}
    ${doomed && html`<${Confirm} question=${t("Delete this game? This cannot be undone.")} yes=${t("Delete")} onNo=${() => setDoomed(null)} onYes=${() => drop(doomed)} />`}
    ${importing && html`<${Import} onClose=${() => setImporting(false)} onDone=${(/** @type {number} */ n) => {
      setImporting(false);
      setNote(n === 1 ? t("Imported 1 game.") : t("Imported {n} games.", { n }));
      load();
    }} />`}
  </div>`;
}

/** @param {{game: Summary, formats: import("./types.js").Format[], onExport: (format: import("./types.js").Format) => void, onDelete: () => void}} props */
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
      <span class="game-details soft">${detailsOf(game).join(" · ")}</span>
    </a>
    <details class="menu" onFocusOut=${(/** @type {any} */ e) => closeMenu(e.currentTarget, e.relatedTarget)}
      onKeyDown=${(/** @type {any} */ e) => e.key === "Escape" && closeMenu(e.currentTarget, null)}>
      <summary aria-label=${t("More actions")}>⋯</summary>
      <div class="menu-items" onClick=${(/** @type {any} */ e) => closeMenu(e.currentTarget.closest("details"), null)}>
        ${open && plays && html`<a href=${`#/play/${id}`}>${t("Continue")}</a>`}
        <a href=${`#/review/${id}`}>${t("View")}</a>
        <a href=${`#/review/${id}?go`}>${t("Review")}</a>
        ${formats.map((format) => html`<button type="button" key=${format.name} onClick=${() => onExport(format)}>${t("Export as {format}", { format: formatName(format) })}</button>`)}
        <button type="button" class="delete" onClick=${onDelete}>${t("Delete…")}</button>
      </div>
    </details>
  </li>`;
}

/** @param {Summary} game */
function detailsOf(game) {
  const details = [titleFor(game)];
  if (game.length !== undefined) details.push(game.length === 1 ? t("1 step") : t("{n} steps", { n: game.length }));
  details.push(when(game.created).replaceAll(" ", "\u00a0")); // stays on one line
  if (game.reviewed) details.push(t("reviewed"));
  return details;
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
  return html`<dialog ref=${dialog} class="import" aria-label=${t("Import games")} onCancel=${onClose}>
    <form onSubmit=${bring}>
      <h2>${t("Import games")}</h2>
      <p class="help">${t("Paste Dicent records or games in a notation of their game, or choose a file.")}</p>
      <label class="hidden" for="import-text">${t("Games")}</label>
      <textarea id="import-text" class="mono" rows="9" value=${text} spellcheck=${false} onInput=${(/** @type {any} */ e) => setText(e.currentTarget.value)}></textarea>
      <label class="field-label" for="import-file">${t("File")}<input id="import-file" type="file" onChange=${async (/** @type {any} */ e) => {
        const file = e.currentTarget.files[0];
        if (file) setText(decode(await file.arrayBuffer()));
      }} /></label>
      <${Message} text=${problem} />
      <div class="buttons end"><button type="button" class="quiet" onClick=${onClose}>${t("Cancel")}</button>
        <button class="primary" disabled=${busy || !text.trim()}>${t("Import")}</button></div>
    </form>
  </dialog>`;
}
