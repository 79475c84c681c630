// Statistics of the library: results, losses and luck of a player against each opponent.
import { html, useState } from "./ui.js";
import { get } from "./api.js";
import { LineChart } from "./charts.js";
import { Message, useLoaded } from "./components.js";
import { t } from "./language.js";
import { percent, playerName, points } from "./format.js";

/**
 * @typedef {{name: string, won: number, drawn: number, lost: number, reviewed: number, decisions: number,
 *   loss: number, luck: number}} Opponent
 * @typedef {{players: string[], player: string, opponents: Opponent[],
 *   luck: {id: string, created: string, opponent: string, luck: number}[]}} Found
 */

/** @param {{game: string, changes: any}} props `changes` changes when the library does */
export function Statistics({ game, changes }) {
  const [player, setPlayer] = useState("");
  const { value: found, error } = useLoaded(() => /** @type {Promise<Found>} */ (get("/api/statistics", { player, game })), [player, game, changes]);
  if (!found) return html`<${Message} text=${error?.message} />`;
  if (!found.players.length) return html`<p class="soft">${t("No finished games yet.")}</p>`;
  return html`<div class="statistics">
    <label class="field-label" for="statistics-player">${t("Player")}
      <select id="statistics-player" value=${found.player} onChange=${(/** @type {any} */ e) => setPlayer(e.currentTarget.value)}>
        ${found.players.map((name) => html`<option key=${name} value=${name}>${playerName(name)}</option>`)}
      </select>
    </label>
    ${found.opponents.length === 0
      ? html`<p class="soft">${t("No finished games against others.")}</p>`
      : html`<div class="table-scroll" tabindex="0" role="region" aria-label=${t("Opponents")}><table class="opponents">
          <thead><tr><th scope="col">${t("Opponent")}</th>
            ${[t("Won / drawn / lost"), t("Score"), t("Loss a move"), t("Luck a game")].map((title) => html`<th key=${title} scope="col" class="number">${title}</th>`)}</tr></thead>
          <tbody>${found.opponents.map((row) => html`<${Row} key=${row.name} row=${row} />`)}</tbody>
        </table></div>`}
    <${LuckCurve} luck=${found.luck} />
  </div>`;
}

/** @param {{row: Opponent}} props */
function Row({ row }) {
  const games = row.won + row.drawn + row.lost;
  return html`<tr><th scope="row">${playerName(row.name)}</th>
    <td class="number">${row.won} / ${row.drawn} / ${row.lost}</td>
    <td class="number">${percent((row.won + row.drawn / 2) / games)}</td>
    <td class="number">${row.decisions ? points(-row.loss / row.decisions) : "–"}</td>
    <td class="number">${row.reviewed ? points(row.luck / row.reviewed) : "–"}</td></tr>`;
}

/** The sum of the luck, game by game. @param {{luck: Found["luck"]}} props */
function LuckCurve({ luck }) {
  if (!luck.length) return html`<p class="help">${t("Losses and luck come from reviews. Review a game to see them.")}</p>`;
  let sum = 0;
  const y = [0, ...luck.map((game) => 100 * (sum += game.luck))];
  return html`<p class="help">${t("Losses and luck are in hundredths of a win, over reviewed games. Luck is the player's less the opponent's.")}</p>
    <h3>${t("Luck over time")}</h3>
    <${LineChart} curves=${[{ name: "luck", x: y.map((_, i) => i), y }]} xLabel=${t("reviewed games")} label=${t("Sum of the luck")} />`;
}
