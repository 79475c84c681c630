// What a visitor may open. The server says so: a guest, who came by a link, has one game and no other page.
import { html } from "./ui.js";
import { forgetInfo, getInfo } from "./api.js";
import { useLoaded } from "./components.js";
import { capital, fromServer } from "./format.js";
import { t } from "./language.js";

/** @typedef {import("./types.js").Info} Info */

/** Return a function that says whether the visitor may open a page; `play` is the page that starts games. */
export function useAccess() {
  const { value: info } = useLoaded(getInfo, []);
  return (/** @type {string} */ page) => info?.pages.includes(page) ?? false;
}

/** Return whether a visitor may open an address. @param {Info|null} info @param {{page: string, id: string}} at */
export const isOpen = (info, { page, id }) =>
  !info?.guest_of || info.pages.includes(page) || page === "rules" || (page === "play" && id !== "");

/** Lead a guest to the game of the link: another one after a rematch. */
export async function openOwnGame() {
  forgetInfo();
  const { guest_of: own } = await getInfo();
  if (own) location.replace(`#/play/${encodeURIComponent(own)}`);
}

/** Replace a page that a guest may not open by the game of the link. */
export function OwnGame() {
  const { error } = useLoaded(openOwnGame, []);
  return error && html`<${NotHere} text=${error.message} />`;
}

/** Replace the page of a game that cannot be shown. @param {{text: string}} props */
export function NotHere({ text }) {
  const may = useAccess();
  return html`<div class="page narrow"><div class="card empty"><h1>${capital(fromServer(text))}</h1>
    <div class="buttons centre"><a class="button primary" href="#/play">${may("play") ? t("New game") : t("Play")}</a>
      ${may("library") && html`<a class="button quiet" href="#/library">${t("Library")}</a>`}</div></div></div>`;
}
